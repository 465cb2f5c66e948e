import * as z from 'zod';
import { sentences } from '../../util/human.js';
import { withoutUndefined } from '../../util/objects.js';
import { join, say, words } from '../../util/safe-text.js';
import type { Lenient, Page, PageStart, PageStep } from '../define-operation.js';
import { type AnswerTimes, hasReplacement, isUrlEncoding, leftOutWarning, stepAfterPage } from './read-list.js';

/** This file reads lists of uploads from stores that ignore filters and markers, or do not say where pages end. */

/** Schema of an upload with its age and, if it is known, its size (bytes). `initiated` should be ISO 8601, but may be any text. */
export const foundUpload = () =>
  z.object({
    bucket: z.string().optional(),
    object: z.string(),
    uploadId: z.string(),
    initiated: z.string().optional(),
    ageHours: z.int().optional(),
    size: z.int().optional(),
    isReceiving: z.literal(true).optional(),
  });
export type FoundUpload = z.output<ReturnType<typeof foundUpload>>;

/** The arguments of list_multipart_uploads. */
export interface UploadSearch {
  readonly bucket?: string | undefined;
  readonly prefix?: string | undefined;
  readonly olderThanHours?: number | undefined;
  readonly withSizes?: boolean | undefined;
  readonly bucketMarker?: string | undefined;
  readonly uploadId?: string | undefined;
  readonly keyMarker?: string | undefined;
  readonly uploadIdMarker?: string | undefined;
  readonly region?: string | undefined;
}

/** Schema of a page of uploads or, of ListBuckets, of buckets. */
export const uploadsPage = () =>
  z.object({
    encodingType: z.string().optional(),
    isTruncated: z.boolean(),
    nextKeyMarker: z.string().optional(),
    nextUploadIdMarker: z.string().optional(),
    uploads: z.array(
      z.object({
        object: z.string(),
        uploadId: z.string(),
        initiated: z.string().optional(),
        size: z.int().optional(),
      }),
    ),
    buckets: z.array(z.object({ name: z.string() })).optional(),
    continuationToken: z.string().optional(),
  });
type UploadsPage = Lenient<z.output<ReturnType<typeof uploadsPage>>>;

export const markerOf = ({ keyMarker, uploadIdMarker }: UploadSearch): PageStart => ({
  ...(keyMarker && { 'key-marker': keyMarker }),
  ...(uploadIdMarker && { 'upload-id-marker': uploadIdMarker }),
});

interface UploadListing {
  /** If buckets are listed and not uploads. */
  readonly buckets: { readonly name?: string | undefined }[];
  readonly all: FoundUpload[];
  times: AnswerTimes;
  /** Identities of the uploads that were read, because pages may overlap. */
  readonly seen: Set<string>;
  marker: PageStart;
  /** Query parameters of later pages, which replace the call's. */
  parameters: PageStart;
  saidMore: boolean;
}

export const startListing = (search: UploadSearch): UploadListing => ({
  buckets: [],
  all: [],
  times: { receivedAt: '' },
  seen: new Set(),
  marker: markerOf(search),
  parameters: {},
  saidMore: false,
});

/** Adds the new uploads of a page that fit the search. */
export function addPage(state: UploadListing, page: Page<UploadsPage>, search: UploadSearch): PageStep<UploadListing> {
  const { record, number: _, ...times } = page;
  // Stores write U+FFFD for control characters. Encoded keys stay exact.
  const isEncoded = isUrlEncoding(record.encodingType) || state.parameters['encoding-type'] !== undefined;
  const { uploads = [], nextKeyMarker } = record;
  const isInexact = [nextKeyMarker, ...uploads.map(({ object }) => object)].some(hasReplacement);
  if (!isEncoded && isInexact) {
    state.parameters = { ...state.parameters, 'encoding-type': 'url' };
    return readOn(state);
  }

  const onPage = uploads.flatMap(({ object, uploadId, initiated, size }): FoundUpload[] =>
    object === undefined || uploadId === undefined ? [] : [withoutUndefined({ object, uploadId, initiated, size })],
  );
  const unread = onPage.filter(({ object, uploadId }) => {
    const known = state.seen.size;
    return state.seen.add(JSON.stringify([object, uploadId])).size > known;
  });
  // Some stores ignore filters.
  const { prefix = '', uploadId } = search;
  state.all.push(
    ...unread.filter(
      (upload) =>
        startsWith(upload.object, prefix) &&
        isAfterMarker(upload, onPage, search) &&
        (uploadId === undefined || upload.uploadId === uploadId),
    ),
  );
  state.times = times;
  const warnings = sentences(
    leftOutWarning(uploads.length - onPage.length, words('object key or upload ID')) ?? false,
    onPage.some(({ object }) => hasReplacement(object)) &&
      say`Some keys are not exact: the store writes U+FFFD for characters that XML cannot hold.`,
  );
  return {
    ...stepAfter(state, page, { entries: onPage.length, hasNew: unread.length > 0 }, search),
    warning: warnings.length === 0 ? undefined : join(warnings, ' '),
  };
}

const readOn = (state: UploadListing) =>
  ({ kind: 'next', state, after: { ...state.parameters, ...state.marker } }) as const;

/** U+FFFD in the key may stand for any character. */
function startsWith(key: string, prefix: string): boolean {
  if (key.startsWith(prefix)) return true;
  if (!hasReplacement(key)) return false;
  const characters = [...key];
  return [...prefix].every((character, index) => ['\uFFFD', character].includes(characters[index] ?? ''));
}

/** Compares by the order of keys in S3 (bytes of UTF-8). */
function isAfterMarker(
  upload: FoundUpload,
  listed: readonly FoundUpload[],
  { keyMarker, uploadIdMarker }: UploadSearch,
): boolean {
  if (keyMarker === undefined) return true;
  if (upload.object !== keyMarker) return Buffer.compare(Buffer.from(upload.object), Buffer.from(keyMarker)) > 0;
  if (uploadIdMarker === undefined) return false;
  const indexOfMarker = listed.findIndex(({ object, uploadId }) => object === keyMarker && uploadId === uploadIdMarker);
  return listed.indexOf(upload) > indexOfMarker;
}

function stepAfter(
  state: UploadListing,
  page: Page<UploadsPage>,
  facts: { readonly entries: number; readonly hasNew: boolean },
  { prefix, uploadId, ...search }: UploadSearch,
): PageStep<UploadListing> {
  const marker = nextMarker(page.record, state.marker);
  const step = stepAfterPage(state, page, facts, marker);
  if (step.kind === 'next') {
    state.marker = step.after;
    return readOn(state);
  }
  // Some stores match a prefix only against whole keys.
  const isNarrow = prefix !== undefined && uploadId === undefined && state.seen.size === 0;
  if (step.doubt !== undefined || !isNarrow || state.parameters.prefix !== undefined) return step;
  Object.assign(state, { saidMore: false, marker: markerOf(search), parameters: { prefix: '' } });
  return readOn(state);
}

/** Some stores name no marker although more uploads follow. */
function nextMarker(
  { nextKeyMarker, nextUploadIdMarker, uploads = [], isTruncated }: UploadsPage,
  present: PageStart,
): PageStart | undefined {
  const named = markerOf({ keyMarker: nextKeyMarker, uploadIdMarker: nextKeyMarker && nextUploadIdMarker });
  const last = uploads.at(-1);
  // If the answer does not say whether more follow, only a marker shows it.
  const ofLast = isTruncated === undefined ? {} : markerOf({ keyMarker: last?.object, uploadIdMarker: last?.uploadId });
  const isProgress = (marker: PageStart) =>
    'key-marker' in marker && JSON.stringify(marker) !== JSON.stringify(present);
  return [named, ofLast].find(isProgress);
}
