import { sentences } from '../../util/human.js';
import { withoutUndefined } from '../../util/objects.js';
import { join, listed, say, words } from '../../util/safe-text.js';
import type { Lenient, Page, PageStart, PageStep } from '../define-operation.js';
import { type AnswerTimes, hasReplacement, isUrlEncoding, leftOutWarning, stepAfterPage } from './read-list.js';

/** This file reads lists of uploads from stores that ignore filters and markers, or do not say where pages end. */

/** An open upload, as the service lists it. */
export interface OpenUpload {
  readonly object: string;
  readonly uploadId: string;
  /** It should be ISO 8601, but may be any text. */
  readonly initiated?: string | undefined;
  /** In bytes. Few stores give it. */
  readonly size?: number | undefined;
}

interface UploadFilter {
  readonly prefix?: string | undefined;
  readonly uploadId?: string | undefined;
  readonly keyMarker?: string | undefined;
  readonly uploadIdMarker?: string | undefined;
}

type PageRecord = Lenient<{
  isTruncated: boolean;
  encodingType: string;
  nextKeyMarker: string;
  nextUploadIdMarker: string;
  uploads: OpenUpload[];
}>;

export const firstStart = ({ keyMarker, uploadIdMarker }: UploadFilter): PageStart => ({
  ...(keyMarker !== undefined && { 'key-marker': keyMarker }),
  ...(uploadIdMarker !== undefined && { 'upload-id-marker': uploadIdMarker }),
});

interface UploadListing {
  /** If buckets are listed and not uploads. */
  readonly buckets: { readonly name?: string | undefined }[];
  readonly all: OpenUpload[];
  times: AnswerTimes;
  /** Identities of the uploads that were read, because pages may overlap. */
  readonly seen: Set<string>;
  start: PageStart;
  saidMore: boolean;
}

export const startListing = (filter: UploadFilter): UploadListing => ({
  buckets: [],
  all: [],
  times: { receivedAt: '' },
  seen: new Set(),
  start: firstStart(filter),
  saidMore: false,
});

/** Adds the new uploads of a page that fit the filter. */
export function addPage(state: UploadListing, page: Page<PageRecord>, filter: UploadFilter): PageStep<UploadListing> {
  const { record, number: _, ...times } = page;
  // Stores write U+FFFD for control characters. Encoded keys stay exact.
  const isEncoded = isUrlEncoding(record.encodingType) || state.start['encoding-type'] !== undefined;
  const { uploads = [], nextKeyMarker } = record;
  const isInexact = [nextKeyMarker, ...uploads.map(({ object }) => object)].some(hasReplacement);
  if (!isEncoded && isInexact) return next(state, { ...state.start, 'encoding-type': 'url' });

  const onPage = uploads.flatMap(({ object, uploadId, initiated, size }): OpenUpload[] =>
    object === undefined || uploadId === undefined ? [] : [withoutUndefined({ object, uploadId, initiated, size })],
  );
  const unread = onPage.filter(({ object, uploadId }) => {
    const known = state.seen.size;
    return state.seen.add(JSON.stringify([object, uploadId])).size > known;
  });
  const { matching, ignored } = filterAgain(unread, onPage, state, filter);
  state.all.push(...matching);
  state.times = times;
  const warnings = sentences(
    ...ignored,
    leftOutWarning(uploads.length - onPage.length, words('object key or upload ID')) ?? false,
    onPage.some(({ object }) => hasReplacement(object)) &&
      say`Some keys are not exact: the store writes U+FFFD for characters that XML cannot hold.`,
  );
  return {
    ...stepAfter(state, page, { entries: onPage.length, hasNew: unread.length > 0 }, filter),
    warning: warnings.length === 0 ? undefined : join(warnings, ' '),
  };
}

const next = (state: UploadListing, after: PageStart) => {
  state.start = after;
  return { kind: 'next', state, after } as const;
};

/** Applies the filters of the call again, because some stores ignore them. */
function filterAgain(
  unread: readonly OpenUpload[],
  page: readonly OpenUpload[],
  state: UploadListing,
  filter: UploadFilter,
) {
  const { prefix = '', uploadId } = filter;
  const withPrefix = unread.filter(({ object }) => startsWith(object, prefix));
  const afterMarker = withPrefix.filter((upload) => isAfterMarker(upload, page, filter));
  const isPrefixSent = state.start.prefix === undefined;
  const names = sentences(
    withPrefix.length < unread.length && isPrefixSent && words('prefix'),
    afterMarker.length < withPrefix.length && words('keyMarker'),
  );
  return {
    matching: afterMarker.filter((upload) => uploadId === undefined || upload.uploadId === uploadId),
    ignored: sentences(
      names.length > 0 && say`The store ignored ${listed(names)}, so this server left out the uploads that do not fit.`,
      withPrefix.length > 0 &&
        !isPrefixSent &&
        say`The store matches a prefix only against whole keys, so the whole list was read.`,
    ),
  };
}

/** U+FFFD in the key may stand for any character. */
function startsWith(key: string, prefix: string): boolean {
  if (key.startsWith(prefix)) return true;
  if (!hasReplacement(key)) return false;
  const characters = [...key];
  return [...prefix].every((character, index) => ['\uFFFD', character].includes(characters[index] ?? ''));
}

/** Compares by the order of keys in S3 (bytes of UTF-8). */
function isAfterMarker(
  upload: OpenUpload,
  listed: readonly OpenUpload[],
  { keyMarker, uploadIdMarker }: UploadFilter,
): boolean {
  if (keyMarker === undefined) return true;
  if (upload.object !== keyMarker) return Buffer.compare(Buffer.from(upload.object), Buffer.from(keyMarker)) > 0;
  if (uploadIdMarker === undefined) return false;
  const indexOfMarker = listed.findIndex(({ object, uploadId }) => object === keyMarker && uploadId === uploadIdMarker);
  return listed.indexOf(upload) > indexOfMarker;
}

function stepAfter(
  state: UploadListing,
  page: Page<PageRecord>,
  facts: { readonly entries: number; readonly hasNew: boolean },
  { prefix, uploadId, ...markers }: UploadFilter,
): PageStep<UploadListing> {
  const marker = nextMarker(page.record, state.start);
  const { 'key-marker': _key, 'upload-id-marker': _id, ...otherParameters } = state.start;
  const step = stepAfterPage(state, page, facts, marker && { ...otherParameters, ...marker });
  if (step.kind === 'next') return next(state, step.after);
  // Some stores match a prefix only against whole keys.
  const isNarrow = prefix !== undefined && uploadId === undefined && state.seen.size === 0;
  if (step.doubt !== undefined || !isNarrow || state.start.prefix !== undefined) return step;
  state.saidMore = false;
  return next(state, { ...firstStart(markers), prefix: '' });
}

/** Some stores name no marker although more uploads follow. */
function nextMarker(
  { nextKeyMarker, nextUploadIdMarker, uploads = [], isTruncated }: PageRecord,
  start: PageStart,
): PageStart | undefined {
  const named = startAfter(nextKeyMarker, nextUploadIdMarker);
  if (named !== undefined && !isSameStart(named, start)) return named;
  // If the answer does not say whether more follow, only a marker shows it.
  if (isTruncated === undefined) return undefined;
  const last = startAfter(uploads.at(-1)?.object, uploads.at(-1)?.uploadId);
  return last !== undefined && !isSameStart(last, start) ? last : undefined;
}

const startAfter = (keyMarker: string | undefined, uploadId: string | undefined): PageStart | undefined =>
  keyMarker ? firstStart({ keyMarker, uploadIdMarker: uploadId || undefined }) : undefined;

const isSameStart = (a: PageStart, b: PageStart): boolean =>
  a['key-marker'] === b['key-marker'] && a['upload-id-marker'] === b['upload-id-marker'];
