import * as z from 'zod';
import { quoted, say, time } from '../util/safe-text.js';
import { defineOperation } from './define-operation.js';
import { listParts } from './list-parts.js';
import { next as nextStep } from './next.js';
import { planArguments } from './schema/fields.js';
import { goneCodes, goneErrors, objectPath, uploadArguments } from './upload/one-upload.js';

/** AbortMultipartUpload of S3. The cloud's API reference mentions the operation but does not describe it. */
export const abortMultipartUpload = defineOperation({
  name: 'abort_multipart_upload',
  api: 'AbortMultipartUpload',
  title: 'Abort a multipart upload',
  description:
    'Ends one multipart upload for good and deletes its parts, which frees their storage. A client that is still uploading cannot ' +
    'continue; an existing object of the same key stays as it is. The plan says what the upload contains. ' +
    'Have ready: bucket, object, upload ID, from list_multipart_uploads.',
  effect: 'delete',
  service: 'storage',
  method: 'DELETE',
  answer: 'none',
  extension: 's3',
  repeatable: true,
  example: { bucket: 'demo-bucket', object: 'video/launch.mov', uploadId: 'demo-upload-without-parts' },
  defaults: [],
  undocumented: ['The whole operation. It follows S3, and the answers of S3-compatible stores differ.'],
  limitations: [
    'Restoring aborted parts: this is not possible.',
    'Aborting uploads by age: use abort_multipart_uploads, or a lifecycle rule of the bucket.',
  ],
  errors: goneErrors,

  input: () => z.strictObject({ ...uploadArguments(), ...planArguments() }),

  preflight: {
    operation: listParts,
    input: ({ bucket, object, uploadId, region }) => ({ bucket, object, uploadId, region }),
    decisiveErrors: goneCodes,
    // Gives the time of the last part, not its age, because a plan may wait for a day.
    alert: ({ lastUploadedAt, idleSeconds, stopped }) =>
      typeof lastUploadedAt === 'string' && idleSeconds !== undefined && stopped !== true
        ? say`Still receiving: last part ${time(lastUploadedAt)}.`
        : undefined,
  },

  change: {
    costsMoney: false,
    continues: false,
    headline: ({ bucket, object, uploadId }) =>
      say`Abort the upload ${quoted(uploadId, 60)} of ${object} to bucket ${bucket} and delete its parts`,
    shortHeadline: ({ bucket, object }) => say`Abort the upload of ${object} to bucket ${bucket}`,
    accept: ({ object }) => say`Abort upload of ${object}`,
    consequences: () => [say`A client that is still uploading gets an error.`],
    warnings: () => [],
    notChecked: ['that no client is still uploading'],
    identifies: ['bucket', 'uploadId', 'object'],
    named: ['bucket', 'object', 'uploadId'],
    verificationHint: ({ object }) => say`that list_multipart_uploads no longer lists the upload of ${object}`,
  },

  output: () => z.object({}),

  request: ({ uploadId, region, ...input }) => ({ path: objectPath(input), query: { uploadId }, region }),

  extract: () => undefined,

  summarize: (_record, { object, bucket }) =>
    say`The upload of ${object} to bucket ${bucket} was aborted, and its parts are deleted.`,
  next: (_record, _input, isOffered) =>
    isOffered('list_multipart_uploads')
      ? nextStep(
          'agent',
          'call',
          'A part that was still being sent may arrive after the abort. If the upload was still receiving parts, call list_multipart_uploads. If it is still listed, ask the user whether to abort it again, which needs a new plan.',
        )
      : undefined,
});
