import * as z from 'zod';
import { lazy, withoutUndefined } from '../../util/objects.js';
import { like, rare } from '../schema/outputs.js';
import { beginOf } from './connections.js';
import { missingPartsOf, stepOf } from './missing-parts.js';
import { median } from './numbers.js';
import { bytesPerSecond, type Pace, paceOf, secondsLeft } from './pace.js';
import { bytesOf, rangesOf, type UploadPart } from './part.js';
import { countNotShown, notShown } from './shorten-lists.js';
import { tuned } from './tuned.js';

/** A summary of a multipart upload by its parts, in a size that does not depend on their number. */

const range = () => z.object({ from: z.int(), to: z.int() });
const ranges = () => z.array(like(range(), 'from, to')).optional();
const sizedRanges = () =>
  z.array(like(range().extend({ partSize: z.int(), bytes: z.int() }), 'from, to, partSize (bytes), bytes')).optional();
const count = () => z.int().optional();

/** The fields of a summary. */
export const summaryFields = lazy(() => ({
  partCount: count(),
  highestPart: count(),
  totalBytes: count(),
  runs: sizedRanges(),
  inFlightCount: rare(count()),
  inFlight: ranges(),
  inFlightSeconds: rare(count()),
  passedOver: ranges(),
  toCome: ranges(),
  tooSmallCount: rare(count()),
  tooSmall: z.array(like(range().extend({ partSize: z.int() }), 'from, to, partSize: send again')).optional(),
  duplicates: rare(ranges()),
  notShown: rare(notShown()),
  startedAt: rare(z.string().optional()),
  firstUploadedAt: rare(z.string().optional()),
  lastUploadedAt: z.string().optional(),
  checkedAt: z.string().optional(),
  idleSeconds: count(),
  stopped: z.boolean().optional(),
  bytesPerSecond: count(),
  bytesPerSecondBefore: rare(count()),
  rateSince: rare(z.string().optional()),
  noRate: z.string().optional(),
  rateInSeconds: rare(count()),
  expectedBytes: rare(count()),
  expectedParts: rare(count()),
  percent: z.number().optional(),
  percentWithInFlight: rare(z.number().optional()),
  remainingBytes: count(),
  remainingParts: rare(count()),
  estimatedSecondsLeft: count(),
  secondsLeft: rare(range().optional()),
  secondsLeftIfResumed: rare(count()),
}));

export interface Expectation {
  readonly expectedBytes?: number | undefined;
  readonly expectedParts?: number | undefined;
}

/** Percent of the whole. A smaller share in flight is not mentioned. */
const muchInFlight = 2;

/** Longer lists are cut, and the omitted entries are counted. */
const maximumEntries = 12;

/** Smaller parts, other than the last, make S3-compatible services refuse to complete an upload (not in the reference). */
const minimumPartSize = 5 * 1024 * 1024;

/** Times of the service in ISO 8601. */
interface Moment {
  readonly checkedAt?: string | undefined;
  readonly startedAt?: string | undefined;
}

type ObservedPace = Exclude<Pace, { kind: 'unknown' }>;

/** Summarizes an upload. The result has the fields of `summaryFields`. */
export function summarise(
  listed: readonly UploadPart[],
  expectation: Expectation,
  { checkedAt, startedAt }: Moment = {},
) {
  const all = [...listed].sort((a, b) => a.partNumber - b.partNumber);
  const numbers = all.map(({ partNumber }) => partNumber);
  const duplicates = rangesOf(numbers.filter((number, index) => number === numbers[index - 1]));
  const parts = [...new Map(all.map((part) => [part.partNumber, part])).values()];
  const progress = progressOf(parts, expectation);
  const isComplete = progress.bytesLeft === 0;
  const pace: Pace = isComplete ? { kind: 'unknown' } : paceOf(parts, timeOf(checkedAt), timeOf(startedAt));
  const { missing, inFlightSeconds } = missingByPace(parts, pace, progress);
  const { inFlight, passedOver, toCome, inFlightCount } = missing;
  const runs = equalRuns(all);
  const tooSmall = equalRuns(progress.tooSmall);
  return withoutUndefined({
    partCount: all.length,
    highestPart: numbers.at(-1),
    totalBytes: bytesOf(all),
    runs: runs.slice(0, maximumEntries),
    inFlightCount: inFlightCount === 0 ? undefined : inFlightCount,
    inFlight: firstOf(inFlight),
    inFlightSeconds,
    passedOver: firstOf(passedOver),
    toCome: firstOf(toCome),
    tooSmallCount: progress.tooSmall.length,
    tooSmall: firstOf(tooSmall),
    duplicates: firstOf(duplicates),
    ...countNotShown({
      runs: runs.length - maximumEntries,
      inFlight: inFlight.length - maximumEntries,
      passedOver: passedOver.length - maximumEntries,
      toCome: toCome.length - maximumEntries,
      tooSmall: tooSmall.length - maximumEntries,
      duplicates: duplicates.length - maximumEntries,
    }),
    ...times(all, checkedAt),
    startedAt,
    expectedBytes: expectation.expectedBytes,
    expectedParts: expectation.expectedParts,
    percent: progress.percent,
    percentWithInFlight: withInFlight(parts, inFlightCount, progress, expectation),
    remainingBytes: progress.remainingBytes,
    remainingParts: progress.remainingParts,
    ...speed(pace, progress.bytesLeft),
  });
}

/** Runs of consecutive parts of the same size, sorted by number. */
function equalRuns(parts: readonly UploadPart[]) {
  const runs: { from: number; to: number; partSize: number; bytes: number }[] = [];
  for (const { partNumber, size } of parts) {
    const run = runs.at(-1);
    if (run !== undefined && run.to + 1 === partNumber && run.partSize === size) {
      run.to = partNumber;
      run.bytes += size;
    } else runs.push({ from: partNumber, to: partNumber, partSize: size, bytes: size });
  }
  return runs;
}

/** The entries that are shown. Undefined for an empty list. */
const firstOf = <Entry>(all: readonly Entry[]) => (all.length === 0 ? undefined : all.slice(0, maximumEntries));

/** Milliseconds since 1970. Undefined for text that is no time. */
const timeOf = (text: string | undefined): number | undefined => {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
};

const isoTime = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());

interface Progress {
  readonly percent?: number;
  readonly remainingBytes?: number | undefined;
  readonly remainingParts?: number | undefined;
  /** If only the number of parts is expected, missing parts count with the average size. */
  readonly bytesLeft?: number;
  /** Number of missing parts, if known. */
  readonly partsLeft?: number | undefined;
  /** Parts that have to be sent again. */
  readonly tooSmall: readonly UploadPart[];
}

/**
 * Measures the upload against the expectation. Parts that are too small have to be sent again and do not count. There is no progress if
 * nothing is expected, or if the stored parts contradict the expectation.
 */
function progressOf(parts: readonly UploadPart[], expectation: Expectation): Progress {
  if (isContradicted(parts, expectation)) return { tooSmall: smallParts(parts, false) };
  const partsLeft = countMissing(parts, expectation);
  const tooSmall = smallParts(parts, (partsLeft ?? 0) > 0);
  const { expectedBytes, expectedParts } = expectation;
  const usableParts = parts.length - tooSmall.length;
  const remainingParts = expectedParts === undefined ? undefined : expectedParts - usableParts;
  if (expectedBytes !== undefined) {
    const usableBytes = bytesOf(parts) - bytesOf(tooSmall);
    const remainingBytes = expectedBytes - usableBytes;
    const percent = percentOf(usableBytes, expectedBytes);
    return { percent, remainingBytes, remainingParts, partsLeft, bytesLeft: remainingBytes, tooSmall };
  }
  if (expectedParts === undefined || remainingParts === undefined) return { tooSmall };
  const averageSize = bytesOf(parts) / Math.max(1, parts.length);
  const bytesLeft = Math.round(remainingParts * averageSize);
  return { percent: percentOf(usableParts, expectedParts), remainingParts, partsLeft, bytesLeft, tooSmall };
}

/** Clients may begin with any number and count in larger steps, so the places of the parts are compared, and not their numbers. */
function isContradicted(parts: readonly UploadPart[], { expectedBytes, expectedParts }: Expectation): boolean {
  const numbers = parts.map(({ partNumber }) => partNumber);
  const [first = 1] = numbers;
  const places = 1 + ((numbers.at(-1) ?? first) - first) / stepOf(numbers);
  return places > (expectedParts ?? places) || bytesOf(parts) > (expectedBytes ?? Number.POSITIVE_INFINITY);
}

/**
 * The parts that are too small. The last part of an upload may have any size. If parts are missing, the highest stored part may not be the
 * last part, so its size is checked too.
 */
const smallParts = (parts: readonly UploadPart[], isMoreMissing: boolean) =>
  parts.filter(({ size }, index) => size < minimumPartSize && (index < parts.length - 1 || isMoreMissing));

const percentOf = (done: number, expected: number) =>
  expected === 0 ? 100 : Math.floor((done / expected) * 1000) / 10;

/** The number of missing parts, from the expected number or, if all parts have one size, from the expected bytes. */
function countMissing(parts: readonly UploadPart[], { expectedBytes, expectedParts }: Expectation): number | undefined {
  if (expectedParts !== undefined) return expectedParts - parts.length;
  const [first] = parts;
  if (expectedBytes === undefined || first === undefined || first.size === 0) return undefined;
  const isEven = parts.slice(0, -1).every(({ size }) => size === first.size) && (parts.at(-1)?.size ?? 0) <= first.size;
  return isEven ? Math.ceil((expectedBytes - bytesOf(parts)) / first.size) : undefined;
}

/** The missing parts by reason. The times of the arrived parts show which parts are in flight. */
function missingByPace(parts: readonly UploadPart[], pace: Pace, { bytesLeft, partsLeft }: Progress) {
  const numbers = parts.map(({ partNumber }) => partNumber);
  if (pace.kind === 'unknown') {
    const order = { ascending: true, descending: true };
    return {
      missing: missingPartsOf({ numbers, connectionCount: 1, order, partsLeft: partsLeft ?? 0, isActive: false }),
    };
  }
  const { count, order, arrivals } = pace.connections;
  const partSize = median(arrivals.map(({ size }) => size));
  // With parts of several sizes, the number of missing parts is an estimate.
  const missingCount = partsLeft ?? (bytesLeft === undefined ? 0 : Math.ceil(bytesLeft / partSize));
  const { isActive, lateSeconds } = activityOf(pace, missingCount, partSize);
  const missing = missingPartsOf({ numbers, connectionCount: count, order, partsLeft: missingCount, isActive });
  // An estimate does not tell the part numbers above the highest stored part.
  const highest = numbers.at(-1) ?? 0;
  const toCome = partsLeft === undefined ? missing.toCome.filter(({ to }) => to <= highest) : missing.toCome;
  return { missing: { ...missing, toCome }, inFlightSeconds: lateSeconds };
}

/** Whether parts are in flight, and the time of the oldest one if it is late at the end of the upload. */
function activityOf(pace: ObservedPace, missingCount: number, partSize: number) {
  const { connections, now } = pace;
  const isLastRound = missingCount > 0 && missingCount <= connections.count;
  const oldestBegin = beginOf(connections, connections.arrivals.length);
  const oldestMs = oldestBegin === undefined ? undefined : now - oldestBegin;
  if (pace.kind === 'live') {
    // An overdue part may have been given up, but not at the end.
    const overdueMs = tuned.overdueFactor * pace.rate.millisecondsPerByte * partSize;
    const isInTime = oldestMs !== undefined && oldestMs < overdueMs;
    return { isActive: pace.isEven && (isLastRound || isInTime) };
  }
  const isLate = isLastRound && pace.kind === 'unclear' && pace.why === 'late';
  const lateSeconds = isLate && oldestMs !== undefined ? Math.round(oldestMs / 1000) : undefined;
  return { isActive: isLate, lateSeconds };
}

/** The percentage with all parts in flight, if these parts are at least `muchInFlight` percent of the whole. */
function withInFlight(
  parts: readonly UploadPart[],
  inFlightCount: number,
  { percent, bytesLeft = 0 }: Progress,
  { expectedBytes, expectedParts = 0 }: Expectation,
): number | undefined {
  if (percent === undefined || inFlightCount === 0) return undefined;
  const averageSize = bytesOf(parts) / parts.length;
  const expected = expectedBytes ?? expectedParts * averageSize;
  const bytesInFlight = Math.min(bytesLeft, inFlightCount * averageSize);
  const percentWithInFlight = percentOf(expected - bytesLeft + bytesInFlight, expected);
  return percentWithInFlight - percent < muchInFlight ? undefined : percentWithInFlight;
}

/** The times of the upload, and the seconds since the last part. */
function times(parts: readonly UploadPart[], checkedAt: string | undefined) {
  const uploadTimes = parts.map(({ uploadedAt }) => uploadedAt).filter((time) => !Number.isNaN(time));
  const [first] = uploadTimes.sort((a, b) => a - b);
  const last = uploadTimes.at(-1);
  const idleMs = last === undefined || checkedAt === undefined ? undefined : Date.parse(checkedAt) - last;
  return {
    firstUploadedAt: isoTime(first),
    lastUploadedAt: isoTime(last),
    checkedAt,
    idleSeconds: idleMs === undefined ? undefined : Math.max(0, Math.round(idleMs / 1000)),
  };
}

/** The present rate and the time left. For a stopped upload, the rate before and the time left if it resumes. */
function speed(pace: Pace, bytesLeft: number | undefined) {
  if (pace.kind === 'unknown') return {};
  const { connections, now, rate } = pace;
  const rateOfAll = rate && bytesPerSecond(rate.millisecondsPerByte, connections.count);
  if (pace.kind === 'stopped') {
    const isTimeKnown = rateOfAll !== undefined && bytesLeft !== undefined;
    return {
      stopped: true,
      bytesPerSecondBefore: rounded(rateOfAll),
      secondsLeftIfResumed: isTimeKnown ? Math.ceil(bytesLeft / rateOfAll) : undefined,
    };
  }
  const { estimate, range } = timeLeft(pace, bytesLeft);
  if (pace.kind === 'unclear') {
    const rateInSeconds = pace.clearAt === undefined ? undefined : Math.round((pace.clearAt - now) / 1000);
    return { noRate: pace.why, rateInSeconds, secondsLeft: range };
  }
  return {
    bytesPerSecond: rounded(rateOfAll),
    bytesPerSecondBefore: rounded(pace.change?.bytesPerSecondBefore),
    rateSince: isoTime(pace.change?.since),
    estimatedSecondsLeft: estimate,
    secondsLeft: range,
  };
}

/** The seconds left at the present rate and at both ends of its range, if they are known. */
function timeLeft(pace: ObservedPace, bytesLeft: number | undefined) {
  const { rate } = pace;
  if (rate === undefined || bytesLeft === undefined) return {};
  const from = secondsLeft(pace, rate.fastest, bytesLeft);
  const to = secondsLeft(pace, rate.slowest, bytesLeft);
  return {
    estimate: secondsLeft(pace, rate.millisecondsPerByte, bytesLeft),
    range: from === undefined || to === undefined ? undefined : { from, to },
  };
}

const rounded = (value: number | undefined) => (value === undefined ? undefined : Math.round(value));
