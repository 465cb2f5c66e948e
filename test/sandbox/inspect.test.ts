import { afterAll, beforeAll, expect, test } from 'vitest';
import { inventedWords } from '../../sandbox/operation.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { type Sent, send, sendSigned } from './send-signed.js';

let sandbox: Sandbox;
const keys = { accessKeyId: 'SANDBOX', secretAccessKey: 'not-to-be-shown' };
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date(), keys });
});
afterAll(() => sandbox.close());

const state = async () => (await send(sandbox, { path: '/_sandbox/state' })).body;
const logged = async () => (await state()).split('\n').filter((line) => / sandbox-\d+ /.test(line));
const parts = '/demo-bucket/video/launch.mov?uploadId=demo-upload-without-parts';

test('the state has each request with its operation, status, method and URL, and no secret', async () => {
  const token = 'token-not-to-be-shown';
  await sendSigned(sandbox, { path: parts, headers: { 'X-Amz-Security-Token': token } });
  await sendSigned(sandbox, { path: `/demo-bucket/k?X-Amz-Signature=${token}` });
  const [first, second] = (await logged()).slice(-2);
  expect(first).toMatch(/^- \S+ sandbox-\d+ list_parts: 200, GET /);
  expect(first).toContain(JSON.stringify(parts));
  expect(second).toContain('get_object: 501, GET "/demo-bucket/k?X-Amz-Signature=(not shown)"');
  expect(await state()).toBe(await sandbox.describe());
  expect(await state()).not.toContain('not-to-be-shown');
});

test.each([
  ['evil.example', 403],
  ['127.0.0.1.evil.example:1', 403],
  ['localhost:1', 200],
  ['127.0.0.1', 200],
  ['[::1]:80', 200],
])('the state is shown to who asks for it at %j: %i', async (host, status) => {
  expect((await send(sandbox, { path: '/_sandbox/state', headers: { host } })).status).toBe(status);
});

test.each<[string, Sent, string | undefined]>([
  ['a list of parts', { path: parts }, undefined],
  ['an error', { path: '/nowhere/k?uploadId=u' }, 'error'],
  ['an operation that the reference does not show', { path: '/demo-bucket?uploads' }, 'operation'],
  ['a signature for another API', { path: '/_devops/v1/instances:restore' }, 'error'],
])('%s is marked with what is invented: %s', async (_what, sent, words) => {
  expect((await sendSigned(sandbox, sent)).headers['x-sandbox-invented']).toBe(words);
});

test('parts of the start are zeros, and the object says so', async () => {
  const path = '/demo-bucket/backups/2026/database.dump?uploadId=demo-upload-in-progress';
  const list = (await sendSigned(sandbox, { path })).body;
  const [, etag = ''] = /<PartNumber>1<[\s\S]*?<ETag>(.*?)</.exec(list) ?? [];
  const withoutNumber = `<CompleteMultipartUpload><Part><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`;
  expect((await sendSigned(sandbox, { method: 'POST', path, body: withoutNumber })).body).toContain(
    '<Code>MalformedXML<',
  );
  const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`;
  expect((await sendSigned(sandbox, { method: 'POST', path, body })).status).toBe(200);
  const object = await sendSigned(sandbox, { path: '/demo-bucket/backups/2026/database.dump' });
  expect(object.headers).toMatchObject({ 'x-sandbox-invented': 'content,operation', 'content-length': '8388608' });
  expect(Buffer.from(object.body).equals(Buffer.alloc(8 * 1024 * 1024))).toBe(true);
  for (const word of ['content', 'operation', 'error']) expect(Object.keys(inventedWords)).toContain(word);
});
