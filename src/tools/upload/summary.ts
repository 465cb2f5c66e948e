import * as z from 'zod';
import { lazy, withoutUndefined } from '../../util/objects.js';
import { like, rare } from '../schema/outputs.js';
import { absentOf, stepOf } from './missing-parts.js';
import { median } from './numbers.js';
import { bytesPerSecond, type Pace, paceOf, secondsLeft } from './pace.js';
import { bytesOf, type UploadPart } from './part.js';
import { rangesOf } from './ranges.js';
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

/** A smaller share in flight, in percent of the whole, is not mentioned. */
const muchInFlight = 2;

/** Longer lists are cut, and the omitted entries are counted. */
const maximumEntries = 12;

/** Smaller parts, other than the last, make S3-compatible services refuse to complete an upload (not in the reference). */
const minimumPartSize = 5 * 1024 * 1024;

/** Times of the service in ISO 8601. */
export interface Moment {
  readonly checkedAt?: string | undefined;
  readonly startedAt?: string | undefined;
}

/** Describes an upload. */
export function summarise(
  unsorted: readonly UploadPart[],
  expectation: Expectation,
  { checkedAt, startedAt }: Moment = {},
) {
  const all = [...unsorted].sort((a, b) => a.partNumber - b.partNumber);
  const parts = [...new Map(all.map((part) => [part.partNumber, part])).values()];
  const numbers = all.map(({ partNumber }) => partNumber);
  const done = progressOf(parts, expectation);
  const pace: Pace = done.bytesLeft === 0 ? { kind: 'unknown' } : paceOf(parts, timeOf(checkedAt), timeOf(startedAt));
  const sending = sendingOf(parts, pace, done);
  const small = equalRuns(done.small);
  const runs = equalRuns(all);
  const duplicates = rangesOf(numbers.filter((number, index) => number === numbers[index - 1]));
  const { inFlight, passedOver, toCome, inFlightCount } = sending.absent;
  return withoutUndefined({
    partCount: all.length,
    highestPart: numbers.at(-1),
    totalBytes: bytesOf(all),
    runs: runs.slice(0, maximumEntries),
    inFlightCount: inFlightCount === 0 ? undefined : inFlightCount,
    inFlight: firstOf(inFlight),
    inFlightSeconds: sending.inFlightSeconds,
    passedOver: firstOf(passedOver),
    toCome: firstOf(toCome),
    tooSmallCount: done.small.length,
    tooSmall: firstOf(small),
    duplicates: firstOf(duplicates),
    ...countNotShown({
      runs: runs.length - maximumEntries,
      inFlight: inFlight.length - maximumEntries,
      passedOver: passedOver.length - maximumEntries,
      toCome: toCome.length - maximumEntries,
      tooSmall: small.length - maximumEntries,
      duplicates: duplicates.length - maximumEntries,
    }),
    ...times(all, checkedAt),
    startedAt,
    expectedBytes: expectation.expectedBytes,
    expectedParts: expectation.expectedParts,
    percent: done.percent,
    percentWithInFlight: withInFlight(parts, inFlightCount, done, expectation),
    remainingBytes: done.remainingBytes,
    remainingParts: done.remainingParts,
    ...speed(pace, done.bytesLeft),
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

const firstOf = <Entry>(all: readonly Entry[]) => (all.length === 0 ? undefined : all.slice(0, maximumEntries));

const timeOf = (text: string | undefined): number | undefined => {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
};

const timeText = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());

interface Progress {
  readonly percent?: number;
  readonly remainingBytes?: number | undefined;
  readonly remainingParts?: number | undefined;
  /** If only the number of parts is expected, missing parts count with the average size. */
  readonly bytesLeft?: number;
  /** Number of missing parts, if known. */
  readonly partsLeft?: number | undefined;
  /** Parts that have to be sent again. */
  readonly small: readonly UploadPart[];
}

/**
 * Measures the upload against the expectation. Parts that are too small have to be sent again and do not count. There is no progress if
 * nothing is expected, or if the stored parts contradict the expectation.
 */
function progressOf(parts: readonly UploadPart[], expectation: Expectation): Progress {
  if (isContradicted(parts, expectation)) return { small: smallParts(parts, false) };
  const partsLeft = missingParts(parts, expectation);
  const small = smallParts(parts, (partsLeft ?? 0) > 0);
  const { expectedBytes, expectedParts } = expectation;
  const usableParts = parts.length - small.length;
  const remainingParts = expectedParts === undefined ? undefined : expectedParts - usableParts;
  if (expectedBytes !== undefined) {
    const usableBytes = bytesOf(parts) - bytesOf(small);
    const remainingBytes = expectedBytes - usableBytes;
    const percent = percentOf(usableBytes, expectedBytes);
    return { percent, remainingBytes, remainingParts, partsLeft, bytesLeft: remainingBytes, small };
  }
  if (expectedParts === undefined || remainingParts === undefined) return { small };
  const averageSize = bytesOf(parts) / Math.max(1, parts.length);
  const bytesLeft = Math.round(remainingParts * averageSize);
  return { percent: percentOf(usableParts, expectedParts), remainingParts, partsLeft, bytesLeft, small };
}

/** Clients may begin with any number and count in larger steps, so the places of the parts are compared, and not their numbers. */
function isContradicted(parts: readonly UploadPart[], { expectedBytes, expectedParts }: Expectation): boolean {
  const numbers = parts.map(({ partNumber }) => partNumber);
  const [first = 1] = numbers;
  const places = 1 + ((numbers.at(-1) ?? first) - first) / stepOf(numbers);
  return places > (expectedParts ?? places) || bytesOf(parts) > (expectedBytes ?? Number.POSITIVE_INFINITY);
}

/** The parts that are too small. The last part of an upload may be small, but the highest stored part counts if more are missing. */
const smallParts = (parts: readonly UploadPart[], isMoreMissing: boolean) =>
  parts.filter(({ size }, index) => size < minimumPartSize && (index < parts.length - 1 || isMoreMissing));

const percentOf = (done: number, expected: number) =>
  expected === 0 ? 100 : Math.floor((done / expected) * 1000) / 10;

/** The number of missing parts, from the expected number or, if all parts have one size, from the expected bytes. */
function missingParts(parts: readonly UploadPart[], { expectedBytes, expectedParts }: Expectation): number | undefined {
  if (expectedParts !== undefined) return expectedParts - parts.length;
  const [first] = parts;
  if (expectedBytes === undefined || first === undefined || first.size === 0) return undefined;
  const isEven = parts.slice(0, -1).every(({ size }) => size === first.size) && (parts.at(-1)?.size ?? 0) <= first.size;
  return isEven ? Math.ceil((expectedBytes - bytesOf(parts)) / first.size) : undefined;
}

/** The parts that are being sent, judged by the times of the others, and the reasons why the rest is not there. */
function sendingOf(parts: readonly UploadPart[], pace: Pace, { bytesLeft, partsLeft }: Progress) {
  const numbers = parts.map(({ partNumber }) => partNumber);
  if (pace.kind === 'unknown') {
    const order = { ascending: true, descending: true };
    return { absent: absentOf({ numbers, connections: 1, order, partsLeft: partsLeft ?? 0, isActive: false }) };
  }
  const { connections, now } = pace;
  const { count, arrivals } = connections;
  const size = median(arrivals.map((part) => part.size));
  // With parts of several sizes, their number can only be guessed.
  const partsToCome = partsLeft ?? (bytesLeft === undefined ? 0 : Math.ceil(bytesLeft / size));
  const oldest = connections.begunAt(arrivals.length);
  const isEnd = partsToCome > 0 && partsToCome <= count;
  const isSending = pace.kind === 'live' && pace.isEven && (isEnd || isInTime(pace, oldest, size));
  const isWaiting = isEnd && isLate(pace);
  const isActive = isSending || isWaiting;
  const absent = absentOf({ numbers, connections: count, order: connections.order, partsLeft: partsToCome, isActive });
  const highest = numbers.at(-1) ?? 0;
  const toCome = partsLeft === undefined ? absent.toCome.filter(({ to }) => to <= highest) : absent.toCome;
  const secondsInFlight = oldest === undefined ? undefined : Math.round((now - oldest) / 1000);
  return { absent: { ...absent, toCome }, inFlightSeconds: isWaiting ? secondsInFlight : undefined };
}

const isLate = (pace: Pace) => pace.kind === 'unclear' && pace.why === 'late';

/** True if the oldest part in flight is not overdue. An overdue part may have been given up. */
const isInTime = ({ rate, now }: Extract<Pace, { kind: 'live' }>, oldest: number | undefined, size: number) =>
  oldest !== undefined && now - oldest < tuned.overdueFactor * rate.millisecondsPerByte * size;

/** The percentage with all parts in flight, if they are a good deal of the whole. */
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

/** The present rate and the time left. For a stopped upload, the rate before and the time left if it resumes. */
function speed(pace: Pace, bytesLeft: number | undefined) {
  if (pace.kind === 'unknown') return {};
  const { connections, now } = pace;
  const rate = pace.rate && bytesPerSecond(pace.rate.millisecondsPerByte, connections.count);
  if (pace.kind === 'stopped')
    return {
      stopped: true,
      bytesPerSecondBefore: rounded(rate),
      secondsLeftIfResumed: rate && bytesLeft !== undefined ? Math.ceil(bytesLeft / rate) : undefined,
    };
  const left = (millisecondsPerByte: number | undefined) =>
    millisecondsPerByte === undefined || bytesLeft === undefined
      ? undefined
      : secondsLeft(pace, millisecondsPerByte, bytesLeft);
  const [from, to] = [left(pace.rate?.fastest), left(pace.rate?.slowest)];
  const range = from === undefined || to === undefined ? undefined : { from, to };
  if (pace.kind === 'unclear') {
    const inSeconds = pace.clearAt === undefined ? undefined : Math.round((pace.clearAt - now) / 1000);
    return { noRate: pace.why, rateInSeconds: inSeconds, secondsLeft: range };
  }
  return {
    bytesPerSecond: rounded(rate),
    bytesPerSecondBefore: rounded(pace.change?.bytesPerSecondBefore),
    rateSince: timeText(pace.change?.since),
    estimatedSecondsLeft: left(pace.rate.millisecondsPerByte),
    secondsLeft: range,
  };
}

const rounded = (value: number | undefined) => (value === undefined ? undefined : Math.round(value));
