import * as z from 'zod';
import { isObject, textAt } from '../util/objects.js';
import { quoted, say, words } from '../util/safe-text.js';
import { encodeSegment } from '../util/uri.js';
import { defineOperation, type Lenient } from './define-operation.js';
import { listMultipartUploads } from './list-multipart-uploads.js';
import { callAgain, next as nextStep } from './next.js';
import { objectStorageRegions } from './schema/enumerations.js';
import { objectKey, oneOf, pathName, region, text, wholeNumber, withConditions } from './schema/fields.js';
import { shownAs, unlisted } from './schema/outputs.js';
import { nextOfUpload } from './upload/next-of-upload.js';
import type { UploadPart } from './upload/part.js';
import { beginningSentences, pageSentences, summarySentences, uploadIdsElsewhere } from './upload/sentences.js';
import { firstThatFit } from './upload/shorten-lists.js';
import { summarise, summaryFields } from './upload/summary.js';
import { decodedKey, longestKey, withPlainEtag, xmlRecord } from './upload/xml-record.js';

const person = () =>
  shownAs(z.object({ id: z.string().optional(), displayName: z.string().optional() }), 'id, displayName');

const upload = () => ({
  bucket: z.string(),
  object: z.string(),
  uploadId: z.string(),
  initiator: unlisted(person().optional()),
  owner: unlisted(person().optional()),
  storageClass: unlisted(z.string().optional()),
  encodingType: unlisted(z.string().optional()),
});

/** One page of parts, as the service answers (docs/API.md: Part list). Only the list of tools lacks the `unlisted` fields. */
const page = () =>
  z.object({
    ...upload(),
    partNumberMarker: unlisted(z.int().optional()),
    maxParts: unlisted(z.int().optional()),
    isTruncated: z.boolean(),
    nextPartNumberMarker: z.int().optional(),
    parts: z.array(
      z.object({
        partNumber: z.int(),
        lastModified: z.string(),
        etag: z.string().describe('not promised to be an MD5'),
        size: z.int(),
      }),
    ),
  });

/** Parts per page in the view "parts" if maxParts is absent. */
const defaultPage = 100;

/** Length limit of a page in characters of JSON, about 20,000 tokens. A longer page is cut. */
const maximumPage = 42_000;

type Input = z.output<ReturnType<typeof input>>;

/** The arguments. `maxParts` and `partNumberMarker` are refused with the view "summary", which reads all pages. */
const input = () =>
  withConditions(
    z.strictObject({
      bucket: pathName().describe('Bucket name.'),
      object: objectKey().describe('Object key, exactly as the upload was started with; not URL-encoded.'),
      uploadId: text().describe('Upload ID, from list_multipart_uploads or the log of the uploader.'),
      view: oneOf(['summary', 'parts']).describe('Summary of the upload, or one page of parts.').optional(),
      expectedBytes: wholeNumber(0).describe('Size of the whole object, if known.').optional(),
      expectedParts: wholeNumber(1).describe('Number of parts of the whole object, if known.').optional(),
      encodingType: text().describe('Encoding of keys in the answer; rarely needed.').optional(),
      maxParts: wholeNumber(1)
        .describe(`View "parts": parts per page, ${defaultPage} when absent. The cloud may give fewer.`)
        .optional(),
      partNumberMarker: wholeNumber(0).describe('View "parts": list only parts with a higher number.').optional(),
      region: region()
        .describe('Region of the bucket: jp-east-1 or jp-west-2; the configured one when absent.')
        .optional(),
    }),
    ({ view, maxParts, partNumberMarker }, report) => {
      if (view !== 'summary') return;
      const problem = 'must be left out of the view "summary", which reads the whole list';
      if (maxParts !== undefined) report('maxParts', problem);
      if (partNumberMarker !== undefined) report('partNumberMarker', problem);
    },
  );

const uploadGone = {
  agent:
    'The upload was completed or aborted, or bucket, object or uploadId is mistyped. If it was completed, the object exists: ask the user which it is.',
  person:
    'The upload was completed or aborted, or bucket, object or uploadId is mistyped. If it was completed, the object exists.',
};

/** The requested view. Without `view`, an argument for a single page chooses "parts". */
const viewOf = ({ view, maxParts, partNumberMarker }: Input) =>
  view ?? (maxParts === undefined && partNumberMarker === undefined ? 'summary' : 'parts');

/** ListParts (docs/API.md: ListParts). */
export const listParts = defineOperation({
  name: 'list_parts',
  api: 'ListParts',
  title: 'List the parts of a multipart upload',
  description:
    'Shows what one multipart upload to object storage has received so far. View "summary" (default) reads the whole ' +
    'list: how many parts and bytes, which are in flight, passed over or still to come, how fast it goes and, with expectedBytes or ' +
    'expectedParts, how far it is and how long it still takes. View "parts", also chosen by maxParts or ' +
    'partNumberMarker, gives one page of single parts with ETags. It only reads: it cannot complete or ' +
    'abort an upload. Have ready: bucket, object, upload ID.',
  effect: 'read',
  service: 'storage',
  method: 'GET',
  answer: 'xml',
  regions: objectStorageRegions,
  example: {
    bucket: 'demo-bucket',
    object: 'backups/2026/database.dump',
    uploadId: 'demo-upload-in-progress',
    expectedParts: 16,
  },
  // The upload does not exist. The service checks the signature first, so the error NoSuchUpload shows that it accepts the keys.
  probe: {
    arguments: { bucket: 'cloudops-doctor', object: 'cloudops-doctor', uploadId: 'cloudops-doctor', maxParts: 1 },
    accepted: ['NoSuchUpload', 'NoSuchBucket', 'NoSuchKey'],
  },
  defaults: [{ path: 'maxParts', value: `1000 in the API; this server asks for ${defaultPage} in the view "parts"` }],
  undocumented: [
    'Values of encoding-type: stores take "url", or ignore it.',
    'Error codes: those of S3 are what similar clouds answer.',
    'Highest part number and smallest part: 10000 and 5 MiB by convention.',
    'Where each region is: the API gives only codes.',
  ],

  // For an unknown upload, Ceph answers NoSuchKey instead of NoSuchUpload.
  errors: { NoSuchUpload: uploadGone, NoSuchKey: uploadGone },

  limitations: [
    'Uploading a part, or completing an upload: use the client that started it.',
    'Aborting an upload: use abort_multipart_upload. If this server does not offer it, the person who runs the server can abort the upload.',
    'Object storage in a region other than jp-east-1 and jp-west-2: only with CLOUDOPS_STORAGE_HEADERS=amz.',
  ],

  input,

  output: () => z.object({ view: z.string(), ...page().partial().shape, ...summaryFields() }),

  exact: ['bucket', 'object', 'uploadId'],
  tellIfMissing: { isTruncated: 'whether more parts follow', 'parts[].size': 'the size of each part' },

  request: (input, after) => ({
    path: `/${encodeSegment(input.bucket)}/${input.object.split('/').map(encodeSegment).join('/')}`,
    query: {
      uploadId: input.uploadId,
      ...(input.encodingType !== undefined && { 'encoding-type': input.encodingType }),
      ...(viewOf(input) === 'parts' && { 'max-parts': String(input.maxParts ?? defaultPage) }),
      ...(input.partNumberMarker !== undefined && { 'part-number-marker': String(input.partNumberMarker) }),
      // For a later page, `after` replaces the marker of the call.
      ...after,
    },
    region: input.region,
  }),

  /** Returns a page as a record with decoded key and plain ETags, or undefined if the body is no list of parts. */
  extract(body) {
    const record = xmlRecord(isObject(body) ? body.ListPartsResult : undefined, {
      lists: { Part: 'parts' },
      values: ['PartNumber', 'Size', 'PartNumberMarker', 'NextPartNumberMarker', 'MaxParts', 'IsTruncated'],
      structures: ['Initiator', 'Owner', 'Part'],
      names: { Key: 'object', ETag: 'etag', 'Encoding-Type': 'encodingType' },
    });
    if (record === undefined) return undefined;

    const { parts = [], ...otherFields } = record;
    const object = decodedKey(otherFields.object, otherFields.encodingType);
    return {
      ...otherFields,
      ...(object !== undefined && { object }),
      // Not a list only if the answer has an unknown element <Parts>. The check against the schema `page` then warns.
      parts: Array.isArray(parts) ? parts.map(withPlainEtag) : parts,
    };
  },

  instructions: [{ text: uploadIdsElsewhere.text, unless: listMultipartUploads.name }],
  // Finds the start of the upload, which the list of parts lacks. With the key as prefix, the uploads of this key come first, so one page
  // is enough.
  companionRead: {
    operation: listMultipartUploads,
    input: (input) => {
      const { bucket, object, region } = input;
      return viewOf(input) === 'parts'
        ? undefined
        : { bucket, prefix: object, ...(region !== undefined && { region }) };
    },
    maximumPages: 1,
    lasting: {
      names: ({ bucket, object, uploadId }) => [bucket, object, uploadId],
      // If a store reuses an upload ID, or its clock was set, the first part has another time, and the kept start is not used.
      witness: firstTimeOf,
      part: ({ uploads }, input) => {
        const upload = uploadIn(uploads, input);
        return upload === undefined ? undefined : { uploads: [upload] };
      },
    },
  },

  pages: {
    page,
    start: ({ partNumberMarker = 0 }): PagesSoFar => ({ marker: partNumberMarker, firstPage: {}, parts: [] }),
    /** Adds the parts of a page to the state, or reports that the page contradicts the pages before it. */
    add(state, { record, number: pageNumber, answeredAt }, input) {
      const { marker } = state;
      const partNumbers = numbersOf(record);

      // Only a later page can repeat parts, because nothing was read before the first page.
      const repeated = pageNumber > 1 ? partNumbers.find((partNumber) => partNumber <= marker) : undefined;
      if (repeated !== undefined) {
        const problem = say`part ${repeated} came again on page ${pageNumber}, which was to start after part ${marker}`;
        return { kind: 'inconsistent', problem };
      }

      state.parts.push(...partsOf(record));
      state.answeredAt = answeredAt;
      if (pageNumber === 1) state.firstPage = record;
      if (record.isTruncated !== true) return { kind: 'end', state };

      // Some services name no marker although more parts follow. The next page then starts after the last part of this page.
      const nextMarker = record.nextPartNumberMarker ?? partNumbers.at(-1);
      if (nextMarker === undefined || nextMarker <= marker) {
        const problem = say`page ${pageNumber} says that more follow, but its marker (${nextMarker ?? words('none')}) is not past ${marker}`;
        return { kind: 'inconsistent', problem };
      }

      state.marker = nextMarker;
      // The view "parts" shows a single page.
      if (viewOf(input) === 'parts') return { kind: 'end', state };
      return { kind: 'next', state, after: { 'part-number-marker': String(nextMarker) } };
    },
    count: ({ parts = [] }) => parts.length,
    parts: ({ parts }, input) => (viewOf(input) === 'parts' ? undefined : parts),
    /**
     * Makes the answer: for the view "parts" the only page that was read, and otherwise a summary of the parts of all pages.
     * @param uploadList the list of uploads, which has the start of this upload, if the list could be read
     * @param nextPage the query of the first page that was not read, if the list of parts is longer than one call reads
     */
    result({ firstPage, parts: partsRead, answeredAt }, input, uploadList, nextPage) {
      // Both views keep unknown fields of the service, unless this server has a field of the same name.
      const page = withoutOwnNames(firstPage);
      // If a page is too long, it loses its last parts, and its marker is set to the last part that is left.
      if (viewOf(input) === 'parts') return { view: 'parts', ...withFirstParts(page) };

      // A summary keeps the fields about the upload (`upload`), not those about the page.
      const { parts, isTruncated, partNumberMarker, nextPartNumberMarker, maxParts, ...upload } = page;
      if (nextPage !== undefined) {
        // The beginning of a list shows neither progress nor rate, so nothing is expected, and no times are given.
        const noExpectation = {};
        return {
          view: 'summary',
          ...upload,
          ...summarise(partsRead, noExpectation),
          isTruncated: true,
          nextPartNumberMarker: Number(nextPage['part-number-marker']),
        };
      }

      const times = { checkedAt: answeredAt, startedAt: startOf(input, uploadList?.uploads) };
      // `input` has the expected number of bytes or parts, if the caller knows them.
      return { view: 'summary', ...upload, ...summarise(partsRead, input, times) };
    },
  },

  summarize: (record) => {
    if (record.view === 'parts') return pageSentences(record);
    const name = say`The upload of ${quoted(record.object ?? '', longestKey)}`;
    return record.isTruncated === true ? beginningSentences(record, name) : summarySentences(record, name);
  },
  /** Returns the step after a summary or a page of parts, or undefined if nothing is left to do. */
  next(record, { maxParts }, isOffered) {
    const { view, parts = [], isTruncated, nextPartNumberMarker } = record;
    const isPage = view === 'parts';
    if (isTruncated !== true) {
      return isPage ? undefined : nextOfUpload(record, isOffered('abort_multipart_upload'));
    }

    // A caller who got as many parts as maxParts asked for needs no advice, even if more follow.
    if (isPage && maxParts !== undefined && parts.length >= maxParts) return undefined;

    // The view "parts" reads the parts that follow, also after an incomplete summary.
    const marker = nextPartNumberMarker ?? numbersOf(record).at(-1) ?? 0;
    const andView = words(isPage ? '' : 'view "parts" and ');
    return nextStep(
      'agent',
      'call',
      say`For the parts after these, ${callAgain} with ${andView}partNumberMarker ${marker}.`,
    );
  },
});

/** The time of the first part that arrived, as text. Undefined if there are no parts. */
function firstTimeOf({ parts }: PagesSoFar): string | undefined {
  const times = parts.map(({ uploadedAt }) => uploadedAt);
  return times.length === 0 ? undefined : String(times.reduce((first, time) => Math.min(first, time)));
}

/** The upload that the call is about, in a list of uploads. */
const uploadIn = (uploads: unknown, { object, uploadId }: Pick<Input, 'object' | 'uploadId'>): unknown =>
  Array.isArray(uploads)
    ? uploads.find((upload) => textAt(upload, 'object') === object && textAt(upload, 'uploadId') === uploadId)
    : undefined;

/** The time at which the upload was started, in ISO 8601. Undefined if the list of uploads does not have it. */
function startOf(input: Input, uploads: unknown): string | undefined {
  const time = Date.parse(textAt(uploadIn(uploads, input), 'initiated') ?? '');
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

type PageRecord = Lenient<z.output<ReturnType<typeof page>>>;

/** Drops fields of the service's answer whose names this server gives to its own fields, such as `view`. Other unknown fields stay. */
const withoutOwnNames = (record: PageRecord): PageRecord =>
  Object.fromEntries(
    Object.entries(record).filter(([name]) => name !== 'view' && !Object.hasOwn(summaryFields(), name)),
  );

const numbersOf = ({ parts = [] }: PageRecord) => parts.flatMap(({ partNumber }) => partNumber ?? []);

/** The state while the pages are read. */
interface PagesSoFar {
  /** The next page starts after this part number. */
  marker: number;
  firstPage: PageRecord;
  readonly parts: UploadPart[];
  answeredAt?: string | undefined;
}

/** The parts of a page, without those that lack a number. */
const partsOf = ({ parts = [] }: PageRecord): UploadPart[] =>
  parts.flatMap(({ partNumber, size = Number.NaN, lastModified = '', etag }) =>
    partNumber === undefined ? [] : [{ partNumber, size, uploadedAt: Date.parse(lastModified), etag }],
  );

/** Cuts the parts of a page to `maximumPage` characters. If parts are cut off, the next page starts after the last part that is left. */
function withFirstParts({ parts = [], ...rest }: PageRecord): PageRecord {
  const fitting = firstThatFit(parts, maximumPage);
  if (fitting.length === parts.length) return { ...rest, parts };
  return { ...rest, parts: fitting, isTruncated: true, nextPartNumberMarker: fitting.at(-1)?.partNumber };
}
