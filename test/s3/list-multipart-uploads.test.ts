import { AbortMultipartUploadCommand, CreateBucketCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { s3, startUpload, useServer } from './store.js';

/** list_multipart_uploads, called by an MCP client over stdio, against an object store that another client has written to. */

const bucket = 'open-uploads';
const record = z.object({
  uploadCount: z.int(),
  uploads: z.array(z.object({ object: z.string(), uploadId: z.string() })),
});
const list = async (args: Record<string, unknown> = {}) =>
  record.parse((await server.call('list_multipart_uploads', { bucket, ...args })).answer);
const start = (key: string) => startUpload(bucket, key);

const server = useServer(bucket);

test('a bucket without uploads has none', async () => {
  expect(await list()).toEqual(expect.objectContaining({ uploadCount: 0, uploads: [] }));
});

test('keys of every kind are given as list_parts takes them', async () => {
  const keys = ['a b/c+d', '50% off', 'ü/日本', 'a&<b>"', 'plain'];
  const ids = new Map<string, string>();
  for (const key of keys) ids.set(key, await start(key));
  const { uploadCount, uploads } = await list();
  expect(uploadCount).toBe(keys.length);
  expect(new Map(uploads.map(({ object, uploadId }) => [object, uploadId]))).toEqual(ids);
  for (const { object, uploadId } of uploads) {
    const { isError, text } = await server.call('list_parts', { bucket, object, uploadId });
    expect(isError, text).toBe(false);
  }
  for (const [Key, UploadId] of ids) await s3.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }));
  expect((await list()).uploadCount).toBe(0);
});

test('more uploads than a page holds are all counted, several of one object too, and a prefix narrows them', async () => {
  const keys = Array.from({ length: 1050 }, (_, index) => `many/${index % 350}`);
  const queue = [...keys];
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let key = queue.pop(); key !== undefined; key = queue.pop()) await start(key);
    }),
  );
  expect((await list()).uploadCount).toBe(keys.length);
  expect((await list({ prefix: 'many/349' })).uploadCount).toBe(3);
  expect((await list({ prefix: 'none/' })).uploadCount).toBe(0);
});

test('without a bucket, the uploads of all buckets are listed, oldest first, with their sizes', async () => {
  const names = ['all-uploads-a', 'all-uploads-b'];
  for (const [index, Bucket] of names.entries()) {
    await s3.send(new CreateBucketCommand({ Bucket }));
    const part = { Bucket, Key: 'measured', UploadId: await startUpload(Bucket, 'measured'), PartNumber: 1 };
    await s3.send(new UploadPartCommand({ ...part, Body: 'x'.repeat(index + 1) }));
  }
  const { answer, text } = await server.call('list_multipart_uploads', { prefix: 'measured', withSizes: true });
  expect(answer, text).toMatchObject({
    uploadCount: 2,
    totalBytes: 3,
    buckets: [
      { bucket: names[1], uploadCount: 1, totalBytes: 2 },
      { bucket: names[0], uploadCount: 1, totalBytes: 1 },
    ],
  });
});
