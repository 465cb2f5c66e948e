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

/** The rate is that of the last 8 to 30 parts, because older parts say nothing about now. */
const fewestParts = 8;
const mostParts = 30;
/** Stores cut times to whole seconds, so a shorter time says little. */
const shortestMs = 5000;
/** The range of rates goes beyond the observed rates by this factor. */
const margin = 1.1;
/** A wait this many times the second longest is a pause. */
const pauseFactor = 2;
/** Parts that may be in flight and nearly sent. */
const partsInFlight = 3;
/** A wider range is not given. */
const widestRange = 3;
/** An upload has stopped after two minutes and four times any recent wait; with few parts, after half an hour. */
const stoppedMs = 120_000;
const stoppedFactor = 4;
const stoppedWithFewPartsMs = 1_800_000;
/** An upload is slower if its last ten parts took twice as long as the ten before. */
const partsCompared = 10;
const slowerFactor = 2;

/**
 * Estimates the pace of an upload by the arrival times of its last parts. Times are milliseconds, sizes are bytes. The rate is that of the last
 * parts; of the last ten, if the upload became slower.
 */
export function paceOf(parts: readonly UploadPart[], now: number, bytesLeft: number | undefined) {
  const arrivals = parts
    .filter(({ uploadedAt }) => !Number.isNaN(uploadedAt))
    .sort((a, b) => a.uploadedAt - b.uploadedAt)
    .slice(-mostParts - 1);
  const last = arrivals.at(-1);
  if (last === undefined) return undefined;
  const idleMs = Math.max(0, now - last.uploadedAt);
  const waits = waitsOf(arrivals);
  const longestWait = Math.max(0, ...waits);
  const silence = waits.length < 2 ? stoppedWithFewPartsMs : Math.max(stoppedMs, stoppedFactor * longestWait);
  if (idleMs > silence) return { stopped: true } as const;

  const rates = recentRates(arrivals);
  // The rate of most parts is the least subject to chance.
  const rate = rates.at(-1);
  if (rate === undefined) return {};
  const bytesPerSecondBefore = rateBeforeSlowdown(arrivals);
  const isSlower = bytesPerSecondBefore !== undefined;
  const rateNow = isSlower ? rateOf(arrivals.slice(-partsCompared - 1)) : rate;
  const isSteady = !isSlower && !hasPause([...waits, idleMs]);
  return {
    bytesPerSecond: Math.round(1000 * (rateNow ?? rate)),
    bytesPerSecondBefore,
    secondsLeft: isSteady && bytesLeft !== undefined ? secondsLeft(arrivals, rates, bytesLeft) : undefined,
  };
}

const waitsOf = (arrivals: readonly UploadPart[]) =>
  arrivals.slice(1).map(({ uploadedAt }, index) => uploadedAt - (arrivals[index]?.uploadedAt ?? uploadedAt));

/** Bytes per millisecond, without the first part, whose begin is unknown. */
function rateOf(arrivals: readonly UploadPart[]): number | undefined {
  const [first, ...later] = arrivals;
  const ms = (later.at(-1)?.uploadedAt ?? 0) - (first?.uploadedAt ?? 0);
  const bytes = later.reduce((sum, { size }) => sum + size, 0);
  // NaN if a size is unknown.
  return ms >= shortestMs && bytes > 0 ? bytes / ms : undefined;
}

function recentRates(arrivals: readonly UploadPart[]): number[] {
  const rates: number[] = [];
  for (let count = fewestParts; count < arrivals.length; count += 1) {
    const rate = rateOf(arrivals.slice(-count - 1));
    if (rate !== undefined) rates.push(rate);
  }
  return rates;
}

function hasPause(waits: readonly number[]): boolean {
  const [longest = 0, second = 0] = [...waits].sort((a, b) => b - a);
  return longest > pauseFactor * second + shortestMs;
}

function secondsLeft(arrivals: readonly UploadPart[], rates: readonly number[], bytesLeft: number): Range | undefined {
  const partSize = arrivals.reduce((sum, { size }) => sum + size, 0) / arrivals.length;
  const bytesInFlight = partsInFlight * partSize;
  if (bytesLeft <= bytesInFlight) return undefined;
  const fastest = margin * Math.max(...rates);
  const slowest = Math.min(...rates) / margin;
  const from = Math.max(1, Math.round((bytesLeft - bytesInFlight) / fastest / 1000));
  const to = Math.max(1, Math.round(bytesLeft / slowest / 1000));
  return to > widestRange * from ? undefined : { from, to };
}

/** Compares the median and the sum, because parts may arrive in bursts. */
function rateBeforeSlowdown(arrivals: readonly UploadPart[]): number | undefined {
  const begin = arrivals.length - 1 - partsCompared;
  const before = arrivals.slice(Math.max(0, begin - partsCompared), begin + 1);
  const since = arrivals.slice(begin);
  const rateBefore = rateOf(before);
  if (before.length <= partsCompared || rateBefore === undefined) return undefined;
  const median = (waits: readonly number[]) => [...waits].sort((a, b) => a - b)[Math.floor(waits.length / 2)] ?? 0;
  const sum = (waits: readonly number[]) => waits.reduce((total, wait) => total + wait, 0);
  const isSlower = [median, sum].every((measure) => measure(waitsOf(since)) >= slowerFactor * measure(waitsOf(before)));
  return isSlower ? Math.round(1000 * rateBefore) : undefined;
}
