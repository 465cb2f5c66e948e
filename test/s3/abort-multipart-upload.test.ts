import { UploadPartCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { s3, startUpload, useServer } from './store.js';

/** abort_multipart_upload, called by an MCP client over stdio, against an object store that another client has written to. */

const bucket = 'aborted-uploads';
const planned = z.object({ changeId: z.string(), show: z.string() });

const server = useServer(bucket);

const listed = async () => (await server.call('list_multipart_uploads', { bucket })).answer;

test.each(['plain', 'a b/c+d', 'ü/日本'])(
  'an upload is aborted after its plan said what it holds: %s',
  async (object) => {
    const uploadId = await startUpload(bucket, object);
    const part = { Bucket: bucket, Key: object, UploadId: uploadId, PartNumber: 1, Body: 'x' };
    await s3.send(new UploadPartCommand(part));
    const args = { bucket, object, uploadId };

    const { structured, text } = await server.call('abort_multipart_upload', args);
    const { show, changeId } = planned.parse(structured);
    expect(show, text).toMatch(/1 part/);
    const aborted = await server.call('confirm_change', { changeId, thing: args.object });
    expect(aborted.isError, aborted.text).toBe(false);
    expect(await listed()).toMatchObject({ uploadCount: 0 });

    const gone = await server.call('abort_multipart_upload', args);
    expect(gone.isError, gone.text).toBe(true);
    expect(gone.text).toMatch(/^abort_multipart_upload was not sent\./);
  },
);
