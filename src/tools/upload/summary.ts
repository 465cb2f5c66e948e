import * as z from 'zod';
import { lazy, withoutUndefined } from '../../util/objects.js';
import { shownAs, unlisted } from '../schema/outputs.js';
import { bytesOf, countOf, gapsBelow, minimumPartSize, type Range, rangesOf, type UploadPart } from './part.js';
import { type AnswerTimes, nowOf } from './read-list.js';

/** This file summarizes a multipart upload by its parts, in a limited size. */

const range = () => shownAs(z.object({ from: z.int(), to: z.int() }), 'from, to');
const count = () => z.int().optional();
const text = () => z.string().optional();

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

/** Measures bytes if they are expected, because parts may differ in size. Parts that have to be sent again do not count. */
function progressOf(
  parts: readonly UploadPart[],
  usable: readonly UploadPart[],
  { expectedBytes, expectedParts }: Expectation,
) {
  if (bytesOf(parts) > (expectedBytes ?? Number.POSITIVE_INFINITY) || hasMoreParts(parts, expectedParts))
    return { hasMore: true } as const;
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
  const known = parts.flatMap(({ uploadedAt }) => (Number.isNaN(uploadedAt) ? [] : uploadedAt)).sort((a, b) => a - b);
  const [first, last] = [known[0], known.at(-1)];
  const now = nowOf(times, last);
  const ofAnswer = { checkedAt: times.answeredAt, timesContradict: now.kind === 'contradicted' ? true : undefined };
  if (first === undefined || last === undefined) return ofAnswer;
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

/**
 * Estimates the pace of an upload by the arrival times of its last parts. Times are milliseconds, sizes are bytes. The rate is of the last
 * 8 to 30 parts, or of the last ten if the upload became slower.
 */
export function paceOf(parts: readonly UploadPart[], now: number, bytesLeft: number | undefined) {
  const arrivals = parts
    .filter(({ uploadedAt }) => !Number.isNaN(uploadedAt))
    .sort((a, b) => a.uploadedAt - b.uploadedAt)
    .slice(-31);
  const last = arrivals.at(-1);
  if (last === undefined) return undefined;
  const idleMs = Math.max(0, now - last.uploadedAt);
  const waits = waitsOf(arrivals);
  // Few parts show nothing for half an hour. More parts show it after two minutes and four times any recent wait.
  const silence = waits.length < 2 ? 1_800_000 : Math.max(120_000, 4 * Math.max(...waits));
  if (idleMs > silence) return { stopped: true } as const;
  if (waits.length < 8) return {};

  const rates = [8, 12, 20, 30].flatMap((count) => rateOf(arrivals.slice(-count - 1)) ?? []);
  // The rate of most parts is the least subject to chance.
  const rate = rates.at(-1);
  if (rate === undefined) return {};
  const [before, lately] = [arrivals.slice(-21, -10), arrivals.slice(-11)];
  const rateBefore = isSlower(waitsOf(before), waitsOf(lately)) ? rateOf(before) : undefined;
  if (rateBefore !== undefined)
    return {
      bytesPerSecond: Math.round(1000 * (rateOf(lately) ?? rate)),
      bytesPerSecondBefore: Math.round(1000 * rateBefore),
    };

  const [longest = 0, second = 0] = [...waits, idleMs].sort((a, b) => b - a);
  const isSteady = longest <= 2 * second + shortestMs;
  const partSize = bytesOf(arrivals) / arrivals.length;
  return {
    bytesPerSecond: Math.round(1000 * rate),
    secondsLeft: isSteady && bytesLeft !== undefined ? secondsLeft(bytesLeft, partSize, rates) : undefined,
  };
}

const waitsOf = (arrivals: readonly UploadPart[]) =>
  arrivals.slice(1).map(({ uploadedAt }, index) => uploadedAt - (arrivals[index]?.uploadedAt ?? uploadedAt));

/** Stores cut times to whole seconds, so a shorter time says little. */
const shortestMs = 5000;

/** Bytes per millisecond, without the first part, whose begin is unknown. */
function rateOf(arrivals: readonly UploadPart[]): number | undefined {
  const [first, ...later] = arrivals;
  const ms = (later.at(-1)?.uploadedAt ?? 0) - (first?.uploadedAt ?? 0);
  const bytes = bytesOf(later);
  // NaN if a size is unknown.
  return ms >= shortestMs && bytes > 0 ? bytes / ms : undefined;
}

/** Compares the median and the sum of ten waits, because parts may arrive in bursts. */
function isSlower(before: readonly number[], lately: readonly number[]): boolean {
  const median = (waits: readonly number[]) => waits.toSorted((a, b) => a - b)[5] ?? 0;
  const sum = (waits: readonly number[]) => waits.reduce((total, wait) => total + wait, 0);
  return before.length === 10 && [median, sum].every((measure) => measure(lately) >= 2 * measure(before));
}

/** A tenth wider than the observed rates, and up to three parts may be nearly sent. Undefined if the range is too wide to be of use. */
function secondsLeft(bytesLeft: number, partSize: number, rates: readonly number[]): Range | undefined {
  const leastLeft = bytesLeft - 3 * partSize;
  if (leastLeft <= 0) return undefined;
  const from = Math.max(1, Math.round(leastLeft / (1.1 * Math.max(...rates)) / 1000));
  const to = Math.max(1, Math.round((1.1 * bytesLeft) / Math.min(...rates) / 1000));
  return to > 3 * from ? undefined : { from, to };
}
