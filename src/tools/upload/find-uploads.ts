import * as z from 'zod';
import { sentences } from '../../util/human.js';
import { groupedBy, lazy, textsAt, withoutUndefined } from '../../util/objects.js';
import { bytes, counted, join, longestName, own, quoted, type SafeText, say, words } from '../../util/safe-text.js';
import type { Lenient, ManyReads, PartialReadEnd } from '../define-operation.js';
import { shownAs, unlisted } from '../schema/outputs.js';
import { type AnswerTimes, firstThatFit, nowOf, storeTime } from './read-list.js';
import { type FoundUpload, foundUpload, type UploadSearch } from './read-uploads.js';
import { hoursAgo } from './sentences.js';

/** This file finds the open multipart uploads of a bucket or of all buckets, and describes them in a limited size. */

const shownUpload = () => shownAs(foundUpload(), 'object, uploadId, initiated, ageHours');
const count = () => z.int().optional();
const flag = () => unlisted(z.boolean().optional());
const marker = () => unlisted(z.string().optional());

/** Schema fields of the uploads of a bucket, or of all. */
export const uploadsFields = () => ({
  bucketCount: unlisted(count()),
  uploadCount: z.int(),
  totalBytes: unlisted(count()),
  /** Uploads whose size is known, if not all. */
  sizedCount: unlisted(count()),
  olderThanHours: count(),
  countOfAnyAge: count(),
  oldest: shownUpload().optional(),
  buckets: z
    .array(
      z.object({
        bucket: z.string(),
        uploadCount: z.int(),
        totalBytes: count(),
        oldestHours: count(),
        isTruncated: z.boolean().optional(),
      }),
    )
    .describe('those with most, if several were read')
    .optional(),
  uploads: z.array(shownUpload()).describe('the first, by object key'),
  unknownAgeCount: count(),
  unknownAge: z.array(shownUpload()).optional(),
  checkedAt: z.string().optional(),
  timesContradict: flag(),
  mayHaveMore: flag(),
  isTruncated: flag(),
  nextKeyMarker: marker(),
  nextUploadIdMarker: marker(),
  unreadBuckets: unlisted(z.array(z.object({ code: z.string(), count: z.int(), first: z.string() })).optional()),
  nextBucketMarker: marker(),
});

type Summary = Lenient<z.output<z.ZodObject<ReturnType<typeof uploadsFields>>>> & {
  readonly bucket?: string | undefined;
};

/** The read of one bucket. Fields are absent if the read was not this server's. */
const ofBucket = lazy(() => z.object(uploadsFields()).partial());
type UploadsOfBucket = z.output<ReturnType<typeof ofBucket>> & { readonly bucket?: string | undefined };

export const foundUploads = (record: Readonly<Record<string, unknown>>): readonly FoundUpload[] =>
  ofBucket().parse({ uploads: record.uploads }).uploads ?? [];

/** True if one list answers the call, in the order of object keys. The uploads of several lists are in the order of their age. */
export const isOneList = ({ bucket, withSizes }: UploadSearch): boolean => bucket !== undefined && withSizes !== true;

/** Reads the uploads of a bucket, or of all buckets after `bucketMarker`. */
export function* findUploads(search: UploadSearch): ManyReads {
  const { bucket, withSizes, bucketMarker = '', ...input } = search;
  const { region } = input;
  const tool = 'list_multipart_uploads';
  const [listing] = bucket === undefined ? yield [{ tool, input: { region } }] : [];
  const list = recordOf(listing);
  const isAfterMarker = (name: string) => name > bucketMarker;
  // Not all stores sort the names.
  const all = bucket === undefined ? textsAt(list, 'buckets[].bucket').filter(isAfterMarker).sort() : [bucket];
  const ends = yield all.map((name) => ({ tool, input: { ...input, bucket: name } }));
  const gap = startOfGap(ends);
  const names = gap < 0 ? all : all.slice(0, gap);
  const read = names.flatMap((name, index): UploadsOfBucket[] =>
    ends[index]?.kind === 'read' ? [{ ...ofBucket().parse(recordOf(ends[index])), bucket: name }] : [],
  );
  const found = read
    .flatMap(({ bucket, uploads = [] }) => uploads.map((upload): FoundUpload => ({ bucket, ...upload })))
    .sort((a, b) => startOf(a) - startOf(b));

  // Each costs a request, so only the 1,000 oldest are measured.
  const measured = withSizes === true ? found.slice(0, 1000) : [];
  const sizes = yield measured.map(({ bucket, object, uploadId }) => ({
    tool: 'list_parts',
    input: { bucket, object, uploadId, region },
  }));
  const uploads = found.map((upload, index): FoundUpload => ({ ...upload, ...sizeIn(recordOf(sizes[index])) }));

  const isTruncated = gap >= 0 || list.mayHaveMore === true;
  return (isWhole) =>
    summariseUploads(read, uploads, search, isWhole, {
      unreadBuckets: refusals(names, ends),
      isTruncated: isTruncated || undefined,
      nextBucketMarker: (isTruncated && (names.at(-1) ?? bucketMarker)) || undefined,
    });
}

const recordOf = (end: PartialReadEnd | undefined) => (end?.kind === 'read' ? end.record : {});

/**
 * The index of the first bucket that was not read, or only in part. The next call goes on from there, so what was read after it is left out.
 * The first bucket stays even in part, because a next call would read no more of it.
 */
function startOfGap(ends: readonly PartialReadEnd[]): number {
  const stopped = ends.findIndex(({ kind }) => kind === 'stopped');
  const isWhole = (end: PartialReadEnd) => recordOf(end).isTruncated !== true;
  return stopped < 0 ? stopped : Math.max(ends.slice(0, stopped).findLastIndex(isWhole), Math.min(stopped - 1, 0)) + 1;
}

/** Uploads of unknown age come last. */
const startOf = ({ ageHours, initiated }: FoundUpload): number =>
  (ageHours === undefined ? undefined : storeTime(initiated)) ?? Number.MAX_VALUE;

/** Gives no size if some parts may be missing. */
function sizeIn({ totalBytes, idleSeconds, stopped, isTruncated, mayHaveMore }: Readonly<Record<string, unknown>>) {
  if (typeof totalBytes !== 'number' || isTruncated === true || mayHaveMore === true) return {};
  return { size: totalBytes, ...(idleSeconds !== undefined && stopped !== true && { isReceiving: true as const }) };
}

function refusals(names: readonly string[], ends: readonly PartialReadEnd[]) {
  const refused = names.flatMap((name, index) => {
    const end = ends[index];
    return end?.kind === 'refused' ? { name, code: end.code } : [];
  });
  const byCode = [...groupedBy(refused, ({ code }) => code)].map(([code, buckets]) => ({
    code,
    count: buckets.length,
    first: buckets[0]?.name ?? '',
  }));
  return byCode.length === 0 ? undefined : byCode.sort((a, b) => b.count - a.count).slice(0, 10);
}

/** Adds the ages, and leaves out what may be younger than `olderThanHours`. `times` belong to the last answer. */
export function withAges(all: readonly FoundUpload[], times: AnswerTimes, olderThanHours: number | undefined) {
  const newest = all.reduce((latest, { initiated }) => Math.max(latest, storeTime(initiated) ?? 0), 0);
  const now = nowOf(times, newest);
  // Without a time that can be trusted, no age is known.
  const hoursSince = ({ initiated }: FoundUpload) =>
    now.kind === 'known' ? (now.ms - (storeTime(initiated) ?? Number.NaN)) / 3_600_000 : Number.NaN;
  const aged = all.map((upload): FoundUpload => {
    const hours = hoursSince(upload);
    return Number.isNaN(hours) ? upload : { ...upload, ageHours: Math.max(0, Math.floor(hours)) };
  });
  return {
    uploads: olderThanHours === undefined ? aged : aged.filter((upload) => hoursSince(upload) > olderThanHours),
    countOfAnyAge: all.length,
    unknownAge: aged.filter(({ ageHours }) => ageHours === undefined),
    checkedAt: times.answeredAt,
    timesContradict: now.kind === 'contradicted' ? true : undefined,
  };
}

/** Summarizes `uploads`, which are in the order of the answer. */
export function summariseUploads(
  reads: readonly UploadsOfBucket[],
  uploads: readonly FoundUpload[],
  search: UploadSearch,
  isWhole: boolean | undefined,
  ending: Partial<Summary>,
) {
  const { bucket, prefix, olderThanHours } = search;
  const isOne = isOneList(search);
  // In characters of JSON: of one list about 700 tokens, otherwise together about 600.
  const limits = isOne ? { uploads: 1600, unknownAge: 1600 } : { uploads: 1100, unknownAge: 300 };
  const cut = <Entry>(list: readonly Entry[], limit: number) => (isWhole ? [...list] : firstThatFit(list, limit));
  const isFiltered = olderThanHours !== undefined;
  const unknownAge = reads.flatMap((read) => read.unknownAge ?? []);
  const oldest = isOne ? uploads.toSorted((a, b) => startOf(a) - startOf(b))[0] : undefined;
  const sizes = sizesOf(uploads);
  return withoutUndefined({
    bucket,
    prefix,
    bucketCount: isOne ? undefined : reads.length,
    uploadCount: uploads.length,
    // Stores give all sizes of a list or none, so some show nothing.
    ...(isOne && sizes.sizedCount !== undefined ? {} : sizes),
    olderThanHours,
    countOfAnyAge: isFiltered ? reads.reduce((sum, read) => sum + (read.countOfAnyAge ?? 0), 0) : undefined,
    oldest: oldest?.ageHours === undefined ? undefined : oldest,
    buckets: isOne ? undefined : cut(worstBuckets(reads, uploads), 500),
    uploads: cut(uploads, limits.uploads),
    unknownAgeCount: unknownAge.length || undefined,
    unknownAge: isFiltered && unknownAge.length > 0 ? cut(unknownAge, limits.unknownAge) : undefined,
    checkedAt: isOne ? reads[0]?.checkedAt : undefined,
    timesContradict: reads.some((read) => read.timesContradict) || undefined,
    mayHaveMore: (!isOne && reads.some(hasMore)) || undefined,
    ...ending,
  });
}

/** The bytes of the uploads whose size is known, and their number if it is not all of them. */
export function sizesOf(uploads: readonly FoundUpload[]): Pick<Summary, 'totalBytes' | 'sizedCount'> {
  const sizes = uploads.flatMap(({ size = -1 }) => (size < 0 ? [] : size));
  if (sizes.length === 0) return {};
  const totalBytes = sizes.reduce((sum, size) => sum + size, 0);
  return { totalBytes, ...(sizes.length < uploads.length && { sizedCount: sizes.length }) };
}

const hasMore = ({ isTruncated, mayHaveMore }: UploadsOfBucket) => isTruncated === true || mayHaveMore === true;

/** Those that were read in part first, then those with most bytes, then those with most uploads. */
function worstBuckets(reads: readonly UploadsOfBucket[], all: readonly FoundUpload[]) {
  const uploadsOf = groupedBy(all, ({ bucket = '' }) => bucket);
  return reads
    .map((read) => {
      const { bucket = '' } = read;
      const uploads = uploadsOf.get(bucket) ?? [];
      const { totalBytes } = sizesOf(uploads);
      const [oldest] = uploads;
      const facts = { totalBytes, oldestHours: oldest?.ageHours, isTruncated: hasMore(read) || undefined };
      return withoutUndefined({ bucket, uploadCount: uploads.length, ...facts });
    })
    .filter(({ uploadCount, isTruncated }) => uploadCount > 0 || isTruncated)
    .sort(
      (a, b) =>
        Number(b.isTruncated ?? false) - Number(a.isTruncated ?? false) ||
        (b.totalBytes ?? 0) - (a.totalBytes ?? 0) ||
        b.uploadCount - a.uploadCount,
    );
}

/** Describes the uploads. `withPrefix` continues the name of their place. */
export function uploadsSentences(summary: Summary, withPrefix: SafeText): SafeText {
  const {
    bucket,
    bucketCount,
    uploadCount = 0,
    uploads = [],
    unknownAgeCount = 0,
    isTruncated,
    buckets = [],
  } = summary;
  const { oldest = uploads[0], unreadBuckets = [], olderThanHours } = summary;
  const isPartial = isTruncated || summary.mayHaveMore;
  const inBuckets = say`${words(isTruncated ? 'the first ' : '')}${counted(bucketCount ?? 0, 'bucket')}`;
  const order = words(bucketCount === undefined ? 'in the order of their object keys' : 'oldest first');
  const inPart = buckets.flatMap((read) => (read.isTruncated ? [quoted(read.bucket ?? '', longestName)] : []));
  const unread = unreadBuckets.map(({ code = '', count = 0, first = '' }) =>
    count === 1 ? say`${first} (${own(code)})` : say`${count} such as ${first} (${own(code)})`,
  );
  return join(
    sentences(
      countSentence(summary, say`${bucket === undefined ? inBuckets : say`bucket ${bucket}`}${withPrefix}`),
      sizeSentence(summary),
      summary.timesContradict === true &&
        say`The times of the uploads, of the answer and of this machine differ by more than 15 minutes, so no age is given.`,
      unknownAgeCount > 0 &&
        say`Age unknown: ${counted(unknownAgeCount, 'upload')}${words(olderThanHours === undefined ? '' : ', and not among the old ones')}.`,
      uploadCount > 1 &&
        oldest?.ageHours !== undefined &&
        say`The oldest${words(isPartial ? ' of these' : '')}, of ${oldest.object ?? ''}, was started ${hoursAgo(oldest.ageHours)}.`,
      // The counts of an incomplete list are only of the uploads that were read.
      uploads.length < uploadCount &&
        say`Only the first ${uploads.length} are listed, ${order}, because all would be too long to read; the counts are of ${words(isPartial ? 'all that were read' : 'all')}.`,
      inPart.length > 0 && say`Read only in part: ${join(inPart, ', ')}. Name such a bucket to read on in it.`,
      unread.length > 0 && say`Buckets that could not be read: ${join(unread, ', ')}.`,
    ),
    ' ',
  );
}

function sizeSentence({ uploadCount, totalBytes, sizedCount }: Summary): SafeText | false {
  if (totalBytes === undefined) return false;
  return sizedCount === undefined
    ? say`${words(uploadCount === 1 ? 'It has' : 'Together they have')} ${bytes(totalBytes)}.`
    : say`The ${sizedCount} with a known size have ${bytes(totalBytes)} together.`;
}

function countSentence(summary: Summary, where: SafeText): SafeText {
  const { uploadCount = 0, olderThanHours: hours, countOfAnyAge = 0, isTruncated, mayHaveMore } = summary;
  const ending = words(
    isTruncated ? ': the list goes on where this call ended' : mayHaveMore ? ': more may follow' : '',
  );
  const isPartial = isTruncated || mayHaveMore;
  const uploads = counted(uploadCount, 'multipart upload');
  const [are, were] = uploadCount === 1 ? [words('is'), words('was')] : [words('are'), words('were')];
  if (hours === undefined) {
    if (isPartial) return say`At least ${uploads} ${are} open in ${where}${ending}.`;
    return uploadCount === 0 ? say`No multipart upload is open in ${where}.` : say`${uploads} ${are} open in ${where}.`;
  }

  const started = say`started more than ${counted(hours, 'hour')} ago`;
  const of = isPartial ? say`of the first ${countOfAnyAge} that were read` : say`of ${countOfAnyAge} that are open`;
  return uploadCount === 0
    ? say`No multipart upload in ${where} is known to have been ${started}, ${of}${ending}.`
    : say`${uploads} in ${where} ${were} ${started}, ${of}${ending}.`;
}
