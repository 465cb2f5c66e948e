import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, CreateMultipartUploadCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, s3, startUpload, store } from './store.js';

/** Two accounts of one store: each sees its own uploads, by its own keys, and the one whose key files are replaced goes on. */

const { other } = store;
const folder = mkdtempSync(join(tmpdir(), 'cloudops-accounts-'));
afterAll(() => rmSync(folder, { recursive: true }));
const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const keyFiles = (account: string, keys: { readonly accessKeyId: string; readonly secretAccessKey: string }) => ({
  accessKeyIdFile: write(`${account}-id`, keys.accessKeyId),
  secretAccessKeyFile: write(`${account}-secret`, keys.secretAccessKey),
});

describe.skipIf(other === undefined)('two accounts', () => {
  const uploads: Record<string, { bucket: string; object: string; uploadId: string }> = {};
  let server: Awaited<ReturnType<typeof connect>>;
  beforeAll(async () => {
    if (other === undefined) return;
    await s3.send(new CreateBucketCommand({ Bucket: 'of-one' }));
    uploads.one = { bucket: 'of-one', object: 'o', uploadId: await startUpload('of-one', 'o') };
    const theirs = new S3Client({ ...store, forcePathStyle: true, credentials: other });
    await theirs.send(new CreateBucketCommand({ Bucket: 'of-other' }));
    const { UploadId = '' } = await theirs.send(new CreateMultipartUploadCommand({ Bucket: 'of-other', Key: 'o' }));
    uploads.other = { bucket: 'of-other', object: 'o', uploadId: UploadId };
    const accounts = { one: keyFiles('one', store), other: keyFiles('other', other) };
    server = await connect({ CLOUDOPS_ACCOUNTS_FILE: write('accounts.json', JSON.stringify({ accounts })) });
  });
  afterAll(() => server?.close());

  test.each(['one', 'other'])('%s sees its own uploads, and those of the other are refused', async (account) => {
    const theirs = account === 'one' ? 'other' : 'one';
    expect(await server.call('list_parts', { account, ...uploads[account] })).toMatchObject({ isError: false });
    const refused = await server.call('list_parts', { account, ...uploads[theirs] });
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('AccessDenied') });
  });

  test('a call goes on with the keys that replaced those that the store no longer knows', async () => {
    if (other === undefined) return;
    writeFileSync(join(folder, 'one-id'), 'AKIDREPLACED');
    const server = await connect({ CLOUDOPS_ACCOUNTS_FILE: join(folder, 'accounts.json') });
    writeFileSync(join(folder, 'one-id'), store.accessKeyId);
    expect(await server.call('list_parts', { account: 'one', ...uploads.one })).toMatchObject({ isError: false });
    await server.close();
  });
});
