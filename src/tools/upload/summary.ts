import * as z from 'zod';
import { once, withoutUndefined } from '../../util/objects.js';
import { like } from '../schema/outputs.js';
import { countNotShown, notShown } from './lists.js';
import { bytesOf, paceOf } from './pace.js';
import type { UploadPart } from './part.js';

/** What the parts of a multipart upload say about it, in a size that does not depend on their number. */

const range = () => z.object({ from: z.int(), to: z.int() });
const ranges = () => z.array(like(range(), 'from, to')).optional();
const sizedRanges = () =>
  z.array(like(range().extend({ partSize: z.int(), bytes: z.int() }), 'from, to, partSize (bytes), bytes')).optional();
const count = () => z.int().optional();

/** The fields of a summary. */
export const summaryFields = once(() => ({
  partCount: count(),
  highestPart: count(),
  totalBytes: count(),
  runs: sizedRanges(),
  missingCount: count(),
  missing: ranges().describe('up to highestPart'),
  toCome: like(range(), 'from, to').optional(),
  tooSmallCount: count(),
  tooSmall: z.array(like(range().extend({ partSize: z.int() }), 'from, to, partSize: send again')).optional(),
  duplicates: ranges(),
  notShown: notShown(),
  firstUploadedAt: z.string().optional(),
  lastUploadedAt: z.string().optional(),
  checkedAt: z.string().optional(),
  idleSeconds: count(),
  stopped: z.boolean().optional(),
  bytesPerSecond: count(),
  bytesPerSecondBeforeStop: count(),
  expectedBytes: count(),
  expectedParts: count(),
  percent: z.number().optional(),
  remainingBytes: count(),
  remainingParts: count(),
  estimatedSecondsLeft: count(),
  secondsLeftIfResumed: count(),
}));

export interface Expectation {
  readonly expectedBytes?: number | undefined;
  readonly expectedParts?: number | undefined;
}

/** Lists longer than this are cut, and what was cut is counted. */
const maximumEntries = 12;

/** Smaller parts, other than the last, make S3-compatible services refuse to complete an upload (not in the reference). */
const minimumPartSize = 5 * 1024 * 1024;

/** Describes an upload. `checkedAt` is the time of the service's answer, in ISO 8601. */
export function summarise(unsorted: readonly UploadPart[], expectation: Expectation, checkedAt: string | undefined) {
  const parts = [...unsorted].sort((a, b) => a.partNumber - b.partNumber);
  const distinct = [...new Map(parts.map((part) => [part.partNumber, part])).values()];
  const numbers = parts.map(({ partNumber }) => partNumber);
  const highestPart = numbers.at(-1);
  const lastPart = lastPartOf(distinct, expectation);
  const small = distinct.filter(
    ({ partNumber, size }) => size < minimumPartSize && partNumber < (lastPart ?? highestPart ?? 0),
  );
  const missing = gaps(numbers);
  const toCome =
    lastPart !== undefined && lastPart > (highestPart ?? 0)
      ? { from: (highestPart ?? 0) + 1, to: lastPart }
      : undefined;
  const runs = equalRuns(parts);
  const tooSmall = equalRuns(small);
  const duplicates = consecutive(numbers.filter((number, index) => number === numbers[index - 1]));
  const { bytesLeft, ...done } = progress(distinct, small, expectation);
  return withoutUndefined({
    partCount: parts.length,
    highestPart,
    totalBytes: bytesOf(parts),
    runs: runs.slice(0, maximumEntries),
    missingCount: countOf(missing),
    missing: firstOf(missing),
    toCome,
    tooSmallCount: small.length,
    tooSmall: firstOf(tooSmall),
    duplicates: firstOf(duplicates),
    ...countNotShown({
      runs: runs.length - maximumEntries,
      missing: missing.length - maximumEntries,
      tooSmall: tooSmall.length - maximumEntries,
      duplicates: duplicates.length - maximumEntries,
    }),
    ...times(parts, checkedAt),
    expectedBytes: expectation.expectedBytes,
    expectedParts: expectation.expectedParts,
    ...done,
    ...speed(distinct, checkedAt, bytesLeft),
  });
}

/** UploadPart numbers from one to another, both included. */
interface Range {
  readonly from: number;
  to: number;
}

/** Consecutive parts of one size, sorted by number: how large each is, and all together. */
function equalRuns(parts: readonly UploadPart[]) {
  const runs: (Range & { readonly partSize: number; bytes: number })[] = [];
  for (const { partNumber, size } of parts) {
    const run = runs.at(-1);
    if (run !== undefined && run.to + 1 === partNumber && run.partSize === size) {
      run.to = partNumber;
      run.bytes += size;
    } else runs.push({ from: partNumber, to: partNumber, partSize: size, bytes: size });
  }
  return runs;
}

/** Sorted numbers as ranges. */
function consecutive(numbers: readonly number[]): Range[] {
  const found: Range[] = [];
  for (const number of numbers) {
    const range = found.at(-1);
    if (range !== undefined && number <= range.to + 1) range.to = number;
    else found.push({ from: number, to: number });
  }
  return found;
}

/** UploadPart numbers below the highest that are not there. Numbering starts at 1. */
const gaps = (numbers: readonly number[]): Range[] =>
  numbers.flatMap((number, index) => {
    const expected = (numbers[index - 1] ?? 0) + 1;
    return number > expected ? [{ from: expected, to: number - 1 }] : [];
  });

/** How many numbers ranges hold. */
export const countOf = (ranges: readonly Range[]): number =>
  ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);

const firstOf = (all: readonly Range[]) => (all.length === 0 ? undefined : all.slice(0, maximumEntries));

/** The number of the last part of the whole object, where it is known: as given, or worked out if all parts are of one size. */
function lastPartOf(parts: readonly UploadPart[], { expectedBytes, expectedParts }: Expectation): number | undefined {
  if (expectedParts !== undefined) return expectedParts;
  const [first] = parts;
  if (expectedBytes === undefined || first === undefined) return undefined;
  const even = parts.slice(0, -1).every(({ size }) => size === first.size) && (parts.at(-1)?.size ?? 0) <= first.size;
  return even && first.size > 0 ? Math.ceil(expectedBytes / first.size) : undefined;
}

/**
 * How far the upload is, measured against what is expected; parts that have to be sent again are left to do. There is none where what
 * is there contradicts the expectation.
 */
function progress(
  parts: readonly UploadPart[],
  small: readonly UploadPart[],
  { expectedBytes, expectedParts }: Expectation,
) {
  const bytes = bytesOf(parts);
  const highest = parts.reduce((top, { partNumber }) => Math.max(top, partNumber), 0);
  const contradicted = highest > (expectedParts ?? highest) || bytes > (expectedBytes ?? bytes);
  if (contradicted || (expectedBytes === undefined && expectedParts === undefined)) return {};
  const good = parts.length - small.length;
  const remainingParts = expectedParts === undefined ? undefined : Math.max(0, expectedParts - good);
  const [done, expected] =
    expectedBytes === undefined ? [good, expectedParts ?? 0] : [bytes - bytesOf(small), expectedBytes];
  return {
    percent: expected === 0 ? 100 : Math.floor((done / expected) * 1000) / 10,
    remainingBytes: expectedBytes === undefined ? undefined : expected - done,
    remainingParts,
    // Without an expected size, parts to come are taken to be as large as those that are there.
    bytesLeft:
      expectedBytes === undefined
        ? Math.round(((remainingParts ?? 0) * bytes) / Math.max(1, parts.length))
        : expected - done,
  };
}

function times(parts: readonly UploadPart[], checkedAt: string | undefined) {
  const known = parts.map(({ uploadedAt }) => uploadedAt).filter((time) => !Number.isNaN(time));
  const [first] = known.sort((a, b) => a - b);
  const last = known.at(-1);
  const isKnown = last !== undefined && checkedAt !== undefined;
  return {
    firstUploadedAt: timeText(first),
    lastUploadedAt: timeText(last),
    checkedAt,
    idleSeconds: isKnown ? Math.max(0, Math.round((Date.parse(checkedAt) - last) / 1000)) : undefined,
  };
}

const timeText = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());

/** The present rate and the time that is left at it, or what they would be if a stopped upload went on. */
function speed(parts: readonly UploadPart[], checkedAt: string | undefined, bytesLeft: number | undefined) {
  if (bytesLeft === 0) return {};
  const pace = paceOf(parts, checkedAt === undefined ? undefined : Date.parse(checkedAt));
  if (pace.kind === 'stopped') {
    const { bytesPerSecondBefore: before } = pace;
    return {
      stopped: true,
      bytesPerSecondBeforeStop: before,
      secondsLeftIfResumed: before && bytesLeft !== undefined ? Math.ceil(bytesLeft / before) : undefined,
    };
  }
  const rate = pace.kind === 'live' ? pace.rate : undefined;
  return {
    bytesPerSecond: rate?.bytesPerSecond,
    estimatedSecondsLeft: bytesLeft === undefined ? undefined : rate?.secondsLeft(bytesLeft),
  };
}
