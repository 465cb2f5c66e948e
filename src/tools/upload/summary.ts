import * as z from 'zod';
import { lazy, withoutUndefined } from '../../util/objects.js';
import { shownAs, unlisted } from '../schema/outputs.js';
import { beginOf } from './connections.js';
import { type MissingParts, missingPartsOf, stepOf } from './missing-parts.js';
import { bytesPerSecond, type Pace, paceOf, secondsLeft } from './pace.js';
import { bytesOf, minimumPartSize, rangesOf, type UploadPart } from './part.js';
import { countNotShown, notShown } from './shorten-lists.js';
import { tuned } from './tuned.js';

/** This file summarizes a multipart upload by its parts. The summary has a limited size, however many parts there are. */

const range = () => z.object({ from: z.int(), to: z.int() });
const ranges = () => z.array(shownAs(range(), 'from, to')).optional();
const sizedRanges = () =>
  z
    .array(shownAs(range().extend({ partSize: z.int(), bytes: z.int() }), 'from, to, partSize (bytes), bytes'))
    .optional();
const count = () => z.int().optional();

/** The fields of a summary, for a schema. */
export const summaryFields = lazy(() => ({
  partCount: count(),
  highestPart: count(),
  totalBytes: count(),
  runs: sizedRanges(),
  inFlightCount: unlisted(count()),
  inFlight: ranges(),
  inFlightSeconds: unlisted(count()),
  passedOver: ranges(),
  toCome: ranges(),
  tooSmallCount: unlisted(count()),
  tooSmall: z.array(shownAs(range().extend({ partSize: z.int() }), 'from, to, partSize: send again')).optional(),
  duplicates: unlisted(ranges()),
  notShown: unlisted(notShown()),
  startedAt: unlisted(z.string().optional()),
  firstUploadedAt: unlisted(z.string().optional()),
  lastUploadedAt: z.string().optional(),
  checkedAt: z.string().optional(),
  idleSeconds: count(),
  stopped: z.boolean().optional(),
  bytesPerSecond: count(),
  bytesPerSecondBefore: unlisted(count()),
  rateSince: unlisted(z.string().optional()),
  noRate: z.string().optional(),
  rateInSeconds: unlisted(count()),
  expectedBytes: unlisted(count()),
  expectedParts: unlisted(count()),
  percent: z.number().optional(),
  percentWithInFlight: unlisted(z.number().optional()),
  remainingBytes: count(),
  remainingParts: unlisted(count()),
  estimatedSecondsLeft: count(),
  secondsLeft: unlisted(range().optional()),
  secondsLeftIfResumed: unlisted(count()),
}));

/** The size of the complete upload, if the caller knows it. */
export interface Expectation {
  readonly expectedBytes?: number | undefined;
  readonly expectedParts?: number | undefined;
}

/** Parts in flight that are less than this percentage of the whole upload are not mentioned. */
const muchInFlight = 2;

/** Length limit of lists. Longer lists are cut, and the entries left out are counted. */
const maximumEntries = 12;

/** When the parts were listed, and when the upload was started, in ISO 8601 by the service's clock. */
interface Moment {
  readonly checkedAt?: string | undefined;
  readonly startedAt?: string | undefined;
}

type ObservedPace = Exclude<Pace, { kind: 'unknown' }>;

/** Summarizes the parts of an upload. The result has the fields of `summaryFields`. Lists are cut to `maximumEntries` entries. */
export function summarise(
  listed: readonly UploadPart[],
  expectation: Expectation,
  { checkedAt, startedAt }: Moment = {},
) {
  const sorted = [...listed].sort((a, b) => a.partNumber - b.partNumber);
  const numbers = sorted.map(({ partNumber }) => partNumber);
  const repeatedNumbers = new Set(numbers.filter((number, index) => number === numbers[index - 1]));
  const duplicates = rangesOf([...repeatedNumbers]);
  // A part number that is listed twice counts twice in counts, bytes and runs. Progress and pace count the last entry with this number.
  const distinctParts = [...new Map(sorted.map((part) => [part.partNumber, part])).values()];

  const totalBytes = bytesOf(sorted);
  const areSizesKnown = isKnownSize(totalBytes);
  const progress = progressOf(distinctParts, expectation);
  const isComplete = progress.likelyBytesLeft === 0;
  // A complete upload has neither parts in flight nor time left, so its pace does not matter. Without sizes, the pace is unknown.
  const pace: Pace =
    isComplete || !areSizesKnown ? { kind: 'unknown' } : paceOf(distinctParts, timeOf(checkedAt), timeOf(startedAt));
  const missing = missingByPace(distinctParts, pace, progress);
  const { inFlight, passedOver, toCome, inFlightCount, inFlightSeconds } = missing;

  // A run is a range of parts that have the same size.
  const runs = areSizesKnown ? equalRuns(sorted) : [];
  const tooSmallRuns = equalRuns(progress.tooSmall);

  return withoutUndefined({
    partCount: sorted.length,
    highestPart: numbers.at(-1),
    totalBytes: areSizesKnown ? totalBytes : undefined,
    // Unlike the other lists, this one is not left out if it is empty.
    runs: areSizesKnown ? runs.slice(0, maximumEntries) : undefined,
    // Left out if it is 0, because 0 also stands for unknown. `tooSmallCount` stays, because it is always known.
    inFlightCount: inFlightCount === 0 ? undefined : inFlightCount,
    inFlight: firstEntries(inFlight),
    inFlightSeconds,
    passedOver: firstEntries(passedOver),
    toCome: firstEntries(toCome),
    tooSmallCount: progress.tooSmall.length,
    tooSmall: firstEntries(tooSmallRuns),
    duplicates: firstEntries(duplicates),
    ...countNotShown(entriesLeftOut({ runs, inFlight, passedOver, toCome, tooSmall: tooSmallRuns, duplicates })),
    // The fields `firstUploadedAt`, `lastUploadedAt`, `checkedAt` and `idleSeconds`.
    ...uploadTimes(sorted, checkedAt),
    startedAt,
    expectedBytes: expectation.expectedBytes,
    expectedParts: expectation.expectedParts,
    percent: progress.percent,
    percentWithInFlight: percentWithInFlight(distinctParts, inFlightCount, progress, expectation),
    remainingBytes: progress.remainingBytes,
    remainingParts: progress.remainingParts,
    ...rateFields(pace, progress.likelyBytesLeft),
  });
}

/** Groups sorted parts into runs: parts with consecutive numbers and the same size. */
function equalRuns(parts: readonly UploadPart[]) {
  const runs: { from: number; to: number; partSize: number; bytes: number }[] = [];
  for (const { partNumber, size } of parts) {
    const run = runs.at(-1);
    const continuesRun = run !== undefined && run.to + 1 === partNumber && run.partSize === size;
    if (continuesRun) {
      run.to = partNumber;
      run.bytes += size;
    } else {
      runs.push({ from: partNumber, to: partNumber, partSize: size, bytes: size });
    }
  }
  return runs;
}

/** The first `maximumEntries` entries of a list. Undefined for an empty list, so that the summary lacks the field. */
const firstEntries = <Entry>(all: readonly Entry[]) => (all.length === 0 ? undefined : all.slice(0, maximumEntries));

/** The number of entries of each list beyond `maximumEntries`. A negative number means that the list is short enough. */
const entriesLeftOut = (lists: Readonly<Record<string, readonly unknown[]>>) =>
  Object.fromEntries(Object.entries(lists).map(([name, { length }]) => [name, length - maximumEntries]));

/** Converts ISO 8601 to milliseconds since 1970. Undefined for text that is no time. */
const timeOf = (text: string | undefined): number | undefined => {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
};

const isoTime = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());

interface Progress {
  readonly percent?: number;
  readonly remainingBytes?: number | undefined;
  /** Number of parts to send: those that are missing, and the stored parts that are too small. */
  readonly remainingParts?: number | undefined;
  /** The same as `remainingBytes` or, if only the number of parts is expected, an estimate from the average size. */
  readonly likelyBytesLeft?: number;
  /** Number of parts that are not stored. */
  readonly missingCount?: number | undefined;
  /** Stored parts that are too small and have to be sent again. */
  readonly tooSmall: readonly UploadPart[];
}

/** False for a sum of sizes that is NaN, because a size is unknown, or negative, because a size is wrong. */
const isKnownSize = (bytes: number) => bytes >= 0;

/**
 * Measures the progress towards the expectation. Parts that are too small do not count, because they have to be sent again.
 * - If the stored parts contradict the expectation, or if nothing is expected, the result has only `tooSmall`.
 * - If the size of a part is unknown, the result has only `missingCount` and `tooSmall`, and this part is not in `tooSmall`.
 */
function progressOf(parts: readonly UploadPart[], expectation: Expectation): Progress {
  const isExpectationWrong = isContradicted(parts, expectation);
  const missingCount = isExpectationWrong ? undefined : countMissing(parts, expectation);
  // Only the last part may be small, and `missingCount` shows whether the highest stored part may be the last.
  const tooSmall = tooSmallParts(parts, missingCount);
  if (isExpectationWrong) return { tooSmall };
  if (!isKnownSize(bytesOf(parts))) return { missingCount, tooSmall };

  const usableParts = parts.length - tooSmall.length;
  const { expectedBytes, expectedParts } = expectation;

  // If bytes are expected, they measure the progress, because parts may differ in size.
  if (expectedBytes !== undefined) {
    const usableBytes = bytesOf(parts) - bytesOf(tooSmall);
    const remainingBytes = expectedBytes - usableBytes;
    const percent = percentOf(usableBytes, expectedBytes);
    const remainingParts = expectedParts === undefined ? undefined : expectedParts - usableParts;
    return { percent, remainingBytes, remainingParts, missingCount, likelyBytesLeft: remainingBytes, tooSmall };
  }

  // If only the number of parts is known, and not their bytes, `remainingBytes` is unknown, and `likelyBytesLeft` is an estimate.
  if (expectedParts !== undefined) {
    const percent = percentOf(usableParts, expectedParts);
    const remainingParts = expectedParts - usableParts;
    const averageSize = bytesOf(parts) / Math.max(1, parts.length);
    const likelyBytesLeft = Math.round(remainingParts * averageSize);
    return { percent, remainingParts, missingCount, likelyBytesLeft, tooSmall };
  }

  return { tooSmall };
}

/** True if there are more parts or bytes than expected. A high part number alone is no contradiction, because clients may count in tens. */
function isContradicted(parts: readonly UploadPart[], { expectedBytes, expectedParts }: Expectation): boolean {
  const numbers = parts.map(({ partNumber }) => partNumber);
  const [lowest = 1] = numbers;
  const highest = numbers.at(-1) ?? lowest;
  // For the parts 10, 20 and 40, this is 4.
  const begunParts = 1 + (highest - lowest) / stepOf(numbers);
  if (expectedParts !== undefined && begunParts > expectedParts) return true;
  return expectedBytes !== undefined && bytesOf(parts) > expectedBytes;
}

/**
 * The parts that are too small. Only the last part of an upload may be small. The highest stored part may be the last, unless more parts
 * are missing than fit below it.
 * @param missingCount undefined if it is unknown. The highest stored part may then be the last
 */
function tooSmallParts(parts: readonly UploadPart[], missingCount = 0): readonly UploadPart[] {
  const freeNumbersBelow = (parts.at(-1)?.partNumber ?? 0) - parts.length;
  const mayHaveLast = missingCount <= freeNumbersBelow;
  return parts.filter(({ size }, index) => size < minimumPartSize && (index < parts.length - 1 || !mayHaveLast));
}

/** The percentage with one decimal place, rounded down, so that 100 means complete. */
const percentOf = (done: number, expected: number) =>
  expected === 0 ? 100 : Math.floor((done / expected) * 1000) / 10;

/** The number of missing parts. Without `expectedParts`, it follows from `expectedBytes` if all parts but the last have the same size. */
function countMissing(parts: readonly UploadPart[], { expectedBytes, expectedParts }: Expectation): number | undefined {
  if (expectedParts !== undefined) return expectedParts - parts.length;
  const [first] = parts;
  if (expectedBytes === undefined || first === undefined || first.size === 0) return undefined;
  const isEven = parts.slice(0, -1).every(({ size }) => size === first.size) && (parts.at(-1)?.size ?? 0) <= first.size;
  return isEven ? Math.ceil((expectedBytes - bytesOf(parts)) / first.size) : undefined;
}

/** Groups the missing parts by the reason why they are missing. The times of the arrived parts show which parts are in flight. */
function missingByPace(
  parts: readonly UploadPart[],
  pace: Pace,
  { likelyBytesLeft, missingCount: exactCount }: Progress,
): MissingParts & { readonly inFlightSeconds?: number | undefined } {
  const numbers = parts.map(({ partNumber }) => partNumber);
  if (pace.kind === 'unknown') {
    // The upload is complete, or nothing shows how the client sends. So any order is possible, and no part counts as in flight. With
    // `connectionCount: 1`, every part missing below a stored part counts as passed over, because nothing shows that it is still awaited.
    const order = { ascending: true, descending: true };
    return missingPartsOf({ numbers, connectionCount: 1, order, missingCount: exactCount ?? 0, isSending: false });
  }

  const { count: connectionCount, order, partSize } = pace.connections;
  // Without the exact number of missing parts, an estimate from the bytes shows whether this is the last round, and how many parts above the
  // highest stored part may be in flight. 0 stands for an unknown number.
  const estimatedCount = likelyBytesLeft === undefined ? 0 : Math.ceil(likelyBytesLeft / partSize);
  const missingCount = exactCount ?? estimatedCount;
  const { isSending, inFlightSeconds } = activityOf(pace, missingCount);
  const missing = missingPartsOf({ numbers, connectionCount, order, missingCount, isSending });
  if (exactCount !== undefined) return { ...missing, inFlightSeconds };

  // With an estimate, the number of the upload's last part is uncertain. So parts to come are named only below the highest stored part. Each
  // range is wholly below or above this part, because it is not missing. Parts in flight are named above it, too, because the client sends the
  // next numbers.
  const highest = numbers.at(-1) ?? 0;
  const toCome = missing.toCome.filter(({ to }) => to < highest);
  return { ...missing, toCome, inFlightSeconds };
}

/**
 * Says whether parts are known to be in flight (`isSending`). If the last parts of the upload are late, `inFlightSeconds` is how long the
 * oldest of them has been in flight.
 * @param missingCount exact or estimated number of missing parts; 0 if it is unknown; then no round counts as the last
 */
function activityOf(pace: ObservedPace, missingCount: number) {
  // If parts take very different times, the number of connections is uncertain. So nothing shows which parts are in flight, or whether this
  // is the last round.
  if (pace.kind === 'live' && !pace.isEven) return { isSending: false };

  // In the last round, there are enough connections to send all missing parts at once.
  const isLastRound = missingCount > 0 && missingCount <= pace.connections.count;
  if (pace.kind === 'live') {
    // A part that is overdue may have been given up. In the last round it is still awaited, because the upload needs it.
    const overdueAfterMs = tuned.overdueFactor * pace.rate.millisecondsPerByte * pace.connections.partSize;
    return { isSending: isLastRound || oldestMsInFlight(pace) < overdueAfterMs };
  }

  // With the pace `stopped` or `unclear`, nothing is known to be in flight, except late parts of the last round, which the upload needs.
  const isLate = isLastRound && pace.kind === 'unclear' && pace.why === 'late';
  if (!isLate) return { isSending: false };
  return { isSending: true, inFlightSeconds: Math.round(oldestMsInFlight(pace) / 1000) };
}

/**
 * How long ago the sending of the oldest part in flight began (milliseconds). This part is expected to arrive next. Its begin is known, because
 * `activityOf` asks only at the pace `live` or for a late part, so the default is for the compiler.
 */
function oldestMsInFlight({ connections, activeNow }: ObservedPace): number {
  const indexOfNextArrival = connections.arrivals.length;
  return activeNow - (beginOf(connections, indexOfNextArrival) ?? activeNow);
}

/** The percentage that is reached when the parts in flight have arrived. Undefined if they add less than `muchInFlight` percent. */
function percentWithInFlight(
  parts: readonly UploadPart[],
  inFlightCount: number,
  { percent, likelyBytesLeft = 0 }: Progress,
  { expectedBytes, expectedParts = 0 }: Expectation,
): number | undefined {
  if (percent === undefined || inFlightCount === 0) return undefined;
  const averageSize = bytesOf(parts) / parts.length;
  const wholeBytes = expectedBytes ?? expectedParts * averageSize;
  const bytesInFlight = Math.min(likelyBytesLeft, inFlightCount * averageSize);
  const percentThen = percentOf(wholeBytes - likelyBytesLeft + bytesInFlight, wholeBytes);
  return percentThen - percent < muchInFlight ? undefined : percentThen;
}

/** The times of the first and the last part, and the seconds since the last part. */
function uploadTimes(parts: readonly UploadPart[], checkedAt: string | undefined) {
  const times = parts.map(({ uploadedAt }) => uploadedAt).filter((time) => !Number.isNaN(time));
  const [first] = times.sort((a, b) => a - b);
  const last = times.at(-1);
  const idleMs = last === undefined || checkedAt === undefined ? undefined : Date.parse(checkedAt) - last;
  return {
    firstUploadedAt: isoTime(first),
    lastUploadedAt: isoTime(last),
    checkedAt,
    idleSeconds: idleMs === undefined ? undefined : Math.max(0, Math.round(idleMs / 1000)),
  };
}

/**
 * The fields of `summaryFields` about rate and time left. A field is undefined if its value is unknown. `bytesPerSecondBefore` is the rate
 * before the upload stopped or, if the upload goes on, the rate before the last change of speed.
 */
function rateFields(pace: Pace, likelyBytesLeft: number | undefined) {
  if (pace.kind === 'unknown') return {};
  // Only the pace `live` always has a rate.
  const { connections, activeNow, rate } = pace;
  const uploadBytesPerSecond = rate && bytesPerSecond(rate.millisecondsPerByte, connections.count);

  if (pace.kind === 'stopped') {
    const isTimeKnown = uploadBytesPerSecond !== undefined && likelyBytesLeft !== undefined;
    return {
      stopped: true,
      bytesPerSecondBefore: rounded(uploadBytesPerSecond),
      secondsLeftIfResumed: isTimeKnown ? Math.ceil(likelyBytesLeft / uploadBytesPerSecond) : undefined,
    };
  }

  const timeLeft = rate && likelyBytesLeft !== undefined ? secondsLeft(pace, rate, likelyBytesLeft) : undefined;
  if (pace.kind === 'unclear') {
    // The time until a rate is known. Negative if the part that was to show the rate is late.
    const rateDueInSeconds = pace.dueAt === undefined ? undefined : Math.round((pace.dueAt - activeNow) / 1000);
    // The rate that `late` has is too uncertain to be shown. It only gives the range of the time left.
    return { noRate: pace.why, rateInSeconds: rateDueInSeconds, secondsLeft: timeLeft?.range };
  }

  return {
    bytesPerSecond: rounded(uploadBytesPerSecond),
    bytesPerSecondBefore: rounded(pace.change?.bytesPerSecondBefore),
    rateSince: isoTime(pace.change?.since),
    estimatedSecondsLeft: timeLeft?.likely,
    secondsLeft: timeLeft?.range,
  };
}

const rounded = (value: number | undefined) => (value === undefined ? undefined : Math.round(value));
