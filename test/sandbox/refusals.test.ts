import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { sendSigned } from './send-signed.js';

/** Object storage answers features that it does not have with 501 and a sentence, and changes nothing. */

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
  await send({ method: 'PUT', path: '/bucket' });
  await send({ method: 'PUT', path: '/bucket/key', body: 'as it was' });
});
afterAll(() => sandbox.close());

type Sent = Partial<Parameters<typeof sendSigned>[1]>;
const send = (sent: Sent) => sendSigned(sandbox, { method: 'PUT', path: '/bucket/key', ...sent });

/** The sandbox's state without its last requests. */
const held = async () => (await sandbox.describe()).split('## Last requests')[0];

describe('is not offered', () => {
  test.each<[string, Sent]>([
    ['a condition on writing', { headers: { 'if-none-match': '*' } }],
    ['a condition on reading', { method: 'GET', headers: { 'if-modified-since': 'Sat, 21 Nov 2026 12:00:00 GMT' } }],
    ['an ACL', { headers: { 'x-amz-acl': 'public-read' } }],
    ['a grant', { headers: { 'x-amz-grant-read': 'id=1' } }],
    ['SSE-C', { headers: { 'x-amz-server-side-encryption-customer-algorithm': 'AES256' } }],
    ['SSE-KMS', { headers: { 'x-amz-server-side-encryption': 'aws:kms' } }],
    ['tags', { headers: { 'x-amz-tagging': 'a=b' } }],
    ['an object lock', { headers: { 'x-amz-object-lock-mode': 'GOVERNANCE' } }],
    ['an expected owner', { headers: { 'x-amz-expected-bucket-owner': '1' } }],
    ['a storage class', { headers: { 'x-amz-storage-class': 'GLACIER' } }],
    ['a redirection', { headers: { 'x-amz-website-redirect-location': '/x' } }],
    ['a copy', { headers: { 'x-amz-copy-source': '/bucket/key' } }],
    ['CRC32C', { headers: { 'x-amz-checksum-crc32c': 'AAAAAA==' } }],
    ['CRC64NVME', { headers: { 'x-amz-checksum-crc64nvme': 'AAAAAAAAAAA=' } }],
    ['CRC64NVME behind the body', { headers: { 'x-amz-trailer': 'x-amz-checksum-crc64nvme' }, body: 'x' }],
    [
      'CRC32C for an upload',
      { method: 'POST', path: '/bucket/k?uploads', headers: { 'x-amz-checksum-algorithm': 'CRC32C' } },
    ],
    [
      'a checksum of the whole object',
      {
        method: 'POST',
        path: '/bucket/k?uploads',
        headers: { 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': 'FULL_OBJECT' },
      },
    ],
    [
      'an encryption of an upload',
      { method: 'POST', path: '/bucket/k?uploads', headers: { 'x-amz-server-side-encryption': 'AES256' } },
    ],
    ['a lock of a bucket', { path: '/other', headers: { 'x-amz-bucket-object-lock-enabled': 'true' } }],
    ['tags of a bucket', { path: '/other', body: '<CreateBucketConfiguration><Tags/></CreateBucketConfiguration>' }],
    ['an ACL of an object', { path: '/bucket/key?acl', body: '<AccessControlPolicy/>' }],
    ['tags of an object', { method: 'GET', path: '/bucket/key?tagging' }],
    ['a version', { method: 'DELETE', path: '/bucket/key?versionId=1' }],
    ['a part of an object', { method: 'GET', path: '/bucket/key?partNumber=1' }],
    ['other headers in an answer', { method: 'GET', path: '/bucket/key?response-content-type=text%2Fplain' }],
    ['several ranges', { method: 'GET', headers: { range: 'bytes=0-1,3-4' } }],
    ['a list of versions', { method: 'GET', path: '/bucket?versions' }],
    ['more about objects in a list', { method: 'GET', path: '/bucket?list-type=2&metadata=true' }],
    ['groups of uploads', { method: 'GET', path: '/bucket?uploads&delimiter=%2F' }],
    ['the deletion of a bucket', { method: 'DELETE', path: '/bucket' }],
    ['another host', { path: '/key', host: 'bucket.example.com', body: 'lost' }],
    ['a host of another name', { host: 'storage.example', body: 'lost' }],
  ])('%s', async (_what, sent) => {
    const before = await held();
    const { status, code, sentence } = await send({ body: 'changed', ...sent });
    expect({ status, code }).toEqual({ status: 501, code: 'NotImplemented' });
    expect(sentence).toMatch(/^The sandbox does not (offer|take) .+\.$/);
    expect(await held()).toBe(before);
  });

  test('a presigned URL, and the answer says what to do instead', async () => {
    const answer = await fetch(
      `${sandbox.cloud.endpoints.storage}/bucket/key?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0`,
    );
    expect(answer.status).toBe(501);
    expect(await answer.text()).toContain('Presigned URLs are not offered: sign with the Authorization header.');
  });
});

test.each([
  ['bytes=0-1', 206, 'as', 'bytes 0-1/9'],
  ['bytes=3-', 206, 'it was', 'bytes 3-8/9'],
  ['bytes=-3', 206, 'was', 'bytes 6-8/9'],
  ['bytes=6-100', 206, 'was', 'bytes 6-8/9'],
  ['bytes=-100', 206, 'as it was', 'bytes 0-8/9'],
  ['bytes=5-2', 200, 'as it was', undefined],
  ['lines=1-2', 200, 'as it was', undefined],
])('the range %s: %i', async (range, status, body, contentRange) => {
  const answer = await send({ method: 'GET', headers: { range } });
  expect(answer).toMatchObject({ status, body });
  expect(answer.headers['content-range']).toBe(contentRange);
  expect(answer.headers['content-length']).toBe(String(body.length));
});

test.each(['jp-east-9', 'EU', 'us-east-1', ' jp-east-1-', '&lt;'])(
  'a bucket is not created in %j',
  async (location) => {
    const body = `<CreateBucketConfiguration><LocationConstraint>${location}</LocationConstraint></CreateBucketConfiguration>`;
    const before = await held();
    expect(await send({ path: '/elsewhere', body })).toMatchObject({ status: 400, code: 'InvalidLocationConstraint' });
    expect(await held()).toBe(before);
  },
);

test.each<[string, number, string, Sent]>([
  ['an unknown object', 404, 'NoSuchKey: The specified key does not exist.', { path: '/bucket/nothing' }],
  ['an unknown bucket', 404, 'NoSuchBucket: The specified bucket does not exist.', { path: '/nowhere' }],
  [
    'what is not offered',
    501,
    'NotImplemented: The sandbox does not offer "n?" in the query here. Nothing was done.',
    { path: '/bucket/key?n%C3%BC' },
  ],
])('a HEAD of %s says why in a header', async (_what, status, reason, sent) => {
  const answer = await send({ method: 'HEAD', ...sent });
  expect(answer).toMatchObject({ status, body: '' });
  expect(answer.headers['x-sandbox-error']).toBe(reason);
});
