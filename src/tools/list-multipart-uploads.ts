import * as z from 'zod';
import { isObject, withoutUndefined } from '../util/objects.js';
import { forReader, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { encodeSegment } from '../util/uri.js';
import { defineOperation } from './define-operation.js';
import { callAgain, next as nextStep } from './next.js';
import { pickArgument } from './schema/answer-paths.js';
import { bucketRegion, flag, objectKey, pathName, text, wholeNumber, withConditions } from './schema/fields.js';
import {
  findUploads,
  isOneList,
  summariseUploads,
  uploadsFields,
  uploadsSentences,
  withAges,
} from './upload/find-uploads.js';
import { decodedKey, longestKey, xmlRecord } from './upload/read-list.js';
import { addPage, markerOf, startListing, uploadsPage } from './upload/read-uploads.js';

const output = () => z.object({ bucket: z.string().optional(), prefix: z.string().optional(), ...uploadsFields() });

/** ListMultipartUploads of S3, and ListBuckets if no bucket is given. The cloud's API reference has neither. */
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
        region: bucketRegion(),
        ...pickArgument(output, ['nextKeyMarker', 'nextUploadIdMarker', 'nextBucketMarker']),
      }),
      (input, report) => {
        const { bucket, bucketMarker, uploadId, keyMarker, uploadIdMarker } = input;
        if (bucket !== undefined && bucketMarker !== undefined) report('bucketMarker', 'has no meaning with bucket');
        for (const [path, value] of Object.entries({ uploadId, keyMarker }))
          if (!isOneList(input) && value !== undefined) report(path, 'needs bucket, and goes without withSizes');
        if (uploadIdMarker !== undefined && keyMarker === undefined)
          report('uploadIdMarker', 'has no meaning without keyMarker');
      },
    ),

  fieldsArgument: 'fields',
  output,

  request({ bucket, prefix, keyMarker, uploadIdMarker, region }, after) {
    // AWS refuses requests without a limit if an account may have more than 10,000 buckets. Other stores ignore it.
    if (bucket === undefined) return { path: '/', query: { 'max-buckets': '1000', ...after }, region };
    return {
      path: `/${encodeSegment(bucket)}`,
      query: {
        uploads: true,
        // Some stores answer with pages that are too large otherwise.
        'max-uploads': '1000',
        ...(prefix !== undefined && { prefix }),
        ...(after ?? markerOf({ keyMarker, uploadIdMarker })),
      },
      region,
    };
  },

  manyReads: (input) => (isOneList(input) ? undefined : findUploads(input)),

  extract(body, { bucket }) {
    const results = isObject(body) ? body : {};
    if (bucket === undefined) return bucketsIn(results.ListAllMyBucketsResult);
    const record = xmlRecord(results.ListMultipartUploadsResult, {
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
    page: uploadsPage,
    count: ({ uploads = [], buckets = [] }) => uploads.length + buckets.length,
    start: startListing,
    add(state, page, input) {
      if (input.bucket !== undefined) return addPage(state, page, input);
      const { buckets = [], continuationToken } = page.record;
      state.buckets.push(...buckets);
      return continuationToken
        ? { kind: 'next', state, after: { 'continuation-token': continuationToken } }
        : { kind: 'end', state };
    },
    result({ buckets, all, times }, input, { unread, mayHaveMore, isWhole }) {
      if (input.bucket === undefined)
        return {
          buckets: buckets.map(({ name }) => ({ bucket: name })),
          mayHaveMore: mayHaveMore || unread !== undefined,
        };
      const read = withAges(all, times, input.olderThanHours);
      return summariseUploads([read], read.uploads, input, isWhole, {
        mayHaveMore: mayHaveMore ? true : undefined,
        ...(unread !== undefined && {
          isTruncated: true,
          nextKeyMarker: unread['key-marker'],
          nextUploadIdMarker: unread['upload-id-marker'],
        }),
      });
    },
  },

  summarize: (summary, { prefix }) =>
    uploadsSentences(
      summary,
      prefix === undefined ? words('') : say` with keys that begin with ${quoted(prefix, longestKey)}`,
    ),

  next(summary, input) {
    const { uploadCount = 0, countOfAnyAge = 0, uploads = [], isTruncated, mayHaveMore, nextBucketMarker } = summary;
    const call = (text: SafeText) => nextStep('agent', 'call', text);
    if (nextBucketMarker !== undefined)
      return call(say`For the buckets after these, ${callAgain} with bucketMarker ${nextBucketMarker}.`);
    if (!isOneList(input)) return undefined;
    if (isTruncated)
      return call(
        say`To read on, ${callAgain} with keyMarker and uploadIdMarker as nextKeyMarker and nextUploadIdMarker in the answer. With a prefix, there is less to read.`,
      );
    if (uploads.length < uploadCount)
      return call(
        say`For the uploads after those listed, ${callAgain} with keyMarker and uploadIdMarker of the last one, or with a prefix.`,
      );
    // With uploads of any age, the question is answered: none is known to be older than `olderThanHours`.
    if (uploadCount > 0 || countOfAnyAge > 0 || mayHaveMore) return undefined;
    return nextStep(
      'user',
      'ask',
      say`If one was expected, ${forReader({ agent: 'ask the user', person: 'check' })} whether bucket, prefix and region are right.`,
    );
  },
});

function bucketsIn(result: unknown) {
  const record = xmlRecord(result, {
    lists: { Bucket: 'entries' },
    values: [],
    structures: ['Owner', 'Buckets', 'Bucket'],
    names: {},
  });
  const { entries = [] } = isObject(record?.buckets) ? record.buckets : {};
  const { continuationToken } = record ?? {};
  return record && { buckets: entries, continuationToken, isTruncated: continuationToken !== undefined, uploads: [] };
}
