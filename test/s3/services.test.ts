import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { connect, store } from './store.js';

/** Whole services of Ceph: an agent finds an operation by words, reads its description, and calls it. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-ceph-'));
const file = join(folder, 'ceph.operations.json');
const model = (name: string) => ({ model: resolve(`test/fixtures/radosgw/${name}-model.json`) });
writeFileSync(file, JSON.stringify({ services: { iam: model('identities'), s3: model('lifecycle') } }));

let server: Awaited<ReturnType<typeof connect>>;
beforeAll(async () => {
  server = await connect({
    CLOUDOPS_OPERATIONS: file,
    CLOUDOPS_ENDPOINT_IAM_URL: store.endpoint,
    CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
    CLOUDOPS_CONFIRM: 'plan',
    XDG_CACHE_HOME: folder,
  });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const found = z.object({ operations: z.array(z.object({ operation: z.string(), effect: z.string() })) });
const planned = z.object({ changeId: z.string(), next: z.object({ text: z.string() }) });

describe.runIf(store.name === 'radosgw')('a role in IAM', () => {
  const role = {
    RoleName: 'reader',
    AssumeRolePolicyDocument: JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Principal: { AWS: ['arn:aws:iam:::user/s3test'] }, Action: ['sts:AssumeRole'] }],
    }),
  };

  test('is made after a plan, and read', async () => {
    const { operations } = found.parse((await server.call('find_operations', { words: 'create a role' })).structured);
    expect(operations[0]).toEqual(expect.objectContaining({ operation: 'iam:CreateRole', effect: 'create' }));

    const described = await server.call('describe_operation', { name: 'iam:CreateRole' });
    expect(Object.keys(Object(described.answer.arguments))).toEqual(expect.arrayContaining(['RoleName']));

    const plan = planned.parse(
      (await server.call('change_operation', { name: 'iam:CreateRole', arguments: role })).structured,
    );
    const confirmed = await server.call('confirm_change', {
      changeId: plan.changeId,
      thing: /thing "([^"]*)"/.exec(plan.next.text)?.[1] ?? '',
    });
    expect(confirmed.isError, confirmed.text).toBe(false);

    const read = await server.call('read_operation', { name: 'iam:GetRole', arguments: { RoleName: 'reader' } });
    expect(read.answer, read.text).toMatchObject({ Role: { RoleName: 'reader' } });
  });
});
