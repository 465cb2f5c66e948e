import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { remedyFor } from '../../src/calls/remedies.js';
import { listParts } from '../../src/tools/list-parts.js';
import { never, testCaller } from '../support/caller.js';
import { startServer } from '../support/http-server.js';

/** The advice on an error of the service. */

describe('a wrong clock is told from a wrong signature by the message', () => {
  test.each([
    ['InvalidSignatureException', 'Signature expired: 20261127T000000Z is now earlier than …', 'RequestTimeTooSkewed'],
    ['SignatureDoesNotMatch', 'Signature not yet current: 20261127T010000Z', 'RequestTimeTooSkewed'],
    ['SignatureDoesNotMatch', 'The signature does not match.', 'SignatureDoesNotMatch'],
    ['ValidationException', 'The field signature expired.', undefined],
  ])('%s: %s', (code, message, ours) => {
    const facts = { api: 'ListParts', takesRegion: true, account: 'AKIDEXAMPLE' };
    expect(remedyFor({ code, message }, 403, {}, facts).code).toBe(ours);
  });
});

describe('another region is advised only if the operation has an argument for it', () => {
  const withoutRegion = {
    ...listParts,
    input: () => z.strictObject({ Bucket: z.string() }),
    defaults: [],
    request: () => ({ path: '/bucket' }),
  };
  test.each([
    [301, 'PermanentRedirect', { 'x-amz-bucket-region': 'eu-west-1' }, /CLOUDOPS_REGION\), because .* "eu-west-1"\.$/],
    [301, 'PermanentRedirect', {}, /the address of the endpoint/],
    [404, 'NoSuchBucket', {}, /whether the bucket name is right\. If it is, .* has to check the region/],
  ] as const)('%i %s %j', async (status, code, headers, advice) => {
    const server = await startServer((_request, response) =>
      response.writeHead(status, headers).end(`<Error><Code>${code}</Code></Error>`),
    );
    const { call, close } = testCaller(server.origin, { maximumAttempts: 1 });
    const result = await call(withoutRegion, { Bucket: 'bucket' }, { signal: never });
    await close();
    await server.close();
    if (result.ok) throw new Error('it succeeded');
    expect(result.failure.next.text.text).toMatch(advice);
    expect(result.failure.next.text.text).not.toMatch(/with (it|them)\.$/);
  });
});
