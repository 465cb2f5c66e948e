import * as z from 'zod';
import { sentences } from '../../util/human.js';
import { withoutUndefined } from '../../util/objects.js';
import { counted, duration, join, type SafeText, say, words } from '../../util/safe-text.js';
import type { Lenient } from '../define-operation.js';
import { like, rare } from '../schema/outputs.js';
import { countNotShown, firstThatFit, notShown } from './shorten-lists.js';

/** A summary of the multipart uploads that are open in a bucket, in a size that does not depend on their number. */

/** An upload as the service lists it. */
export interface OpenUpload {
  readonly object: string;
  readonly uploadId: string;
  /** Should be ISO 8601. */
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

/** The fields of the summary. */
export const openUploadsFields = () => ({
  uploadCount: z.int(),
  olderThanHours: z.int().optional(),
  countOfAnyAge: z.int().optional(),
  oldest: like(shownUpload(), 'object, uploadId, initiated, ageHours').optional(),
  sameObject: z.array(like(sameObject(), 'object, uploads, newestUploadId, newestAgeHours, oldestAgeHours')).optional(),
  byPrefix: z.array(like(z.object({ prefix: z.string(), uploads: z.int() }), 'prefix, uploads')).optional(),
  byInitiator: z.array(like(z.object({ initiator: z.string(), uploads: z.int() }), 'initiator, uploads')).optional(),
  uploads: z
    .array(like(shownUpload(), 'object, uploadId, initiated, ageHours, and initiator where there are several'))
    .describe('the first, by object key'),
  notShown: notShown(),
  checkedAt: z.string().optional(),
  isTruncated: rare(z.boolean().optional()),
  nextKeyMarker: rare(z.string().optional()),
  nextUploadIdMarker: rare(z.string().optional()),
});

type Summary = Lenient<z.output<z.ZodObject<ReturnType<typeof openUploadsFields>>>>;

/** Number of counts that a list shows, and characters of JSON for single uploads, which are about 700 tokens. */
const shownCounts = 10;
const shownCharacters = 1600;
/** More uploads never fit into `shownCharacters`. */
const maximumFirst = 100;
/** More distinct names are not counted. */
const maximumNames = 10_000;

export interface Wanted {
  readonly prefix?: string | undefined;
  readonly olderThanHours?: number | undefined;
}

/** The uploads of one object whose start is known. */
interface OfOneObject {
  readonly oldest: OpenUpload;
  readonly newest: OpenUpload;
  readonly count: number;
}

/** The state of reading. Its size does not depend on the number of uploads. */
export interface OpenUploadsSoFar {
  readonly countOfAnyAge: number;
  /** Number of the wanted uploads. All fields below are about wanted uploads. */
  readonly count: number;
  readonly oldest?: OpenUpload | undefined;
  /** As many as could be shown. */
  readonly first: OpenUpload[];
  /** Number of uploads by folder and by initiator. */
  readonly folders: Map<string, number>;
  readonly initiators: Map<string, number>;
  readonly objects: Map<string, OfOneObject>;
  /** Pages may overlap. */
  readonly onLastPage: ReadonlySet<string>;
  /** Time of the service's last answer. Without it, ages are unknown. */
  readonly checkedAt?: string | undefined;
}

export const noUploads = (): OpenUploadsSoFar => ({
  countOfAnyAge: 0,
  count: 0,
  first: [],
  onLastPage: new Set(),
  folders: new Map(),
  initiators: new Map(),
  objects: new Map(),
});

/**
 * Adds the uploads of a page, each of which counts once.
 * @param checkedAt the time of the service's answer
 */
export function addUploads(
  state: OpenUploadsSoFar,
  page: readonly OpenUpload[],
  { prefix = '', olderThanHours = 0 }: Wanted,
  checkedAt: string | undefined,
): OpenUploadsSoFar {
  const { first, folders, initiators, objects, onLastPage } = state;
  const byId = new Map(page.map((upload) => [JSON.stringify([upload.object, upload.uploadId]), upload]));
  const fresh = [...byId].flatMap(([id, upload]) => (onLastPage.has(id) ? [] : [upload]));
  const isOld = (upload: OpenUpload) => (ageOf(upload, checkedAt) ?? Number.POSITIVE_INFINITY) > olderThanHours * 3600;
  const uploads = olderThanHours === 0 || checkedAt === undefined ? fresh : fresh.filter(isOld);
  let { oldest } = state;
  for (const upload of uploads) {
    if (first.length < maximumFirst) first.push(upload);
    if (startOf(upload) < startOf(oldest)) oldest = upload;
    tally(folders, folderOf(upload.object, prefix));
    if (upload.initiator !== undefined) tally(initiators, upload.initiator);
    addToObject(objects, upload);
  }
  return {
    first,
    folders,
    initiators,
    objects,
    oldest,
    checkedAt,
    countOfAnyAge: state.countOfAnyAge + fresh.length,
    count: state.count + uploads.length,
    onLastPage: new Set(byId.keys()),
  };
}

/** Start of an upload in milliseconds since 1970. An upload without a start counts as the newest. */
function startOf(upload: OpenUpload | undefined): number {
  const time = Date.parse(upload?.initiated ?? '');
  return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time;
}

/** Age in seconds, if known. */
function ageOf({ initiated = '' }: OpenUpload, checkedAt = ''): number | undefined {
  const age = (Date.parse(checkedAt) - Date.parse(initiated)) / 1000;
  return Number.isNaN(age) ? undefined : age;
}

/** Counts a name. One name above the maximum is kept, to show that there are too many. */
function tally(counts: Map<string, number>, name: string): void {
  if (counts.size <= maximumNames) counts.set(name, (counts.get(name) ?? 0) + 1);
}

function addToObject(objects: Map<string, OfOneObject>, upload: OpenUpload): void {
  const start = startOf(upload);
  if (!Number.isFinite(start)) return;
  const { oldest, newest, count } = objects.get(upload.object) ?? { oldest: upload, newest: upload, count: 0 };
  // Uploads come in the order of their keys, so that none is to be expected of an object that was passed.
  if (count === 0 && objects.size >= maximumNames)
    for (const [object, one] of objects) if (one.count === 1) objects.delete(object);
  if (count === 0 && objects.size >= maximumNames) return;
  objects.set(upload.object, {
    oldest: start < startOf(oldest) ? upload : oldest,
    newest: start > startOf(newest) ? upload : newest,
    count: count + 1,
  });
}

/** A key up to its next slash after the prefix. */
function folderOf(object: string, prefix: string): string {
  const end = object.indexOf('/', prefix.length);
  return end < 0 ? prefix : object.slice(0, end + 1);
}

/** The summary of all pages. */
export function summariseOpen(state: OpenUploadsSoFar, { olderThanHours }: Wanted) {
  const { countOfAnyAge, count, oldest, first, checkedAt } = state;
  const hoursOf = (upload: OpenUpload) => {
    const seconds = ageOf(upload, checkedAt);
    return seconds === undefined ? undefined : Math.max(0, Math.floor(seconds / 3600));
  };
  const shown = ({ initiator, ...upload }: OpenUpload) =>
    withoutUndefined({
      ...upload,
      ageHours: hoursOf(upload),
      initiator: state.initiators.size > 1 ? initiator : undefined,
    });
  const several = [...state.objects].filter(([, { count }]) => count > 1).sort(([, a], [, b]) => b.count - a.count);
  const sameObject = several.slice(0, shownCounts / 2).map(([object, { oldest, newest, count }]) =>
    withoutUndefined({
      object,
      uploads: count,
      newestUploadId: newest.uploadId,
      newestAgeHours: hoursOf(newest),
      oldestAgeHours: hoursOf(oldest),
    }),
  );
  const folders = mostFirst(state.folders);
  const initiators = mostFirst(state.initiators);
  const listed = firstThatFit(first.map(shown), shownCharacters);
  return withoutUndefined({
    uploadCount: count,
    olderThanHours,
    countOfAnyAge: olderThanHours === undefined ? undefined : countOfAnyAge,
    oldest: oldest === undefined ? undefined : shown(oldest),
    sameObject: unlessEmpty(sameObject),
    byPrefix: unlessEmpty(someOf(folders).map(([name, uploads]) => ({ prefix: name, uploads }))),
    byInitiator: unlessEmpty(someOf(initiators).map(([initiator, uploads]) => ({ initiator, uploads }))),
    uploads: listed,
    ...countNotShown({
      sameObject: several.length - shownCounts / 2,
      byPrefix: folders.length - shownCounts,
      byInitiator: initiators.length - shownCounts,
      uploads: count - listed.length,
    }),
    checkedAt,
  });
}

const unlessEmpty = <Entry>(entries: readonly Entry[]) => (entries.length === 0 ? undefined : entries);

const someOf = <Entry>(entries: readonly Entry[]) => entries.slice(0, shownCounts);

/** Counts by name, largest first. Empty if there were too many names. */
const mostFirst = (counts: ReadonlyMap<string, number>) =>
  counts.size > maximumNames ? [] : [...counts].sort(([, a], [, b]) => b - a);

/** The summary in sentences. `where` names bucket and prefix. */
export function openUploadsSentences(summary: Summary, where: SafeText): SafeText {
  const { uploadCount = 0, olderThanHours, oldest, uploads = [], checkedAt, isTruncated } = summary;
  return join(
    sentences(
      howMany(summary, where),
      olderThanHours !== undefined &&
        checkedAt === undefined &&
        say`The cloud gave no time, so olderThanHours was not applied.`,
      uploadCount > 1 &&
        oldest?.ageHours !== undefined &&
        say`The oldest${ofThese(isTruncated)}, of ${oldest.object ?? ''}, was started ${ago(oldest.ageHours)}.`,
      ...several(summary),
      ...initiators(summary),
      uploads.length < uploadCount &&
        say`Only the first ${uploads.length} are listed, in the order of their object keys, because all would be too long to read; the counts are of all${words(isTruncated ? ' that were read' : '')}.`,
    ),
    ' ',
  );
}

function howMany(summary: Summary, where: SafeText): SafeText {
  const { uploadCount = 0, olderThanHours: hours, countOfAnyAge = 0, checkedAt, isTruncated } = summary;
  if (isTruncated) return howManySoFar(summary, where);
  if (hours === undefined || checkedAt === undefined)
    return uploadCount === 0
      ? say`No multipart upload is open in ${where}.`
      : say`${counted(uploadCount, 'multipart upload')} ${are(uploadCount)} open in ${where}.`;
  const started = say`started more than ${counted(hours, 'hour')} ago`;
  if (uploadCount === 0)
    return say`No multipart upload in ${where} was ${started}; ${countOfAnyAge} ${are(countOfAnyAge)} open.`;
  return say`${counted(uploadCount, 'multipart upload')} in ${where} ${were(uploadCount)} ${started}, of ${countOfAnyAge} that are open.`;
}

/** For a list that is longer than one call reads. */
function howManySoFar(
  { uploadCount = 0, olderThanHours: hours, countOfAnyAge = 0, checkedAt }: Summary,
  where: SafeText,
): SafeText {
  const more = words('the list goes on where this call ended');
  if (hours === undefined || checkedAt === undefined)
    return say`At least ${counted(uploadCount, 'multipart upload')} ${are(uploadCount)} open in ${where}: ${more}.`;
  return say`Of the first ${counted(countOfAnyAge, 'multipart upload')} in ${where}, ${uploadCount} ${were(uploadCount)} started more than ${counted(hours, 'hour')} ago: ${more}.`;
}

const ago = (hours: number) => (hours === 0 ? words('less than an hour ago') : say`${duration(hours * 3600)} ago`);

const are = (count: number) => words(count === 1 ? 'is' : 'are');
const were = (count: number) => words(count === 1 ? 'was' : 'were');
const ofThese = (isTruncated: boolean | undefined) => words(isTruncated ? ' of these' : '');

function several({ sameObject = [] }: Summary): SafeText[] {
  const [first] = sameObject;
  if (first === undefined) return [];
  const newest =
    first.newestAgeHours === undefined ? words('') : say`; the newest was started ${ago(first.newestAgeHours)}`;
  const others = words(sameObject.length === 1 ? '' : ' So do others: see sameObject.');
  return [say`${first.object ?? ''} has ${first.uploads ?? 0} uploads${newest}.${others}`];
}

function initiators({ uploadCount = 0, byInitiator = [], uploads = [], isTruncated }: Summary): SafeText[] {
  const [first] = byInitiator;
  if (uploadCount === 0) return [];
  if (first === undefined)
    return uploads.some(({ initiator }) => initiator !== undefined)
      ? []
      : [say`The cloud does not say here who started them.`];
  return first.uploads === uploadCount
    ? [say`All${ofThese(isTruncated)} were started by ${first.initiator ?? ''}.`]
    : [];
}
