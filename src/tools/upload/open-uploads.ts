import * as z from 'zod';
import { sentences } from '../../util/human.js';
import { withoutUndefined } from '../../util/objects.js';
import { counted, duration, join, type SafeText, say, words } from '../../util/safe-text.js';
import type { Lenient } from '../define-operation.js';
import { shownAs, unlisted } from '../schema/outputs.js';
import { countNotShown, firstThatFit, notShown } from './shorten-lists.js';

/** This file summarizes the multipart uploads that are open in a bucket. The summary has a limited size, however many uploads there are. */

/** An open upload, as the service lists it. */
export interface OpenUpload {
  readonly object: string;
  readonly uploadId: string;
  /** Start of the upload. The service should give ISO 8601, but it may be any text. */
  readonly initiated?: string | undefined;
  readonly initiator?: string | undefined;
}

const shownUpload = () =>
  z.object({
    object: z.string(),
    uploadId: z.string(),
    initiated: z.string().optional(),
    ageHours: z.int().optional(),
    initiator: z.string().optional(),
  });

const sameObject = () =>
  z.object({
    object: z.string(),
    uploads: z.int(),
    newestUploadId: z.string(),
    newestAgeHours: z.int().optional(),
    oldestAgeHours: z.int().optional(),
  });

/**
 * Schema fields of the summary of open uploads. `shownAs` and `unlisted` shorten the list of tools. `countOfAnyAge` counts the uploads before
 * the filter `olderThanHours`, `sameObject` has the objects with several uploads, and the last three fields are set if the list is longer than
 * one call reads.
 */
export const openUploadsFields = () => ({
  uploadCount: z.int(),
  olderThanHours: z.int().optional(),
  countOfAnyAge: z.int().optional(),
  oldest: shownAs(shownUpload(), 'object, uploadId, initiated, ageHours').optional(),
  sameObject: z
    .array(shownAs(sameObject(), 'object, uploads, newestUploadId, newestAgeHours, oldestAgeHours'))
    .optional(),
  byPrefix: z.array(shownAs(z.object({ prefix: z.string(), uploads: z.int() }), 'prefix, uploads')).optional(),
  byInitiator: z.array(shownAs(z.object({ initiator: z.string(), uploads: z.int() }), 'initiator, uploads')).optional(),
  uploads: z
    .array(shownAs(shownUpload(), 'object, uploadId, initiated, ageHours, and initiator where there are several'))
    .describe('the first, by object key'),
  notShown: notShown(),
  checkedAt: z.string().optional(),
  isTruncated: unlisted(z.boolean().optional()),
  nextKeyMarker: unlisted(z.string().optional()),
  nextUploadIdMarker: unlisted(z.string().optional()),
});

type Summary = Lenient<z.output<z.ZodObject<ReturnType<typeof openUploadsFields>>>>;

/** Length limit of the lists `byPrefix` and `byInitiator`. */
const maximumGroups = 10;
/** Length limit of the list `sameObject`. */
const maximumObjects = 5;
/** Length limit of the list `uploads` in characters of JSON, about 700 tokens. */
const maximumCharacters = 1600;
/** Number of uploads that are kept for the list `uploads`. More would never fit into `maximumCharacters`. */
const maximumFirst = 100;
/** The most folders, initiators and objects that are counted, to limit the memory. */
const maximumCounted = 10_000;

/** Arguments of the call that say which uploads to count. */
export interface UploadFilter {
  readonly prefix?: string | undefined;
  readonly olderThanHours?: number | undefined;
}

/** The uploads of one object, without those whose start is unknown. */
interface UploadsOfObject {
  readonly oldest: OpenUpload;
  readonly newest: OpenUpload;
  readonly count: number;
}

/** The state while the pages are read. Its size is limited, however many uploads there are. */
export interface OpenUploadsSoFar {
  countOfAnyAge: number;
  /**
   * Number of uploads that are old enough for `olderThanHours`. Only these uploads count for `oldest`, `firstUploads`, `folders`, `initiators`
   * and `objects`, too.
   */
  count: number;
  oldest?: OpenUpload;
  /** The first `maximumFirst` uploads. */
  readonly firstUploads: OpenUpload[];
  /** Number of uploads in each folder. */
  readonly folders: Map<string, number>;
  /** Number of uploads that each initiator started. */
  readonly initiators: Map<string, number>;
  readonly objects: Map<string, UploadsOfObject>;
  /** Identities of the uploads on the previous page, which were counted already. Pages may overlap. */
  onPageBefore: ReadonlySet<string>;
  /** Time of the service's last answer (ISO 8601). If it is unknown, so are all ages. */
  checkedAt?: string | undefined;
}

export const noUploads = (): OpenUploadsSoFar => ({
  countOfAnyAge: 0,
  count: 0,
  firstUploads: [],
  onPageBefore: new Set(),
  folders: new Map(),
  initiators: new Map(),
  objects: new Map(),
});

/**
 * Adds the uploads of a page to `state`, and returns it. An upload that is listed twice, or that the page before had too, counts once.
 * @param checkedAt time of the service's answer, from which ages follow
 */
export function addUploads(
  state: OpenUploadsSoFar,
  page: readonly OpenUpload[],
  { prefix = '', olderThanHours = 0 }: UploadFilter,
  checkedAt: string | undefined,
): OpenUploadsSoFar {
  const { firstUploads, folders, initiators, objects, onPageBefore } = state;
  const byIdentity = new Map(page.map((upload) => [JSON.stringify([upload.object, upload.uploadId]), upload]));
  const newOnPage = [...byIdentity].filter(([identity]) => !onPageBefore.has(identity)).map(([, upload]) => upload);
  state.onPageBefore = new Set(byIdentity.keys());
  state.countOfAnyAge += newOnPage.length;
  state.checkedAt = checkedAt;

  // An upload of unknown age counts as old enough, so that it is not hidden. Without the time of the answer, all ages are unknown. If
  // `olderThanHours` is 0, nothing is filtered.
  const isOldEnough = (upload: OpenUpload) => {
    const ageInSeconds = ageOf(upload, checkedAt);
    return olderThanHours === 0 || ageInSeconds === undefined || ageInSeconds > olderThanHours * 3600;
  };

  for (const upload of newOnPage.filter(isOldEnough)) {
    state.count += 1;
    if (firstUploads.length < maximumFirst) firstUploads.push(upload);
    // `startOf` is infinite for an unknown start, so such an upload is never the oldest. Without an oldest upload, it is infinite, too.
    if (startOf(upload) < startOf(state.oldest)) state.oldest = upload;
    countName(folders, folderOf(upload.object, prefix));
    if (upload.initiator !== undefined) countName(initiators, upload.initiator);
    addToObject(objects, upload);
  }
  return state;
}

/** Start of an upload in milliseconds since 1970. Infinity if the start is unknown, or if there is no upload. */
function startOf(upload: OpenUpload | undefined): number {
  const time = Date.parse(upload?.initiated ?? '');
  return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time;
}

/** Age of an upload in seconds; undefined if it is unknown. */
function ageOf({ initiated = '' }: OpenUpload, checkedAt = ''): number | undefined {
  const age = (Date.parse(checkedAt) - Date.parse(initiated)) / 1000;
  return Number.isNaN(age) ? undefined : age;
}

/** Adds one to the count of a name. The map may get one name more than `maximumCounted`, which shows that there are too many names. */
function countName(counts: Map<string, number>, name: string): void {
  if (counts.size <= maximumCounted) counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** Adds an upload, if its start is known, to the uploads of its object. At most `maximumCounted` objects are kept. */
function addToObject(objects: Map<string, UploadsOfObject>, upload: OpenUpload): void {
  const start = startOf(upload);
  if (!Number.isFinite(start)) return;

  const known = objects.get(upload.object);
  if (known !== undefined) {
    objects.set(upload.object, {
      oldest: start < startOf(known.oldest) ? upload : known.oldest,
      newest: start > startOf(known.newest) ? upload : known.newest,
      count: known.count + 1,
    });
    return;
  }

  // The list is sorted by object, so earlier objects get no further upload. Objects with one upload are not shown, so they can be deleted.
  if (objects.size >= maximumCounted) deleteSingleUploads(objects);
  // If all of the objects have several uploads, there is still no room, and the new object is left out.
  if (objects.size < maximumCounted) objects.set(upload.object, { oldest: upload, newest: upload, count: 1 });
}

function deleteSingleUploads(objects: Map<string, UploadsOfObject>): void {
  for (const [object, { count }] of objects) if (count === 1) objects.delete(object);
}

/** The key up to its first slash after the prefix: `backups/2026/` for `backups/2026/a.zip` and the prefix `backups/`. */
function folderOf(object: string, prefix: string): string {
  const end = object.indexOf('/', prefix.length);
  return end < 0 ? prefix : object.slice(0, end + 1);
}

/** Makes the summary from the state after the last page. It has the fields of `openUploadsFields`, without those of an incomplete list. */
export function summariseOpen(state: OpenUploadsSoFar, { olderThanHours }: UploadFilter) {
  const { countOfAnyAge, count: uploadCount, oldest, firstUploads, checkedAt } = state;

  // If one person started all uploads, single uploads do not repeat the name.
  const hasSeveralInitiators = state.initiators.size > 1;
  const uploads = firstThatFit(
    firstUploads.map((upload) => shownUploadOf(upload, checkedAt, hasSeveralInitiators)),
    maximumCharacters,
  );

  const withSeveralUploads = [...state.objects]
    .filter(([, { count }]) => count > 1)
    .sort(([, a], [, b]) => b.count - a.count);
  const sameObject = withSeveralUploads.slice(0, maximumObjects).map(([object, ofObject]) =>
    withoutUndefined({
      object,
      uploads: ofObject.count,
      newestUploadId: ofObject.newest.uploadId,
      newestAgeHours: hoursOf(ofObject.newest, checkedAt),
      oldestAgeHours: hoursOf(ofObject.oldest, checkedAt),
    }),
  );

  const folders = mostFirst(state.folders);
  const initiators = mostFirst(state.initiators);
  const byPrefix = folders.slice(0, maximumGroups).map(([folder, count]) => ({ prefix: folder, uploads: count }));
  const byInitiator = initiators.slice(0, maximumGroups).map(([initiator, count]) => ({ initiator, uploads: count }));

  return withoutUndefined({
    uploadCount,
    olderThanHours,
    countOfAnyAge: olderThanHours === undefined ? undefined : countOfAnyAge,
    oldest: oldest && shownUploadOf(oldest, checkedAt, hasSeveralInitiators),
    sameObject: unlessEmpty(sameObject),
    byPrefix: unlessEmpty(byPrefix),
    byInitiator: unlessEmpty(byInitiator),
    uploads,
    // Negative for a list that was not cut, which `countNotShown` ignores.
    ...countNotShown({
      sameObject: withSeveralUploads.length - maximumObjects,
      byPrefix: folders.length - maximumGroups,
      byInitiator: initiators.length - maximumGroups,
      uploads: uploadCount - uploads.length,
    }),
    checkedAt,
  });
}

/** The upload as the summary shows it. The initiator is named only if uploads have several (`hasSeveralInitiators`). */
const shownUploadOf = (
  { initiator, ...upload }: OpenUpload,
  checkedAt: string | undefined,
  hasSeveralInitiators: boolean,
) =>
  withoutUndefined({
    ...upload,
    ageHours: hoursOf(upload, checkedAt),
    initiator: hasSeveralInitiators ? initiator : undefined,
  });

/** Age of an upload in whole hours; undefined if it is unknown. */
function hoursOf(upload: OpenUpload, checkedAt: string | undefined): number | undefined {
  const seconds = ageOf(upload, checkedAt);
  return seconds === undefined ? undefined : Math.max(0, Math.floor(seconds / 3600));
}

const unlessEmpty = <Entry>(entries: readonly Entry[]) => (entries.length === 0 ? undefined : entries);

/** Names with their counts, largest first. Empty if there are more than `maximumCounted`, because some were not counted. */
const mostFirst = (counts: ReadonlyMap<string, number>) =>
  counts.size > maximumCounted ? [] : [...counts].sort(([, a], [, b]) => b - a);

/** Describes the summary in sentences. `where` names bucket and prefix: `bucket "logs" with keys that begin with "2026/"`. */
export function openUploadsSentences(summary: Summary, where: SafeText): SafeText {
  const { uploadCount = 0, olderThanHours, uploads = [], checkedAt, isTruncated } = summary;
  const isAgeUnknown = olderThanHours !== undefined && checkedAt === undefined;
  // If the list was not read to its end, the counts are only of the uploads that were read.
  const whichAll = words(isTruncated ? 'all that were read' : 'all');
  return join(
    sentences(
      countSentence(summary, where),
      isAgeUnknown && say`The cloud gave no time, so olderThanHours was not applied.`,
      oldestSentence(summary),
      sameObjectSentence(summary),
      initiatorSentence(summary),
      uploads.length < uploadCount &&
        say`Only the first ${uploads.length} are listed, in the order of their object keys, because all would be too long to read; the counts are of ${whichAll}.`,
    ),
    ' ',
  );
}

/** Says how many uploads are open or, with `olderThanHours`, how many of the open uploads are older. */
function countSentence(summary: Summary, where: SafeText): SafeText {
  const { uploadCount = 0, olderThanHours: hours, countOfAnyAge = 0, checkedAt, isTruncated } = summary;
  if (isTruncated) return countSoFar(summary, where);

  // Without the time of the answer (`checkedAt`), no age is known, so `olderThanHours` had no effect, and all open uploads are counted.
  const isFilteredByAge = hours !== undefined && checkedAt !== undefined;
  const uploads = counted(uploadCount, 'multipart upload');
  if (!isFilteredByAge) {
    return uploadCount === 0
      ? say`No multipart upload is open in ${where}.`
      : say`${uploads} ${are(uploadCount)} open in ${where}.`;
  }

  const started = say`started more than ${counted(hours, 'hour')} ago`;
  return uploadCount === 0
    ? say`No multipart upload in ${where} was ${started}; ${countOfAnyAge} ${are(countOfAnyAge)} open.`
    : say`${uploads} in ${where} ${were(uploadCount)} ${started}, of ${countOfAnyAge} that are open.`;
}

/** Says how many uploads were counted in the beginning of a list that is longer than one call reads. */
function countSoFar(summary: Summary, where: SafeText): SafeText {
  const { uploadCount = 0, olderThanHours: hours, countOfAnyAge = 0, checkedAt } = summary;
  const more = words('the list goes on where this call ended');
  const isFilteredByAge = hours !== undefined && checkedAt !== undefined;
  if (!isFilteredByAge) {
    return say`At least ${counted(uploadCount, 'multipart upload')} ${are(uploadCount)} open in ${where}: ${more}.`;
  }
  return say`Of the first ${counted(countOfAnyAge, 'multipart upload')} in ${where}, ${uploadCount} ${were(uploadCount)} started more than ${counted(hours, 'hour')} ago: ${more}.`;
}

const are = (count: number) => words(count === 1 ? 'is' : 'are');
const were = (count: number) => words(count === 1 ? 'was' : 'were');
/** In a list that was not read to its end, a sentence is only about the uploads that were read. */
const ofThese = (isTruncated: boolean | undefined) => words(isTruncated ? ' of these' : '');
const ago = (hours: number) => (hours === 0 ? words('less than an hour ago') : say`${duration(hours * 3600)} ago`);

function oldestSentence({ uploadCount = 0, oldest, isTruncated }: Summary): SafeText | false {
  if (uploadCount < 2 || oldest?.ageHours === undefined) return false;
  return say`The oldest${ofThese(isTruncated)}, of ${oldest.object ?? ''}, was started ${ago(oldest.ageHours)}.`;
}

/** Names the object with the most uploads; false if no object has several. */
function sameObjectSentence({ sameObject = [] }: Summary): SafeText | false {
  const [first] = sameObject;
  if (first === undefined) return false;
  const newest =
    first.newestAgeHours === undefined ? words('') : say`; the newest was started ${ago(first.newestAgeHours)}`;
  const others = words(sameObject.length === 1 ? '' : ' So do others: see sameObject.');
  return say`${first.object ?? ''} has ${first.uploads ?? 0} uploads${newest}.${others}`;
}

/** Says that one person started all uploads, or that the cloud does not say who did; false in all other cases. */
function initiatorSentence(summary: Summary): SafeText | false {
  const { uploadCount = 0, byInitiator = [], uploads = [], isTruncated } = summary;
  if (uploadCount === 0) return false;

  const [first] = byInitiator;
  if (first === undefined) {
    // The list by initiator is also missing if there are too many initiators to count. Then single uploads show them.
    const areInitiatorsShown = uploads.some(({ initiator }) => initiator !== undefined);
    return areInitiatorsShown ? false : say`The cloud does not say here who started them.`;
  }

  if (first.uploads !== uploadCount) return false;
  return say`All${ofThese(isTruncated)} were started by ${first.initiator ?? ''}.`;
}
