import * as z from 'zod';
import { sentences } from '../util/human.js';
import { groupedBy } from '../util/objects.js';
import { bytes, counted, join, quoted, type SafeText, say, time, words } from '../util/safe-text.js';
import { abortMultipartUpload } from './abort-multipart-upload.js';
import { type Chosen, defineOperation } from './define-operation.js';
import { listMultipartUploads } from './list-multipart-uploads.js';
import { listParts } from './list-parts.js';
import { forAgent, next as nextStep } from './next.js';
import { bucketRegion, flag, pathName, planArguments, text } from './schema/fields.js';
import { shownAs, unlisted } from './schema/outputs.js';
import { foundUploads, sizesOf } from './upload/find-uploads.js';
import { goneCodes } from './upload/one-upload.js';
import { type FoundUpload, foundUpload } from './upload/read-uploads.js';

const mostUploads = 1000;

const hoursOfUnit: Readonly<Record<string, number>> = { h: 1, d: 24, w: 168 };
const age = /^\s*(\d{1,5})\s*(h|hours?|d|days?|w|weeks?)\s*$/i;

/** Returns the hours of an age, such as `7 days`. */
function hoursOf(olderThan: string): number {
  const [, number, unit = ''] = age.exec(olderThan) ?? [];
  return Number(number) * (hoursOfUnit[unit.charAt(0).toLowerCase()] ?? Number.NaN);
}

/** Aborts many uploads by one decision: AbortMultipartUpload of S3 for each. */
export const abortMultipartUploads = defineOperation({
  name: 'abort_multipart_uploads',
  api: 'AbortMultipartUpload',
  title: 'Abort abandoned multipart uploads',
  description:
    'Ends up to 1,000 unfinished multipart uploads for good and deletes their parts: those of a bucket, or of all, by prefix and age. ' +
    'Its plan lists them, and nothing else is aborted. Uploads younger than a day, still receiving or of unknown age stay.',
  effect: 'delete',
  service: 'storage',
  method: 'DELETE',
  answer: 'none',
  extension: 's3',
  repeatable: true,
  example: { bucket: 'demo-bucket', prefix: 'backups/', includeActive: true },
  defaults: [],
  undocumented: ['The whole operation. It follows S3, and the answers of S3-compatible stores differ.'],
  limitations: ['Restoring aborted parts: this is not possible.'],

  input: () =>
    z.strictObject({
      bucket: pathName().describe('Bucket name; all buckets when absent.').optional(),
      prefix: text(1024).describe('Only uploads of objects whose key begins so.').optional(),
      olderThan: text(20)
        .refine((value) => age.test(value), 'must be an age, such as "7 days", "12 hours" or "2 weeks"')
        .describe('Only uploads that were certainly started longer ago: "7 days".')
        .optional(),
      includeActive: flag().describe('Also those that are younger than a day or still receiving.').optional(),
      region: bucketRegion(),
      ...planArguments(),
    }),

  many: {
    list: 'uploads',
    find: listMultipartUploads,
    findInput: ({ bucket, prefix, olderThan, region }) => ({
      bucket,
      prefix,
      region,
      olderThanHours: olderThan === undefined ? undefined : hoursOf(olderThan),
      withSizes: true,
    }),
    choose,
    operation: abortMultipartUpload,
    inputOf: ({ bucket, object, uploadId }, { region }) => ({ bucket, object, uploadId, region }),
    shownTarget: '/{bucket}/{object}?uploadId={uploadId}',
    verify: listParts,
    gone: goneCodes,
    isGone: ({ isListed }) => isListed === false,
  },

  change: {
    costsMoney: false,
    continues: false,
    headline: (input) => say`Abort ${uploadsIn(input)} in ${placeOf(input)}, with all parts`,
    accept: (input) => say`Abort ${uploadsIn(input)}`,
    consequences: () => [
      say`Each upload of the list is aborted by its own request, and no other.`,
      say`A client that is still uploading one of them gets an error.`,
    ],
    warnings: () => [],
    notChecked: ['that no client is still uploading'],
    identifies: ['uploads[].object'],
    typedVerb: 'abort',
    named: ['uploads[]', 'bucket', 'prefix', 'olderThan', 'includeActive'],
    verificationHint: () => say`that list_multipart_uploads no longer lists the uploads of the plan`,
    ifTooLarge: 'Name a bucket, a prefix or a greater age, so that the plan has fewer uploads.',
  },

  output: () =>
    z.object({
      done: z.int(),
      gone: z.int(),
      unverified: z.int(),
      failed: z.int(),
      uploads: z
        .array(
          shownAs(
            foundUpload().extend({ ending: z.string(), code: z.string().optional() }),
            'bucket, object, uploadId, initiated, size, ending: done, gone (already), unverified or failed, code',
          ),
        )
        .describe('failed ones first'),
      notListed: unlisted(z.int().optional()).describe('uploads that only the journal has'),
    }),

  // Never sent, because the uploads are aborted one by one. No store has such a request.
  request: ({ region }) => ({ path: '/', query: { uploads: true }, region }),

  extract: () => undefined,

  summarize: ({ done = 0, gone = 0, unverified = 0 }) =>
    join(
      sentences(
        done === 1 && say`${done} upload was aborted, and seen to be gone.`,
        done > 1 && say`${done} uploads were aborted, and seen to be gone.`,
        unverified > 0 && say`Aborted, but not seen to be gone: ${unverified}.`,
        gone > 0 && say`Gone already: ${gone}.`,
      ),
      ' ',
    ),
  next: () =>
    nextStep(
      'user',
      'ask',
      say`${forAgent('Offer the lasting cure: ')}a lifecycle rule lets the store abort unfinished uploads by itself: {"ID": "abort-unfinished-uploads", "Status": "Enabled", "Filter": {"Prefix": ""}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}. PutBucketLifecycleConfiguration of a model of S3 sets it, with a plan of its own; it replaces the rules of the bucket, so read those first. Not all stores have lifecycle rules.`,
    ),
});

const uploadsIn = (input: object): SafeText => counted(foundUploads({ ...input }).length, 'unfinished upload');

function placeOf(input: object): SafeText {
  const buckets = new Set(foundUploads({ ...input }).map(({ bucket = '' }) => bucket));
  const [bucket = ''] = buckets;
  return buckets.size === 1 ? say`bucket ${bucket}` : counted(buckets.size, 'bucket');
}

/** Chooses what a plan lists: nothing young or receiving, unless the caller wants it. */
function choose(
  answer: Readonly<Record<string, unknown>>,
  { includeActive = false }: { readonly includeActive?: boolean | undefined },
): Chosen {
  const all = foundUploads(answer);
  const old = all.filter(({ ageHours = 0 }) => ageHours >= 24);
  // What was not measured may still receive.
  const quiet = old.filter(({ isReceiving, size }) => isReceiving !== true && size !== undefined);
  // Only the first ones are measured, so too many old ones are refused before any are left out.
  const candidates = includeActive ? all : old;
  if (candidates.length > mostUploads) return { kind: 'tooMany', problem: tooMany(candidates) };
  const chosen = includeActive ? all : quiet;
  const fate = words(includeActive ? 'Included, although' : 'Left out, because');
  const active = sentences(
    old.length < all.length && say`${fate} younger than a day or of unknown age: ${all.length - old.length}.`,
    quiet.length < old.length && say`${fate} perhaps still receiving: ${old.length - quiet.length}.`,
  );
  const isPartial = answer.isTruncated === true || answer.mayHaveMore === true || answer.unreadBuckets !== undefined;
  const warnings = sentences(
    isPartial &&
      say`Not all buckets could be read whole, so there may be more uploads. list_multipart_uploads says which.`,
  );
  if (chosen.length === 0) {
    const nothing =
      all.length === 0
        ? words('No unfinished upload matches.')
        : say`Of ${counted(all.length, 'unfinished upload')} that match, none is to be aborted.`;
    return { kind: 'nothing', why: join([nothing, ...active, ...warnings], ' ') };
  }

  const { totalBytes, sizedCount } = sizesOf(chosen);
  const isMeasured = totalBytes !== undefined && sizedCount === undefined;
  const ofBytes = isMeasured ? say` with ${bytes(totalBytes)}` : words(', not all of a known size');
  const dates = chosen.flatMap(({ ageHours, initiated = '' }) => (ageHours === undefined ? [] : time(initiated)));
  const [oldest, newest] = [dates[0], dates.at(-1)];
  const ends = oldest && newest ? say`, the oldest of ${oldest}, the newest of ${newest}` : words('');
  return {
    kind: 'chosen',
    list: chosen.map(({ ageHours: _, isReceiving: __, ...upload }) => upload),
    found: join([say`${counted(chosen.length, 'upload')}${ofBytes}${ends}.`, ...active], ' '),
    warnings,
  };
}

function tooMany(uploads: readonly FoundUpload[]): SafeText {
  const buckets = [...groupedBy(uploads, ({ bucket = '' }) => bucket)].sort(([, a], [, b]) => b.length - a.length);
  const largest = buckets.slice(0, 5).map(([bucket, { length }]) => say`${quoted(bucket, 63)} ${length}`);
  return say`${uploads.length} uploads match, and one plan takes at most ${mostUploads}: name a bucket (${join(largest, ', ')}), a prefix or a greater olderThan`;
}
