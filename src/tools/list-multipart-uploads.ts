import * as z from 'zod';
import { isObject, withoutUndefined } from '../util/objects.js';
import { forReader, quoted, say, words } from '../util/safe-text.js';
import { encodeSegment } from '../util/uri.js';
import { defineOperation } from './define-operation.js';
import { callAgain, next as nextStep } from './next.js';
import { pickArgument } from './schema/answer-paths.js';
import { flag, objectKey, pathName, region, text, wholeNumber, withConditions } from './schema/fields.js';
import { allUploadsFields, allUploadsSentences, readAllUploads } from './upload/all-uploads.js';
import { listBuckets } from './upload/list-buckets.js';
import { openUploadsFields, openUploadsSentences, summariseOpen } from './upload/open-uploads.js';
import { decodedKey, longestKey, xmlRecord } from './upload/read-list.js';
import { addPage, firstStart, startListing } from './upload/read-uploads.js';

const upload = () =>
  z.object({
    object: z.string(),
    uploadId: z.string(),
    initiated: z.string().optional(),
    size: z.int().optional(),
    initiator: z.object({ id: z.string().optional(), displayName: z.string().optional() }).optional(),
  });

const page = () =>
  z.object({
    bucket: z.string().optional(),
    encodingType: z.string().optional(),
    isTruncated: z.boolean(),
    nextKeyMarker: z.string().optional(),
    nextUploadIdMarker: z.string().optional(),
    uploads: z.array(upload()),
  });

const output = () =>
  z.object({
    bucket: z.string().optional(),
    prefix: z.string().optional(),
    ...openUploadsFields(),
    ...allUploadsFields(),
  });

/** ListMultipartUploads of S3, which the cloud's API reference does not have. */
export const listMultipartUploads = defineOperation({
  name: 'list_multipart_uploads',
  api: 'ListMultipartUploads',
  title: 'List the multipart uploads of a bucket, or of all',
  description:
    'Finds multipart uploads that were started and neither completed nor aborted, with the object and uploadId ' +
    'that list_parts needs. With bucket: how many, the oldest, and the first ones by object key with their age. Without: those of all ' +
    'buckets, oldest first, and the buckets with most. It reads the whole list. Most stores give sizes only with withSizes.',
  effect: 'read',
  service: 'storage',
  method: 'GET',
  answer: 'xml',
  extension: 's3',
  example: { bucket: 'demo-bucket' },
  defaults: [],
  undocumented: ['The whole operation: it is that of S3-compatible stores, which differ in what they answer.'],
  limitations: ['Completing an upload: use the client that uploads.'],

  input: () =>
    withConditions(
      z.strictObject({
        bucket: pathName().describe('Bucket name; all buckets when absent.').optional(),
        prefix: text(1024).describe('Only uploads of objects whose key begins so.').optional(),
        olderThanHours: wholeNumber(0).describe('Only uploads that were certainly started longer ago.').optional(),
        withSizes: flag().describe('Also measure them: one list of parts each.').optional(),
        bucketMarker: pathName().describe('Without bucket: only buckets after this one.').optional(),
        uploadId: text().describe('Only the upload with this ID.').optional(),
        keyMarker: objectKey().describe('Only uploads after this object key.').optional(),
        uploadIdMarker: text().describe('With keyMarker: also uploads of that object after this upload ID.').optional(),
        region: region()
          .describe('Region of the bucket: jp-east-1 or jp-west-2; the configured one when absent.')
          .optional(),
        ...pickArgument(output, ['nextKeyMarker', 'nextUploadIdMarker', 'nextBucketMarker']),
      }),
      ({ bucket, withSizes, bucketMarker, uploadId, keyMarker, uploadIdMarker }, report) => {
        if (bucket !== undefined && bucketMarker !== undefined) report('bucketMarker', 'has no meaning with bucket');
        const isOfOneList = bucket !== undefined && withSizes !== true;
        for (const [path, value] of Object.entries({ uploadId, keyMarker }))
          if (!isOfOneList && value !== undefined) report(path, 'needs bucket, and goes without withSizes');
        if (uploadIdMarker !== undefined && keyMarker === undefined)
          report('uploadIdMarker', 'has no meaning without keyMarker');
      },
    ),

  fieldsArgument: 'fields',
  output,

  request({ bucket, prefix, keyMarker, uploadIdMarker, region }, after) {
    if (bucket === undefined) return listBuckets.request({ region });
    return {
      path: `/${encodeSegment(bucket)}`,
      query: {
        uploads: true,
        // Some stores answer with pages that are too large otherwise.
        'max-uploads': '1000',
        ...(prefix !== undefined && { prefix }),
        ...(after ?? firstStart({ keyMarker, uploadIdMarker })),
      },
      region,
    };
  },

  manyReads: (input, find) =>
    input.bucket === undefined || input.withSizes === true ? readAllUploads(input, find) : undefined,

  extract(body) {
    const record = xmlRecord(isObject(body) ? body.ListMultipartUploadsResult : undefined, {
      lists: { Upload: 'uploads' },
      values: ['IsTruncated', 'Size'],
      structures: ['Initiator', 'Owner', 'Upload'],
      names: { Key: 'object', 'Encoding-Type': 'encodingType' },
    });
    if (record === undefined) return undefined;

    const { uploads = [], encodingType, nextKeyMarker } = record;
    // Not a list only if the answer has an unknown element <Uploads>.
    if (!Array.isArray(uploads)) return record;
    const decoded = uploads.map((upload) => ({ ...upload, object: decodedKey(upload.object, encodingType) }));
    // Some stores encode keys but not the marker.
    const isPlainMarker = nextKeyMarker === decoded.at(-1)?.object;
    return withoutUndefined({
      ...record,
      uploads: decoded,
      nextKeyMarker: isPlainMarker ? nextKeyMarker : decodedKey(nextKeyMarker, encodingType),
    });
  },

  pages: {
    page,
    count: ({ uploads = [] }) => uploads.length,
    start: startListing,
    add: addPage,
    result: (state, input, { unread, mayHaveMore, isWhole }) =>
      withoutUndefined({
        bucket: input.bucket,
        prefix: input.prefix,
        ...summariseOpen(state.all, state.times, input.olderThanHours, isWhole),
        mayHaveMore: mayHaveMore ? true : undefined,
        ...(unread !== undefined && {
          isTruncated: true,
          nextKeyMarker: unread['key-marker'],
          nextUploadIdMarker: unread['upload-id-marker'],
        }),
      }),
  },

  summarize(summary, { bucket, prefix, withSizes }) {
    const withPrefix = prefix === undefined ? words('') : say` with keys that begin with ${quoted(prefix, longestKey)}`;
    if (bucket === undefined || withSizes) return allUploadsSentences(summary, withPrefix);
    return openUploadsSentences(summary, say`bucket ${bucket}${withPrefix}`);
  },

  next(summary, { bucket, withSizes }) {
    const { uploadCount = 0, countOfAnyAge = 0, uploads = [], isTruncated, mayHaveMore, nextBucketMarker } = summary;
    if (bucket === undefined || withSizes) {
      if (nextBucketMarker === undefined) return undefined;
      return nextStep(
        'agent',
        'call',
        say`For the buckets after these, ${callAgain} with bucketMarker ${nextBucketMarker}.`,
      );
    }
    if (isTruncated) {
      return nextStep(
        'agent',
        'call',
        say`To read on, ${callAgain} with keyMarker and uploadIdMarker as nextKeyMarker and nextUploadIdMarker in the answer. With a prefix, there is less to read.`,
      );
    }

    if (uploadCount === 0) {
      // The question is answered: no upload is known to be older than olderThanHours.
      if (countOfAnyAge > 0 || mayHaveMore) return undefined;
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
