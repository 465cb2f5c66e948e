import * as z from 'zod';
import { sentences } from '../../util/human.js';
import { withoutUndefined } from '../../util/objects.js';
import { bytes, counted, duration, join, type SafeText, say, words } from '../../util/safe-text.js';
import type { Lenient } from '../define-operation.js';
import { shownAs, unlisted } from '../schema/outputs.js';
import { type AnswerTimes, firstThatFit, nowOf, storeTime } from './read-list.js';

/** This file summarizes the open multipart uploads of a bucket, in a limited size. */

/** An open upload, as the service lists it. */
export interface OpenUpload {
  readonly object: string;
  readonly uploadId: string;
  /** It should be ISO 8601, but may be any text. */
  readonly initiated?: string | undefined;
  /** In bytes. Few stores give it. */
  readonly size?: number | undefined;
}

const shownUpload = () =>
  shownAs(
    z.object({
      bucket: z.string().optional(),
      object: z.string(),
      uploadId: z.string(),
      initiated: z.string().optional(),
      ageHours: z.int().optional(),
      size: z.int().optional(),
      isReceiving: z.literal(true).optional(),
    }),
    'object, uploadId, initiated, ageHours',
  );

/** Schema fields of the summary of open uploads. */
export const openUploadsFields = () => ({
  uploadCount: z.int(),
  totalBytes: unlisted(z.int().optional()),
  olderThanHours: z.int().optional(),
  countOfAnyAge: z.int().optional(),
  oldest: shownUpload().optional(),
  uploads: z.array(shownUpload()).describe('the first, by object key'),
  unknownAgeCount: z.int().optional(),
  unknownAge: z.array(shownUpload()).optional(),
  checkedAt: z.string().optional(),
  timesContradict: unlisted(z.boolean().optional()),
  mayHaveMore: unlisted(z.boolean().optional()),
  isTruncated: unlisted(z.boolean().optional()),
  nextKeyMarker: unlisted(z.string().optional()),
  nextUploadIdMarker: unlisted(z.string().optional()),
});

type Summary = Lenient<z.output<z.ZodObject<ReturnType<typeof openUploadsFields>>>>;

/** Length limit of each list in characters of JSON, about 700 tokens. */
const maximumCharacters = 1600;

/** Makes the summary of the uploads that were read. `times` are those of the last answer. */
export function summariseOpen(
  all: readonly OpenUpload[],
  times: AnswerTimes,
  olderThanHours: number | undefined,
  isWhole = false,
) {
  const started = all.map((upload) => ({ upload, startMs: storeTime(upload.initiated) ?? Number.NaN }));
  const dated = started.filter(({ startMs }) => !Number.isNaN(startMs)).sort((a, b) => a.startMs - b.startMs);
  const now = nowOf(times, dated.at(-1)?.startMs);
  // Without a time that can be trusted, no age is known.
  const nowMs = now.kind === 'known' ? now.ms : Number.NaN;
  const hoursOf = (startMs: number) => (nowMs - startMs) / 3_600_000;
  const undated = started.filter(({ startMs }) => Number.isNaN(hoursOf(startMs)));
  const isFiltered = olderThanHours !== undefined;
  const shown = isFiltered ? started.filter(({ startMs }) => hoursOf(startMs) > olderThanHours) : started;

  const describe = ({ upload, startMs }: (typeof started)[number]) => {
    const hours = Math.max(0, Math.floor(hoursOf(startMs)));
    return withoutUndefined({ ...upload, ageHours: Number.isNaN(hours) ? undefined : hours });
  };
  const listOf = (uploads: typeof started) => {
    const described = uploads.map(describe);
    return isWhole ? described : firstThatFit(described, maximumCharacters);
  };
  // NaN if the size of an upload is unknown.
  const totalBytes = shown.reduce((sum, { upload: { size = -1 } }) => sum + (size < 0 ? Number.NaN : size), 0);
  const oldest = Number.isNaN(nowMs) || shown.length === 0 ? undefined : dated[0];
  return withoutUndefined({
    uploadCount: shown.length,
    totalBytes: shown.length > 0 && totalBytes >= 0 ? totalBytes : undefined,
    olderThanHours,
    countOfAnyAge: isFiltered ? all.length : undefined,
    oldest: oldest && describe(oldest),
    uploads: listOf(shown),
    unknownAgeCount: undated.length === 0 ? undefined : undated.length,
    unknownAge: isFiltered && undated.length > 0 ? listOf(undated) : undefined,
    checkedAt: times.answeredAt,
    timesContradict: now.kind === 'contradicted' ? true : undefined,
  });
}

/** Describes the summary. `where` names bucket and prefix, and `order` continues "listed, ". */
export function openUploadsSentences(
  summary: Summary,
  where: SafeText,
  order = words('in the order of their object keys'),
): SafeText {
  const { uploadCount = 0, totalBytes, uploads = [], isTruncated, mayHaveMore, timesContradict } = summary;
  // The counts of an incomplete list are only of the uploads that were read.
  const whichAll = words(isTruncated || mayHaveMore ? 'all that were read' : 'all');
  return join(
    sentences(
      countSentence(summary, where),
      totalBytes !== undefined &&
        say`${words(uploadCount === 1 ? 'It has' : 'Together they have')} ${bytes(totalBytes)}.`,
      timesContradict === true &&
        say`The times of the uploads, of the answer and of this machine differ by more than 15 minutes, so no age is given.`,
      unknownAgeSentence(summary),
      oldestSentence(summary),
      uploads.length < uploadCount &&
        say`Only the first ${uploads.length} are listed, ${order}, because all would be too long to read; the counts are of ${whichAll}.`,
    ),
    ' ',
  );
}

function countSentence(summary: Summary, where: SafeText): SafeText {
  const { uploadCount = 0, olderThanHours: hours, countOfAnyAge = 0, isTruncated, mayHaveMore } = summary;
  const isPartial = isTruncated || mayHaveMore;
  const more = isTruncated ? say`: the list goes on where this call ended` : say`: more may follow`;
  const ending = isPartial ? more : words('');
  if (hours === undefined) {
    const uploads = counted(uploadCount, 'multipart upload');
    if (isPartial) return say`At least ${uploads} ${are(uploadCount)} open in ${where}${ending}.`;
    return uploadCount === 0
      ? say`No multipart upload is open in ${where}.`
      : say`${uploads} ${are(uploadCount)} open in ${where}.`;
  }

  const started = say`started more than ${counted(hours, 'hour')} ago`;
  const of = isPartial ? say`of the first ${countOfAnyAge} that were read` : say`of ${countOfAnyAge} that are open`;
  return uploadCount === 0
    ? say`No multipart upload in ${where} is known to have been ${started}, ${of}${ending}.`
    : say`${counted(uploadCount, 'multipart upload')} in ${where} ${were(uploadCount)} ${started}, ${of}${ending}.`;
}

const are = (count: number) => words(count === 1 ? 'is' : 'are');
const were = (count: number) => words(count === 1 ? 'was' : 'were');

function unknownAgeSentence({ unknownAgeCount = 0, olderThanHours }: Summary): SafeText | false {
  if (unknownAgeCount === 0) return false;
  const apart = olderThanHours === undefined ? words('') : words(', and not among the old ones');
  return say`Age unknown: ${counted(unknownAgeCount, 'upload')}${apart}.`;
}

function oldestSentence({ oldest, uploadCount = 0, isTruncated, mayHaveMore }: Summary): SafeText | false {
  if (uploadCount < 2 || oldest?.ageHours === undefined) return false;
  const ofThese = words(isTruncated || mayHaveMore ? ' of these' : '');
  return say`The oldest${ofThese}, of ${oldest.object ?? ''}, was started ${hoursAgo(oldest.ageHours)}.`;
}

/** A time by its age: `3 h ago`. */
export const hoursAgo = (hours: number): SafeText =>
  hours === 0 ? words('less than an hour ago') : say`${duration(hours * 3600)} ago`;
