import { GetBucketLifecycleConfigurationCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { s3, store, useServer } from './store.js';

/** The operations of examples/operations, called by an MCP client over stdio. */

const bucket = 'own-operations';
const server = useServer(bucket, { CLOUDOPS_OPERATIONS: 'examples/operations', CLOUDOPS_CONFIRM: 'off' });

test('list_buckets has the bucket', async () => {
  const { answer, text } = await server.call('list_buckets', {});
  const { buckets } = z.object({ buckets: z.array(z.object({ name: z.string() })) }).parse(answer);
  expect(
    buckets.map(({ name }) => name),
    text,
  ).toContain(bucket);
});

// Swift has no lifecycle rules.
test.skipIf(store.name === 'swift')('put_bucket_lifecycle replaces the rules', async () => {
  const rules = [
    { id: 'old logs', prefix: 'logs/ü & <x>', days: 30 },
    { id: 'b', prefix: 'b/', days: 1 },
  ];
  const { isError, text } = await server.call('put_bucket_lifecycle', { bucket, rules });
  expect(isError, text).toBe(false);
  // The sandbox takes rules, and has no operation that reads them.
  if (store.name === 'sandbox') return;
  const { Rules = [] } = await s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket: bucket }));
  const found = Rules.map(({ ID, Filter, Expiration }) => ({ id: ID, prefix: Filter?.Prefix, days: Expiration?.Days }));
  expect(found).toEqual(expect.arrayContaining(rules));
});
