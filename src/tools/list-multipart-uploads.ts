import * as z from 'zod';
import { isObject, withoutUndefined } from '../util/objects.js';
import { forReader, quoted, say, words } from '../util/safe-text.js';
import { encodeSegment } from '../util/uri.js';
import { defineOperation, type Lenient, type PageStart } from './define-operation.js';
import { callAgain, next as nextStep } from './next.js';
import { objectStorageRegions } from './schema/enumerations.js';
import { objectKey, pathName, region, text, wholeNumber, withConditions } from './schema/fields.js';
import {
  addUploads,
  noUploads,
  type OpenUpload,
  openUploadsFields,
  openUploadsSentences,
  summariseOpen,
} from './upload/open-uploads.js';
import { decodedKey, longestKey, xmlRecord } from './upload/xml-record.js';

const upload = () =>
  z.object({
    object: z.string(),
    uploadId: z.string(),
    initiated: z.string().optional(),
    initiator: z.object({ id: z.string().optional(), displayName: z.string().optional() }).optional(),
  });

/** One page of open uploads, as S3-compatible services answer. */
const page = () =>
  z.object({
    bucket: z.string().optional(),
    encodingType: z.string().optional(),
    isTruncated: z.boolean(),
    nextKeyMarker: z.string().optional(),
    nextUploadIdMarker: z.string().optional(),
    uploads: z.array(upload()),
  });

type PageRecord = Lenient<z.output<ReturnType<typeof page>>>;

/** ListMultipartUploads of S3. The cloud's API reference does not have the operation. */
export const listMultipartUploads = defineOperation({
  name: 'list_multipart_uploads',
  api: 'ListMultipartUploads',
  title: 'List the multipart uploads of a bucket',
  description:
    'Finds multipart uploads that were started in a bucket and neither completed nor aborted, with the object and uploadId ' +
    'that list_parts needs: how many, the oldest, objects with several uploads, how many by key prefix and by who started them, ' +
    'and the first ones by object key with their age. It reads the whole list. It tells no sizes: list_parts does. Have ready: bucket.',
  effect: 'read',
  service: 'storage',
  method: 'GET',
  answer: 'xml',
  extension: 's3',
  regions: objectStorageRegions,
  example: { bucket: 'demo-bucket' },
  defaults: [],
  undocumented: ['The whole operation: it is that of S3-compatible stores, which differ in what they answer.'],
  limitations: ['Completing an upload: use the client that uploads.'],

  input: () =>
    withConditions(
      z.strictObject({
        bucket: pathName().describe('Bucket name.'),
        prefix: text(1024).describe('Only uploads of objects whose key begins so.').optional(),
        olderThanHours: wholeNumber(0).describe('Only uploads that were started longer ago.').optional(),
        keyMarker: objectKey().describe('Only uploads after this object key.').optional(),
        uploadIdMarker: text().describe('With keyMarker: also uploads of that object after this upload ID.').optional(),
        region: region()
          .describe('Region of the bucket: jp-east-1 or jp-west-2; the configured one when absent.')
          .optional(),
      }),
      ({ keyMarker, uploadIdMarker }, report) => {
        if (uploadIdMarker !== undefined && keyMarker === undefined)
          report('uploadIdMarker', 'has no meaning without keyMarker');
      },
    ),

  output: () =>
    z.object({
      bucket: z.string(),
      prefix: z.string().optional(),
      ...openUploadsFields(),
    }),

  exact: ['object', 'prefix', 'uploadId', 'nextKeyMarker', 'nextUploadIdMarker'],
  tellIfMissing: { isTruncated: 'whether more uploads follow' },

  request: ({ bucket, prefix, keyMarker, uploadIdMarker, region }, after) => ({
    path: `/${encodeSegment(bucket)}`,
    query: {
      uploads: true,
      ...(prefix !== undefined && { prefix }),
      // The start of a later page replaces the markers that the call began with.
      ...(after ?? {
        ...(keyMarker !== undefined && { 'key-marker': keyMarker }),
        ...(uploadIdMarker !== undefined && { 'upload-id-marker': uploadIdMarker }),
      }),
    },
    region,
  }),

  /** Returns a page as a record with decoded object keys, or undefined if the body is no list of uploads. */
  extract(body) {
    const record = xmlRecord(isObject(body) ? body.ListMultipartUploadsResult : undefined, {
      lists: { Upload: 'uploads' },
      values: ['IsTruncated'],
      structures: ['Initiator', 'Owner', 'Upload'],
      names: { Key: 'object', 'Encoding-Type': 'encodingType' },
    });
    if (record === undefined) return undefined;

    const { uploads = [], encodingType } = record;
    // Not a list only if the answer has an unknown element <Uploads>. The check against the schema `page` then warns.
    if (!Array.isArray(uploads)) return record;
    return {
      ...record,
      uploads: uploads.map((upload) => ({ ...upload, object: decodedKey(upload.object, encodingType) })),
    };
  },

  pages: {
    page,
    count: ({ uploads = [] }) => uploads.length,
    start: noUploads,
    add(state, { record, number: pageNumber, answeredAt }, input) {
      const nextState = addUploads(state, uploadsOn(record), input, answeredAt);
      if (record.isTruncated !== true) return { kind: 'end', state: nextState };
      const after = markerAfter(record);
      if (after === undefined) {
        const problem = say`page ${pageNumber} says that more follow, but names neither marker nor upload`;
        return { kind: 'inconsistent', problem };
      }
      return { kind: 'next', state: nextState, after };
    },
    result: (state, input, _companionRead, unread) =>
      withoutUndefined({
        bucket: input.bucket,
        prefix: input.prefix,
        ...summariseOpen(state, input),
        ...(unread !== undefined && {
          isTruncated: true,
          nextKeyMarker: unread['key-marker'],
          nextUploadIdMarker: unread['upload-id-marker'],
        }),
      }),
  },

  summarize(summary, { bucket, prefix }) {
    const withPrefix = prefix === undefined ? words('') : say` with keys that begin with ${quoted(prefix, longestKey)}`;
    return openUploadsSentences(summary, say`bucket ${bucket}${withPrefix}`);
  },

  /** Returns the step after a list of uploads, or undefined if the list answers the question completely. */
  next({ uploadCount = 0, countOfAnyAge = 0, uploads = [], isTruncated }) {
    if (isTruncated) {
      return nextStep(
        'agent',
        'call',
        say`To read on, ${callAgain} with keyMarker and uploadIdMarker as nextKeyMarker and nextUploadIdMarker in the answer. With a prefix, there is less to read.`,
      );
    }

    if (uploadCount === 0) {
      // Uploads exist, but none is older than olderThanHours. That is an answer, and bucket, prefix and region are right.
      if (countOfAnyAge > 0) return undefined;
      return nextStep(
        'user',
        'ask',
        say`If one was expected, ${forReader({ agent: 'ask the user', person: 'check' })} whether bucket, prefix and region are right.`,
      );
    }

    const areAllListed = uploads.length === uploadCount;
    if (areAllListed) return undefined;
    return nextStep(
      'agent',
      'call',
      say`For the uploads after those listed, ${callAgain} with keyMarker and uploadIdMarker of the last one, or with a prefix.`,
    );
  },
});

/** The start of the next page. Some services give no marker although more uploads follow. The next page then starts after the last listed upload. */
function markerAfter({ nextKeyMarker, nextUploadIdMarker, uploads = [] }: PageRecord): PageStart | undefined {
  const lastUpload = uploads.at(-1);
  const keyMarker = nextKeyMarker ? nextKeyMarker : lastUpload?.object;
  const uploadIdMarker = nextKeyMarker ? nextUploadIdMarker : lastUpload?.uploadId;
  if (keyMarker === undefined) return undefined;
  if (!uploadIdMarker) return { 'key-marker': keyMarker };
  return { 'key-marker': keyMarker, 'upload-id-marker': uploadIdMarker };
}

/** The uploads of a page, without entries that lack the object key or the upload ID. */
const uploadsOn = ({ uploads = [] }: PageRecord): OpenUpload[] =>
  uploads.flatMap(({ object, uploadId, initiated, initiator }) => {
    if (object === undefined || uploadId === undefined) return [];
    const initiatorName = initiator?.displayName || initiator?.id || undefined;
    return [{ object, uploadId, initiated, initiator: initiatorName }];
  });
