import * as z from 'zod';
import { isObject, valueAt, withoutUndefined } from '../util/objects.js';
import { quoted, say, words } from '../util/safe-text.js';
import { defineOperation, type Lenient } from './define-operation.js';
import { listMultipartUploads } from './list-multipart-uploads.js';
import { callAgain, next as nextStep } from './next.js';
import { pickArgument } from './schema/answer-paths.js';
import { oneOf, text, wholeNumber, withConditions } from './schema/fields.js';
import { unlisted } from './schema/outputs.js';
import { goneCodes, goneErrors, objectPath, uploadArguments } from './upload/one-upload.js';
import type { UploadPart } from './upload/part.js';
import {
  decodedKey,
  firstThatFit,
  hasReplacement,
  leftOutWarning,
  longestKey,
  stepAfterPage,
  storeTime,
  withPlainEtag,
  xmlRecord,
} from './upload/read-list.js';
import { beginningSentences, nextOfUpload, pageSentences, summarySentences } from './upload/sentences.js';
import { summarise, summariseBeginning, summaryFields } from './upload/summary.js';

/** One page of parts (docs/API.md: Part list). */
const page = () =>
  z.object({
    bucket: z.string(),
    object: z.string(),
    uploadId: z.string(),
    initiator: unlisted(z.looseObject({}).optional()),
    owner: unlisted(z.looseObject({}).optional()),
    storageClass: unlisted(z.string().optional()),
    encodingType: unlisted(z.string().optional()),
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

const output = () =>
  z.object({
    view: z.string(),
    ...page().partial().shape,
    mayHaveMore: unlisted(z.boolean().optional()),
    ...summaryFields(),
  });

const defaultPage = 100;

type Input = z.output<ReturnType<typeof input>>;

const input = () =>
  withConditions(
    z.strictObject({
      ...uploadArguments(),
      view: oneOf(['summary', 'parts']).describe('Summary of the upload, or one page of parts.').optional(),
      expectedBytes: wholeNumber(0).describe('Size of the whole object, if known.').optional(),
      expectedParts: wholeNumber(1).describe('Number of parts of the whole object, if known.').optional(),
      encodingType: text().describe('Encoding of keys in the answer; rarely needed.').optional(),
      maxParts: wholeNumber(1)
        .describe(`View "parts": parts per page, ${defaultPage} when absent. The cloud may give fewer.`)
        .optional(),
      partNumberMarker: wholeNumber(0).describe('View "parts": list only parts with a higher number.').optional(),
      ...pickArgument(output, ['nextPartNumberMarker']),
    }),
    ({ view, maxParts, partNumberMarker }, report) => {
      if (view !== 'summary') return;
      const problem = 'must be left out of the view "summary", which reads the whole list';
      if (maxParts !== undefined) report('maxParts', problem);
      if (partNumberMarker !== undefined) report('partNumberMarker', problem);
    },
  );

/** Without `view`, an argument for a single page chooses "parts". */
const viewOf = ({ view, maxParts, partNumberMarker }: Input) =>
  view ?? (maxParts === undefined && partNumberMarker === undefined ? 'summary' : 'parts');

/** ListParts (docs/API.md: ListParts). */
export const listParts = defineOperation({
  name: 'list_parts',
  api: 'ListParts',
  title: 'List the parts of a multipart upload',
  description:
    'Shows what one multipart upload to object storage has received so far. View "summary" (default) reads the whole ' +
    'list: how many parts and bytes, which are missing, when the last one came, how fast it goes and, with expectedBytes or ' +
    'expectedParts, how far it is and about how long it still takes. View "parts", also chosen by maxParts or ' +
    'partNumberMarker, gives one page of single parts with ETags. It only reads: it cannot complete or ' +
    'abort an upload. Have ready: bucket, object, upload ID.',
  effect: 'read',
  service: 'storage',
  method: 'GET',
  answer: 'xml',
  example: {
    bucket: 'demo-bucket',
    object: 'backups/2026/database.dump',
    uploadId: 'demo-upload-in-progress',
    expectedParts: 16,
  },
  // The upload does not exist. NoSuchUpload shows valid keys, because the service checks the signature first.
  probe: {
    arguments: { bucket: 'cloudops-doctor', object: 'cloudops-doctor', uploadId: 'cloudops-doctor', maxParts: 1 },
    accepted: [...goneCodes, 'NoSuchBucket'],
  },
  defaults: [{ path: 'maxParts', value: `1000 in the API; this server asks for ${defaultPage} in the view "parts"` }],
  undocumented: [
    'Values of encoding-type: stores take "url", or ignore it.',
    'Error codes: those of S3 are what similar clouds answer.',
    'Highest part number and smallest part: 10000 and 5 MiB by convention.',
    'Where each region is: the API gives only codes.',
  ],

  errors: goneErrors,

  limitations: [
    'Uploading a part, or completing an upload: use the client that started it.',
    'Aborting an upload: use abort_multipart_upload. If this server does not offer it, the person who runs the server can abort the upload.',
    'Object storage in a region other than jp-east-1 and jp-west-2: only with CLOUDOPS_STORAGE_HEADERS=amz.',
  ],

  input,
  fieldsArgument: 'fields',
  output,

  request: (input, after) => ({
    path: objectPath(input),
    query: {
      uploadId: input.uploadId,
      ...(input.encodingType !== undefined && { 'encoding-type': input.encodingType }),
      // Some stores answer with pages that are too large otherwise. S3 gives 1000 at most.
      'max-parts': String(viewOf(input) === 'parts' ? (input.maxParts ?? defaultPage) : 1000),
      ...(input.partNumberMarker !== undefined && { 'part-number-marker': String(input.partNumberMarker) }),
      ...after,
    },
    region: input.region,
  }),

  extract(body) {
    const record = xmlRecord(isObject(body) ? body.ListPartsResult : undefined, {
      lists: { Part: 'parts' },
      values: ['PartNumber', 'Size', 'PartNumberMarker', 'NextPartNumberMarker', 'MaxParts', 'IsTruncated'],
      structures: ['Initiator', 'Owner', 'Part'],
      names: { Key: 'object', ETag: 'etag', 'Encoding-Type': 'encodingType' },
    });
    if (record === undefined) return undefined;

    // The view is this server's.
    const { parts = [], view: _, ...otherFields } = record;
    const object = decodedKey(otherFields.object, otherFields.encodingType);
    return {
      ...otherFields,
      ...(object !== undefined && { object }),
      // Not a list only if the answer has an unknown element <Parts>.
      parts: Array.isArray(parts) ? parts.map(withPlainEtag) : parts,
    };
  },

  // Some stores answer with an empty list for an upload that is gone.
  followUpRead: {
    operation: listMultipartUploads,
    input(input, { parts, hasDoubt }: PagesSoFar) {
      const { bucket, object, uploadId, region } = input;
      return viewOf(input) === 'parts' || parts.size > 0 || hasDoubt
        ? undefined
        : { bucket, prefix: object, uploadId, region };
    },
  },

  pages: {
    page,
    start: ({ partNumberMarker = 0 }): PagesSoFar => ({
      start: partNumberMarker,
      firstPage: {},
      parts: new Map(),
      receivedAt: '',
      saidMore: false,
      hasDoubt: false,
    }),
    /** A page that makes no progress ends the list. */
    add(state: PagesSoFar, page, input) {
      const { record, number: pageNumber, answeredAt, receivedAt } = page;
      const { partNumberMarker: marker = 0 } = input;
      // Some services ignore the marker of the call.
      const listed = (record.parts ?? []).filter(({ partNumber = marker + 1 }) => marker === 0 || partNumber > marker);
      const known = state.parts.size;
      const unusable = listed.filter(({ partNumber }) => partNumber === undefined).length;
      for (const part of partsOf(listed)) if (!state.parts.has(part.partNumber)) state.parts.set(part.partNumber, part);
      if (pageNumber === 1) state.firstPage = { ...record, parts: listed };
      state.answeredAt = answeredAt;
      state.receivedAt = receivedAt;

      const warning = leftOutWarning(unusable, words('part number'));
      const isPage = viewOf(input) === 'parts';
      // A single page may well say that more follow.
      if (isPage && record.isTruncated !== undefined) return { kind: 'end', state, warning };
      const next = isPage ? undefined : nextMarker(record, state.start);
      const facts = { entries: listed.length, hasNew: state.parts.size > known };
      const after = next === undefined ? undefined : { 'part-number-marker': String(next) };
      const step = stepAfterPage(state, page, facts, after);
      if (step.kind === 'next') state.start = next ?? state.start;
      else state.hasDoubt = step.doubt !== undefined;
      return { ...step, warning };
    },
    count: ({ parts = [] }) => parts.length,
    parts: ({ parts }, input) => (viewOf(input) === 'parts' ? undefined : [...parts.values()]),
    result(
      { firstPage, parts: partsByNumber, answeredAt, receivedAt },
      input,
      { followUp, unread, mayHaveMore, isWhole },
    ) {
      // XML cannot hold all keys.
      const object = hasReplacement(firstPage.object ?? '\uFFFD') ? input.object : firstPage.object;
      if (viewOf(input) === 'parts')
        return { view: 'parts', ...(isWhole ? firstPage : withFirstParts(firstPage)), object };

      const { expectedBytes, expectedParts } = input;
      const { bucket, uploadId, initiator, owner, storageClass, encodingType } = firstPage;
      const upload = { bucket, object, uploadId, initiator, owner, storageClass, encodingType };
      const summary = { view: 'summary', ...withoutUndefined(upload) };
      const parts = [...partsByNumber.values()];
      if (unread !== undefined) {
        const marker = Number(unread['part-number-marker']);
        return { ...summary, ...summariseBeginning(parts), isTruncated: true, nextPartNumberMarker: marker };
      }
      if (mayHaveMore) return { ...summary, ...summariseBeginning(parts), mayHaveMore };
      return {
        ...summary,
        ...summarise(parts, { expectedBytes, expectedParts }, { answeredAt, receivedAt }),
        ...(parts.length === 0 && listedIn(followUp)),
      };
    },
  },

  summarize: (record) => {
    if (record.view === 'parts') return pageSentences(record);
    const name = say`The upload of ${quoted(record.object ?? '', longestKey)}`;
    const isLonger = record.isTruncated === true;
    return isLonger || record.mayHaveMore === true
      ? beginningSentences(record, name, isLonger)
      : summarySentences(record, name);
  },
  next(record, { maxParts }, isOffered) {
    const { view, parts = [], isTruncated, nextPartNumberMarker, mayHaveMore } = record;
    const isPage = view === 'parts';
    if (isTruncated !== true) {
      if (mayHaveMore) return undefined;
      return isPage ? undefined : nextOfUpload(record, isOffered('abort_multipart_upload'));
    }

    if (isPage && maxParts !== undefined && parts.length >= maxParts) return undefined;

    const marker = Math.max(nextPartNumberMarker ?? 0, numbersOf(record).at(-1) ?? 0);
    const andView = words(isPage ? '' : 'view "parts" and ');
    return nextStep(
      'agent',
      'call',
      say`For the parts after these, ${callAgain} with ${andView}partNumberMarker ${marker}.`,
    );
  },
});

type PageRecord = Lenient<z.output<ReturnType<typeof page>>>;

const numbersOf = ({ parts = [] }: PageRecord) => parts.flatMap(({ partNumber }) => partNumber ?? []);

interface PagesSoFar {
  /** The page that is read next has the parts after this number. */
  start: number;
  firstPage: PageRecord;
  readonly parts: Map<number, UploadPart>;
  answeredAt?: string | undefined;
  receivedAt: string;
  /** The page before said that more follow. */
  saidMore: boolean;
  hasDoubt: boolean;
}

const partsOf = (listed: NonNullable<PageRecord['parts']>): UploadPart[] =>
  listed.flatMap(({ partNumber, size = Number.NaN, lastModified, etag }) =>
    partNumber === undefined
      ? []
      : [{ partNumber, size: size < 0 ? Number.NaN : size, uploadedAt: storeTime(lastModified) ?? Number.NaN, etag }],
  );

/** The start of the next page. Some services name no marker, or always 0. */
function nextMarker(record: PageRecord, start: number): number | undefined {
  const { nextPartNumberMarker: named = 0, isTruncated } = record;
  if (named > start) return named;
  const highest = numbersOf(record).reduce((most, number) => Math.max(most, number), 0);
  // If the answer does not say whether more follow, only a marker shows it.
  return isTruncated === true && highest > start ? highest : undefined;
}

function listedIn(list: Readonly<Record<string, unknown>> = { mayHaveMore: true }) {
  const [upload]: readonly unknown[] = Array.isArray(list.uploads) ? list.uploads : [];
  if (upload === undefined) return list.isTruncated === true || list.mayHaveMore === true ? {} : { isListed: false };
  const ageHours = valueAt(upload, 'ageHours');
  return {
    isListed: true,
    ...(typeof ageHours === 'number' && { ageHours }),
    ...(list.timesContradict === true && { timesContradict: true }),
  };
}

/** If parts are cut off, the next page starts after the last part left. */
function withFirstParts({ parts = [], ...rest }: PageRecord): PageRecord {
  // In characters of JSON, so that a page fits into the budget of an answer.
  const fitting = firstThatFit(parts, 12_500);
  if (fitting.length === parts.length) return { ...rest, parts };
  return { ...rest, parts: fitting, isTruncated: true, nextPartNumberMarker: fitting.at(-1)?.partNumber };
}
