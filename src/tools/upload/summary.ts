import * as z from 'zod';
import { lazy, withoutUndefined } from '../../util/objects.js';
import { shownAs, unlisted } from '../schema/outputs.js';
import { type AnswerTimes, nowOf } from './clocks.js';
import { paceOf } from './pace.js';
import { bytesOf, countOf, gapsBelow, minimumPartSize, rangesOf, type UploadPart } from './part.js';

/** This file summarizes a multipart upload by its parts, in a limited size. */

const range = () => shownAs(z.object({ from: z.int(), to: z.int() }), 'from, to');
const count = () => z.int().optional();
const text = () => z.string().optional();

/** The fields of a summary, for a schema. */
export const summaryFields = lazy(() => ({
  partCount: count(),
  highestPart: count(),
  totalBytes: count(),
  missing: z.array(range()).describe('numbers below highestPart').optional(),
  missingCount: unlisted(count()),
  /** True if the list of uploads has an upload without parts. */
  isListed: z.boolean().optional(),
  ageHours: unlisted(count()),
  sinceFirstSeconds: unlisted(count()),
  lastUploadedAt: text(),
  checkedAt: text(),
  timesContradict: unlisted(z.boolean().optional()),
  idleSeconds: count(),
  stopped: z.boolean().optional(),
  bytesPerSecond: count(),
  bytesPerSecondBefore: unlisted(count()),
  expectedBytes: unlisted(count()),
  expectedParts: unlisted(count()),
  /** Stored parts that have to be sent again. */
  tooSmallCount: unlisted(count()),
  hasMore: unlisted(z.boolean().optional()).describe('more than expected'),
  percent: z.number().optional(),
  secondsLeft: range().optional(),
}));

/** The size of the complete upload, if the caller knows it. */
export interface Expectation {
  readonly expectedBytes?: number | undefined;
  readonly expectedParts?: number | undefined;
}

const maximumRanges = 12;

/** Summarizes the parts of an upload. Of parts with the same number, the last one counts. */
export function summarise(listed: readonly UploadPart[], expectation: Expectation, times: AnswerTimes) {
  const parts = [...new Map(listed.map((part) => [part.partNumber, part])).values()];
  parts.sort((a, b) => a.partNumber - b.partNumber);
  const small = tooSmallParts(parts, expectation);
  const usable = parts.filter((part) => !small.includes(part));
  const { hasMore, percent, bytesLeft } = progressOf(parts, usable, expectation);
  const missing = gapsBelow(rangesOf(parts.map(({ partNumber }) => partNumber)));
  return withoutUndefined({
    ...countParts(parts),
    ...(missing.length > 0 && { missing: missing.slice(0, maximumRanges), missingCount: countOf(missing) }),
    ...(small.length > 0 && { tooSmallCount: small.length }),
    ...expectation,
    hasMore,
    percent,
    ...timeFields(parts, times, bytesLeft),
  });
}

/** Summarizes the beginning of a list, which shows neither gaps nor progress nor pace. */
export const summariseBeginning = (listed: readonly UploadPart[]) => withoutUndefined(countParts(listed));

function countParts(parts: readonly UploadPart[]) {
  const totalBytes = bytesOf(parts);
  return {
    partCount: parts.length,
    highestPart: parts.at(-1)?.partNumber,
    // NaN if a size is unknown.
    totalBytes: totalBytes >= 0 ? totalBytes : undefined,
  };
}

/** Only the last part of an upload may be small. */
function tooSmallParts(parts: readonly UploadPart[], { expectedParts = 0 }: Expectation): readonly UploadPart[] {
  const last = Math.max(expectedParts, parts.at(-1)?.partNumber ?? 0);
  return parts.filter(({ partNumber, size }) => size < minimumPartSize && partNumber < last);
}

interface Progress {
  readonly hasMore?: true;
  readonly percent?: number;
  readonly bytesLeft?: number;
}

/** Measures bytes if they are expected, because parts may differ in size. Parts that have to be sent again do not count. */
function progressOf(
  parts: readonly UploadPart[],
  usable: readonly UploadPart[],
  { expectedBytes, expectedParts }: Expectation,
): Progress {
  if (bytesOf(parts) > (expectedBytes ?? Number.POSITIVE_INFINITY) || hasMoreParts(parts, expectedParts))
    return { hasMore: true };
  const bytes = bytesOf(usable);
  if (Number.isNaN(bytes)) return {};
  if (expectedBytes !== undefined)
    return { percent: percentOf(bytes, expectedBytes), bytesLeft: expectedBytes - bytes };
  if (expectedParts === undefined) return {};
  const bytesLeft = ((expectedParts - usable.length) * bytes) / Math.max(1, usable.length);
  return { percent: percentOf(usable.length, expectedParts), bytesLeft };
}

/** A high number alone shows nothing if a client leaves numbers out. */
function hasMoreParts(parts: readonly UploadPart[], expectedParts = Number.POSITIVE_INFINITY): boolean {
  const ranges = rangesOf(parts.map(({ partNumber }) => partNumber));
  const leavesNumbersOut = ranges.every(({ from, to }) => from === to);
  return parts.length > expectedParts || (!leavesNumbersOut && (ranges.at(-1)?.to ?? 0) > expectedParts);
}

/** Rounded down, so that 100 means complete. */
const percentOf = (done: number, expected: number) =>
  expected === 0 ? 100 : Math.floor((done / expected) * 1000) / 10;

/** If the clocks contradict each other, only the times are left. */
function timeFields(parts: readonly UploadPart[], times: AnswerTimes, bytesLeft: number | undefined) {
  const known = parts.map(({ uploadedAt }) => uploadedAt).filter((time) => !Number.isNaN(time));
  const first = known.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
  const last = known.reduce((most, time) => Math.max(most, time), Number.NEGATIVE_INFINITY);
  const now = nowOf(times, known.length === 0 ? undefined : last);
  const ofAnswer = { checkedAt: times.answeredAt, timesContradict: now.kind === 'contradicted' ? true : undefined };
  if (known.length === 0) return ofAnswer;
  const ofParts = { ...ofAnswer, lastUploadedAt: new Date(last).toISOString() };
  if (now.kind !== 'known') return ofParts;

  const secondsSince = (time: number) => Math.max(0, Math.round((now.ms - time) / 1000));
  return {
    ...ofParts,
    sinceFirstSeconds: secondsSince(first),
    idleSeconds: secondsSince(last),
    // A complete upload has no rate.
    ...(bytesLeft !== 0 && paceOf(parts, now.ms, bytesLeft)),
  };
}
