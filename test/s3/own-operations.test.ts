import { expect, test } from 'vitest';
import { startUpload, store, useServer } from './store.js';

/** The operations of examples/operations, called by an MCP client over stdio. */

const bucket = 'own-operations';
const server = useServer(bucket, { CLOUDOPS_OPERATIONS: 'examples/operations', CLOUDOPS_CONFIRM: 'off' });

test('s3_head_bucket finds the bucket, and s3_list_objects_v2 lists it', async () => {
  const found = await server.call('s3_head_bucket', { Bucket: bucket });
  expect(found.isError, found.text).toBe(false);
  const listed = await server.call('s3_list_objects_v2', { Bucket: bucket });
  expect(listed.isError, listed.text).toBe(false);
});

test('s3_create_multipart_upload starts an upload beside those of others', async () => {
  await startUpload(bucket, 'of another client');
  const started = await server.call('s3_create_multipart_upload', { Bucket: bucket, Key: 'logs/ü & <x>' });
  expect(started.isError, started.text).toBe(false);
  expect(started.answer).toMatchObject({ UploadId: expect.any(String) });
  const { text } = await server.call('list_multipart_uploads', { bucket, prefix: 'logs/' });
  expect(text, store.name).toContain('logs/ü & <x>');
});
