import * as z from 'zod';
import { sentences } from '../../util/human.js';
import { groupedBy, textsAt, withoutUndefined } from '../../util/objects.js';
import { bytes, counted, join, longestName, own, quoted, type SafeText, say, words } from '../../util/safe-text.js';
import type { Lenient, ManyReads, Operation, PartialReadEnd } from '../define-operation.js';
import { unlisted } from '../schema/outputs.js';
import { listBuckets } from './list-buckets.js';
import { openUploadsFields, openUploadsSentences } from './open-uploads.js';
import { firstThatFit, storeTime } from './read-list.js';

/** This file finds the open multipart uploads of all buckets, oldest first, with their sizes if a call asks for them. */

interface AllUploadsInput {
  readonly bucket?: string | undefined;
  readonly prefix?: string | undefined;
  readonly olderThanHours?: number | undefined;
  readonly withSizes?: boolean | undefined;
  readonly bucketMarker?: string | undefined;
  readonly region?: string | undefined;
}

const bucketFields = () => ({
  bucket: z.string(),
  uploadCount: z.int(),
  totalBytes: z.int().optional(),
  oldestHours: z.int().optional(),
  isTruncated: z.boolean().optional(),
});

/** Schema fields of the uploads of several buckets, besides those of one bucket. */
export const allUploadsFields = () => ({
  bucketCount: unlisted(z.int().optional()),
  buckets: z.array(z.object(bucketFields())).optional().describe('those with most, if several were read'),
  /** Uploads whose size is known, if not all. */
  sizedCount: unlisted(z.int().optional()),
  unreadBuckets: unlisted(z.array(z.object({ code: z.string(), count: z.int(), first: z.string() })).optional()),
  nextBucketMarker: unlisted(z.string().optional()),
});

const fields = () => ({ ...openUploadsFields(), ...allUploadsFields() });
type Summary = Lenient<z.output<z.ZodObject<ReturnType<typeof fields>>>> & { readonly bucket?: string | undefined };

const ofBucket = z.object(openUploadsFields()).partial();
type UploadsOfBucket = z.output<typeof ofBucket> & { readonly bucket: string };
export type FoundUpload = NonNullable<UploadsOfBucket['uploads']>[number];

/** Reads the uploads of a record. */
export const foundUploads = (record: Readonly<Record<string, unknown>>): readonly FoundUpload[] =>
  ofBucket.parse({ uploads: record.uploads }).uploads ?? [];

/** Most uploads whose parts are listed for their sizes. */
const mostSized = 1000;

/** Length limits of the lists in characters of JSON, together about 600 tokens. */
const bucketCharacters = 500;
const uploadCharacters = 1100;

/** Reads the uploads of `bucket`, or of all buckets after `bucketMarker`. */
export function* readAllUploads(
  { bucket, withSizes, bucketMarker, ...input }: AllUploadsInput,
  find: (tool: string) => Operation | undefined,
): ManyReads {
  const { region } = input;
  const listing = bucket === undefined ? yield [{ operation: listBuckets, input: withoutUndefined({ region }) }] : [];
  const buckets = bucket === undefined ? bucketsIn(listing[0], bucketMarker) : { names: [bucket], mayHaveMore: false };
  const list = find('list_multipart_uploads');
  const ends = yield buckets.names.flatMap((name) =>
    list === undefined ? [] : [{ operation: list, input: withoutUndefined({ ...input, bucket: name }) }],
  );
  const gap = startOfGap(ends);
  const names = gap < 0 ? buckets.names : buckets.names.slice(0, gap);
  const read = names.flatMap((name, index): UploadsOfBucket[] => {
    const end = ends[index];
    return end?.kind === 'read' ? [{ ...ofBucket.parse(end.record), bucket: name }] : [];
  });
  const found = read
    .flatMap(({ bucket, uploads = [] }) => uploads.map((upload): FoundUpload => Object.assign({ bucket }, upload)))
    .sort((a, b) => startOf(a) - startOf(b));

  const parts = withSizes === true ? find('list_parts') : undefined;
  const unsized = parts === undefined ? [] : found.slice(0, mostSized);
  const sizeEnds = yield unsized.flatMap(({ bucket, object, uploadId }) =>
    parts === undefined ? [] : [{ operation: parts, input: withoutUndefined({ bucket, object, uploadId, region }) }],
  );
  const measured = new Map(unsized.map((upload, index) => [upload, measuredIn(sizeEnds[index])]));
  const all = found.map((upload): FoundUpload => ({ ...upload, ...measured.get(upload) }));

  const isTruncated = gap >= 0 || buckets.mayHaveMore;
  const summary = summariseAll(read, all, input.olderThanHours !== undefined);
  const worst = byBucket(read, all);
  return (isWhole) =>
    withoutUndefined({
      bucket,
      prefix: input.prefix,
      olderThanHours: input.olderThanHours,
      bucketCount: read.length,
      ...summary,
      buckets: isWhole ? worst : firstThatFit(worst, bucketCharacters),
      uploads: isWhole ? all : firstThatFit(all, uploadCharacters),
      unreadBuckets: refusals(names, ends),
      isTruncated: isTruncated || undefined,
      nextBucketMarker: isTruncated ? (names.at(-1) ?? bucketMarker) : undefined,
    });
}

/**
 * The index of the first bucket that was not read, or only in part. The next call goes on from there, so what was read after it is left out.
 * The first bucket stays even in part, because a next call would read no more of it.
 */
function startOfGap(ends: readonly PartialReadEnd[]): number {
  const stopped = ends.findIndex(({ kind }) => kind === 'stopped');
  const isWhole = (end: PartialReadEnd) => end.kind !== 'read' || end.record.isTruncated !== true;
  return stopped < 0 ? stopped : Math.max(ends.slice(0, stopped).findLastIndex(isWhole), Math.min(stopped - 1, 0)) + 1;
}

/** Uploads of unknown age come last. */
const startOf = ({ ageHours, initiated }: FoundUpload): number =>
  (ageHours === undefined ? undefined : storeTime(initiated)) ?? Number.MAX_VALUE;

/** Sorts the names, because not all stores do. */
function bucketsIn(listing: PartialReadEnd | undefined, bucketMarker: string | undefined) {
  const record = listing?.kind === 'read' ? listing.record : {};
  const isAfter = (name: string) => bucketMarker === undefined || name > bucketMarker;
  return { names: textsAt(record, 'buckets[].name').filter(isAfter).sort(), mayHaveMore: record.mayHaveMore === true };
}

const never = () => z.undefined().optional();
const wholeSummary = z.object({
  totalBytes: z.int(),
  idleSeconds: z.number().optional(),
  stopped: z.boolean().optional(),
  isTruncated: never(),
  mayHaveMore: never(),
});

/** Without a size if some parts may be missing. */
function measuredIn(end: PartialReadEnd | undefined): Pick<FoundUpload, 'size' | 'isReceiving'> {
  const { data } = wholeSummary.safeParse(end?.kind === 'read' ? end.record : undefined);
  if (data === undefined) return {};
  const isReceiving = data.idleSeconds !== undefined && data.stopped !== true;
  return { size: data.totalBytes, ...(isReceiving && { isReceiving }) };
}

const sum = (numbers: readonly (number | undefined)[]): number =>
  numbers.reduce<number>((total, n = 0) => total + n, 0);

function summariseAll(read: readonly UploadsOfBucket[], all: readonly FoundUpload[], isFiltered: boolean) {
  const sized = all.filter(({ size }) => size !== undefined);
  const unknownAgeCount = sum(read.map((one) => one.unknownAgeCount));
  return {
    uploadCount: all.length,
    countOfAnyAge: isFiltered ? sum(read.map((one) => one.countOfAnyAge)) : undefined,
    unknownAgeCount: unknownAgeCount > 0 ? unknownAgeCount : undefined,
    totalBytes: sized.length > 0 ? sum(sized.map(({ size }) => size)) : undefined,
    sizedCount: sized.length > 0 && sized.length < all.length ? sized.length : undefined,
    mayHaveMore: read.some(hasMore) || undefined,
  };
}

const hasMore = ({ isTruncated, mayHaveMore }: UploadsOfBucket) => isTruncated === true || mayHaveMore === true;

/** Those that were read in part first, then those with most bytes, then those with most uploads. */
function byBucket(read: readonly UploadsOfBucket[], all: readonly FoundUpload[]) {
  const uploadsOf = groupedBy(all, ({ bucket = '' }) => bucket);
  return read
    .flatMap((one) => {
      const uploads = uploadsOf.get(one.bucket) ?? [];
      const sized = uploads.filter(({ size }) => size !== undefined);
      const described = {
        bucket: one.bucket,
        uploadCount: uploads.length,
        totalBytes: sized.length > 0 ? sum(sized.map(({ size }) => size)) : undefined,
        oldestHours: uploads[0]?.ageHours,
        isTruncated: hasMore(one) || undefined,
      };
      return uploads.length > 0 || hasMore(one) ? [withoutUndefined(described)] : [];
    })
    .sort(
      (a, b) =>
        Number(b.isTruncated ?? false) - Number(a.isTruncated ?? false) ||
        (b.totalBytes ?? 0) - (a.totalBytes ?? 0) ||
        b.uploadCount - a.uploadCount,
    );
}

function refusals(names: readonly string[], ends: readonly PartialReadEnd[]) {
  const refused = names.flatMap((first, index) => {
    const end = ends[index];
    return end?.kind === 'refused' ? [{ code: end.code, first }] : [];
  });
  const groups = [...groupedBy(refused, ({ code }) => code)];
  const byCode = groups.map(([code, buckets]) => ({ code, count: buckets.length, first: buckets[0]?.first ?? '' }));
  return byCode.length === 0 ? undefined : byCode.sort((a, b) => b.count - a.count).slice(0, mostCodes);
}

const mostCodes = 10;

/** Describes the uploads. `withPrefix` continues the name of their place. */
export function allUploadsSentences(summary: Summary, withPrefix: SafeText): SafeText {
  const {
    bucket,
    bucketCount = 0,
    buckets: listed = [],
    totalBytes,
    sizedCount,
    unreadBuckets = [],
    isTruncated,
  } = summary;
  const inPart = listed.flatMap((one) => (one.isTruncated === true ? [quoted(one.bucket ?? '', longestName)] : []));
  const buckets = say`${words(isTruncated ? 'the first ' : '')}${counted(bucketCount, 'bucket')}`;
  const where = say`${bucket === undefined ? buckets : say`bucket ${bucket}`}${withPrefix}`;
  const unread = unreadBuckets.map(({ code = '', count = 0, first = '' }) =>
    count === 1 ? say`${first} (${own(code)})` : say`${count} such as ${first} (${own(code)})`,
  );
  const { totalBytes: _, ...withoutBytes } = summary;
  const counts = { ...(sizedCount === undefined ? summary : withoutBytes), oldest: summary.uploads?.[0] };
  return join(
    sentences(
      openUploadsSentences(counts, where, words('oldest first')),
      sizedCount !== undefined &&
        totalBytes !== undefined &&
        say`The ${sizedCount} with a known size have ${bytes(totalBytes)} together.`,
      inPart.length > 0 && say`Read only in part: ${join(inPart, ', ')}. Name such a bucket to read on in it.`,
      unread.length > 0 && say`Buckets that could not be read: ${join(unread, ', ')}.`,
    ),
    ' ',
  );
}
