import { PutBucketPolicyCommand, PutObjectCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { describe, expect, test } from 'vitest';
import { s3, startUpload, store, useServer } from './store.js';

/** The operations of the example model, on a real store. Only Ceph has bucket policies. */
const bucket = 'model-operations';
const server = useServer(bucket, {
  CLOUDOPS_OPERATIONS: 'examples/operations/storage.operations.json',
  CLOUDOPS_CONFIRM: 'off',
});
const put = (Key: string) => s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'x' }));
const keysOf = (...keys: readonly string[]) => ({ Bucket: bucket, Delete: { Objects: keys.map((Key) => ({ Key })) } });

describe.skipIf(store.name !== 'radosgw')('operations of a model', () => {
  test('complete an upload', async () => {
    const object = { Bucket: bucket, Key: 'a/ü & b' };
    const uploadId = await startUpload(bucket, object.Key);
    const { ETag } = await s3.send(new UploadPartCommand({ ...object, UploadId: uploadId, PartNumber: 1, Body: 'x' }));
    const CompleteMultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
    const done = await server.call('s3_complete_multipart_upload', { ...object, uploadId, CompleteMultipartUpload });
    expect(done.isError, done.text).toBe(false);
    expect(done.answer).toMatchObject({ Key: 'a/ü & b' });
    const listed = await server.call('s3_list_objects_v2', { Bucket: bucket, prefix: 'a/' });
    expect(listed.answer, listed.text).toMatchObject({ Contents: [{ Key: 'a/ü & b', Size: 1 }] });
  });

  test('refuse an upload with a wrong part', async () => {
    const upload = { Bucket: bucket, Key: 'wrong', uploadId: await startUpload(bucket, 'wrong') };
    const CompleteMultipartUpload = { Parts: [{ PartNumber: 1, ETag: '"7d3fedcaf1bbe1100d0d2b19f56cfdd4"' }] };
    const done = await server.call('s3_complete_multipart_upload', { ...upload, CompleteMultipartUpload });
    expect(done.isError).toBe(true);
    expect(done.structured).toMatchObject({ serviceSays: { code: 'InvalidPart' }, mayHaveHappened: false });
  });

  test('delete objects in part', async () => {
    for (const key of ['free', 'locked', 'late']) await put(key);
    const Statement = {
      Effect: 'Deny',
      Principal: '*',
      Action: 's3:DeleteObject',
      Resource: `arn:aws:s3:::${bucket}/locked`,
    };
    const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [Statement] });
    await s3.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy }));
    const some = await server.call('s3_delete_objects', keysOf('free', 'locked'));
    expect(some.isError, some.text).toBe(false);
    expect(some.structured).toMatchObject({ outcome: 'partly' });
    expect(some.answer).toMatchObject({
      Deleted: [{ Key: 'free' }],
      Errors: [{ Key: 'locked', Code: 'AccessDenied' }],
    });
    const all = await server.call('s3_delete_objects', keysOf('late'));
    expect(all.structured, all.text).toMatchObject({ outcome: 'accepted' });
    const none = await server.call('s3_delete_objects', keysOf('locked'));
    expect(none.isError, none.text).toBe(true);
  });
});
