import { UploadPartCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { s3, startUpload, useServer } from './store.js';

/** abort_multipart_upload, called by an MCP client over stdio, against an object store that another client has written to. */

const bucket = 'aborted-uploads';
const planned = z.object({ planId: z.string(), plan: z.object({ found: z.string() }) });

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
    const { plan, planId } = planned.parse(structured);
    expect(plan.found, text).toMatch(/1 part/);
    const aborted = await server.call('abort_multipart_upload', { ...args, planId });
    expect(aborted.isError, aborted.text).toBe(false);
    expect(await listed()).toMatchObject({ uploadCount: 0 });

    const again = planned.parse((await server.call('abort_multipart_upload', args)).structured);
    expect(again.plan.found).toMatch(/not known/);
    const gone = await server.call('abort_multipart_upload', { ...args, planId: again.planId });
    // Stores differ: some answer that nothing was there, some that it is gone now.
    if (gone.isError) expect(gone.text).toMatch(/The upload is gone: it was aborted or completed/);
  },
);
