import { beginOf, type Connections, connectionsOf, firstBurstOf } from './connections.js';
import { distanceFrom, median } from './numbers.js';
import type { UploadPart } from './part.js';
import { tuned } from './tuned.js';

/**
 * The model of an upload: a client keeps a number of connections busy, and each connection sends one part after the other. So a part was
 * begun when the part `connections` places before it arrived, and the parts of the first round were begun with the upload. The effort of a
 * part is the time that the part took for its size, and the average effort gives the rate. A first round counts only until another
 * round has arrived, because clients prepare before they send. A silence that is unlike all others is a pause, and efforts that span a pause
 * do not count. A change of speed divides the efforts into two rates that explain them clearly better than one rate, and only efforts
 * since the change count. Parts in flight for much longer than usual are overdue, and if most of them are, the rate is unknown until
 * they arrive. The time left is the rest of the bytes at the rate. Its range holds the rates of both halves of the efforts, and a margin.
 *
 * Times are milliseconds since 1970, sizes are bytes.
 */

/** One part's time for its size. */
interface Effort {
  readonly ms: number;
  readonly size: number;
  readonly endedAt: number;
}

/**
 * The pace of an upload:
 * - `unknown`: no part has come, or no time could be read.
 * - `live`: parts come at a known rate.
 * - `unclear`: there is no rate at the moment.
 * - `stopped`: no part has come for so long that none is likely to come. The rate is the one before.
 */
export type Pace =
  | { readonly kind: 'unknown' }
  | (Observed & {
      readonly kind: 'live';
      readonly rate: Rate;
      readonly change?: SpeedChange | undefined;
      /** False if efforts differ too much to tell which parts are in flight, because some clients fill their memory before they send. */
      readonly isEven: boolean;
    })
  | (Observed & {
      readonly kind: 'unclear';
      readonly why: WhyUnclear;
      readonly clearAt?: number | undefined;
      readonly rate?: Rate;
    })
  | (Observed & { readonly kind: 'stopped'; readonly rate?: Rate });

interface Observed {
  readonly connections: Connections;
  /** Corrected time of the answer. Like the times of the connections, it stands still in the pause. */
  readonly now: number;
  readonly pause: Pause | undefined;
}

/**
 * Why there is no rate:
 * - `begun`: the first parts are arriving, and there may be more of them.
 * - `one round`: all parts may have been begun at once, at an unknown time.
 * - `late`: most parts in flight are overdue.
 */
type WhyUnclear = 'begun' | 'one round' | 'late';

/** Milliseconds that one connection takes for a byte. */
export interface Rate {
  readonly millisecondsPerByte: number;
  /** The ends of the range. */
  readonly fastest: number;
  readonly slowest: number;
}

interface SpeedChange {
  /** Rate of all connections before the change. */
  readonly bytesPerSecondBefore: number;
  readonly since: number;
}

/** Promises to users. */
const promised = {
  /** Rates of a claimed change differ by at least this factor. */
  changeFactor: 1.25,
  /** A claimed change has at least this many parts before it, and one round. */
  partsBeforeChange: 5,
  /** Silence, in usual parts, after which an upload has stopped. */
  stoppedRounds: 5,
  /** An upload is not called stopped after a shorter silence. */
  stoppedMs: 120_000,
  /** A longer silence needs half as many rounds, so that a dead upload is called stopped within five minutes. */
  longSilenceMs: 280_000,
  /** An upload without any rate is called stopped after this silence. */
  stoppedWithoutRateMs: 1_800_000,
};

/** Half a second is lost on average, because services give the time of an answer in whole seconds. */
const lostMs = 500;
/** Times shorter than this are mostly rounding. */
const roundingMs = 5000;

/**
 * Returns the pace of an upload.
 * @param answeredAt time of the service's answer
 * @param startedAt start of the upload, if known
 */
export function paceOf(parts: readonly UploadPart[], answeredAt: number | undefined, startedAt?: number): Pace {
  const timed = parts.filter(({ uploadedAt }) => !Number.isNaN(uploadedAt));
  const arrivals = withoutShortFirst(timed.sort((a, b) => a.uploadedAt - b.uploadedAt));
  const last = arrivals.at(-1);
  if (last === undefined || answeredAt === undefined) return { kind: 'unknown' };
  const now = Math.max(answeredAt + lostMs, last.uploadedAt);
  const idleMs = now - last.uploadedAt;
  const pause = pauseIn(arrivals, startedAt);
  const activeArrivals = arrivals.map((part) => ({ ...part, uploadedAt: activeTime(part.uploadedAt, pause) }));
  const connections = connectionsOf(activeArrivals, startedAt);
  const observed = { connections, now: activeTime(now, pause), pause };
  const efforts = effortsOf(connections);
  if (efforts.length === 0 || isMaybeOneRound(connections, idleMs)) {
    if (idleMs > promised.stoppedWithoutRateMs) return { kind: 'stopped', ...observed };
    return { kind: 'unclear', why: 'one round', ...observed };
  }
  const clearAt = firstRoundEnd(connections);
  if (clearAt !== undefined && observed.now < clearAt) {
    return { kind: 'unclear', why: 'begun', clearAt: Number.isFinite(clearAt) ? clearAt : undefined, ...observed };
  }
  return paceOfEfforts(efforts, observed, idleMs);
}

/** Some clients send the short last part first. Its time says little about the others. */
function withoutShortFirst(arrivals: readonly UploadPart[]): readonly UploadPart[] {
  const isShort = 2 * (arrivals[0]?.size ?? 0) < median(arrivals.map(({ size }) => size));
  return isShort ? arrivals.slice(1) : arrivals;
}

/** A silence that is unlike all others. The clock of the model stands still for `ms`. */
interface Pause {
  readonly from: number;
  readonly ms: number;
}

/** The pause before the last arrival, if there was one. */
function pauseIn(arrivals: readonly UploadPart[], startedAt: number | undefined): Pause | undefined {
  const [first] = arrivals;
  if (first === undefined || (startedAt === undefined && arrivals.length <= tuned.moreThanOneRound)) return undefined;
  const [longest, secondLongest] = silencesOf(arrivals).sort((a, b) => b.ms - a.ms);
  if (longest === undefined || secondLongest === undefined) return undefined;
  const beforeFirstMs = startedAt === undefined ? 0 : first.uploadedAt - startedAt;
  const usualMs = Math.max(secondLongest.ms, beforeFirstMs);
  if (longest.ms <= tuned.pauseFactor * Math.max(usualMs, lostMs)) return undefined;
  return { from: longest.from, ms: longest.ms - usualMs };
}

/** The times between one part and the next. */
const silencesOf = (arrivals: readonly UploadPart[]) =>
  arrivals.slice(1).map(({ uploadedAt }, index) => {
    const from = arrivals[index]?.uploadedAt ?? uploadedAt;
    return { from, ms: uploadedAt - from };
  });

/** A time on the clock that stands still in a pause. */
const activeTime = (time: number, pause: Pause | undefined) =>
  pause === undefined || time <= pause.from ? time : Math.max(pause.from, time - pause.ms);

/** The time of the service for a time on that clock. */
const serviceTime = (time: number, pause: Pause | undefined) =>
  pause === undefined || time <= pause.from ? time : time + pause.ms;

/** The pace of an upload whose first round is over. `idleMs` is the time since the last part. */
function paceOfEfforts(allEfforts: readonly Effort[], observed: Observed, idleMs: number): Pace {
  const { connections, now } = observed;
  const { count } = connections;
  const efforts = countedEfforts(allEfforts, count);
  const changeIndex = indexOfChange(efforts, count);
  const recent = efforts.slice(changeIndex ?? 0);
  const usualMs = median(recent.map(({ ms }) => ms));
  if (idleMs > stoppedAfter(usualMs)) return { kind: 'stopped', rate: rateOf(recent, count), ...observed };
  const overdue = overdueEfforts(observed, averageEffort(recent));
  const rate = rateOf([...recent, ...overdue], count);
  if (idleMs > usualMs && overdue.length > count / 2) {
    // Between the rate before a silence, if it is a pause, and the rate of the overdue parts, if it is a slower rate.
    const slowest = Math.max(rate.slowest, averageEffort(overdue));
    return { kind: 'unclear', why: 'late', clearAt: now - idleMs + usualMs, rate: { ...rate, slowest }, ...observed };
  }
  const isEven = unevennessOf(recent) < tuned.unevenFrom;
  const change = changeIndex === undefined ? undefined : claimOf(efforts, changeIndex, observed);
  return { kind: 'live', rate, isEven, change, ...observed };
}

/** The silence after which an upload has stopped (milliseconds). `usualMs` is the usual time of a part. */
function stoppedAfter(usualMs: number): number {
  const roundsMs = promised.stoppedRounds * usualMs;
  return Math.max(promised.stoppedMs, Math.min(roundsMs, Math.max(promised.longSilenceMs, roundsMs / 2)));
}

/** The efforts of the parts with a known begin. */
function effortsOf(connections: Connections): Effort[] {
  return connections.arrivals.flatMap(({ uploadedAt, size }, index) => {
    const begin = beginOf(connections, index);
    if (begin === undefined || size === 0) return [];
    return [{ ms: Math.max(1, uploadedAt - begin), size, endedAt: uploadedAt }];
  });
}

/** True if all parts may have been begun at once at an unknown time. */
function isMaybeOneRound({ count, arrivals, startedAt }: Connections, idleMs: number): boolean {
  if (startedAt !== undefined) return false;
  const waits = silencesOf(arrivals).map(({ ms }) => ms);
  if (count === 1) return arrivals.length <= tuned.moreThanOneRound && !isRegular(waits);
  const [longest = 0, secondLongest = 0] = [...waits, idleMs].sort((a, b) => b - a);
  // The only long wait may have been a pause.
  if (arrivals.length <= 3 * count && longest > tuned.doubtfulFactor * secondLongest) return true;
  if (arrivals.length > tuned.moreThanOneRound) return false;
  return arrivals.length < 2 * count || count !== firstBurstOf(arrivals);
}

/** True if the waits between parts are so even that the parts were sent one after the other. */
function isRegular(waits: readonly number[]): boolean {
  const spanMs = waits.reduce((sum, wait) => sum + wait, 0);
  if (waits.length < 3 || spanMs < roundingMs) return false;
  const irregularity = distanceFrom(spanMs / waits.length, waits) / spanMs;
  const isLong = waits.length >= tuned.moreThanOneRound / 2;
  return irregularity <= (isLong ? 3 : 1) * tuned.unevenFrom;
}

/** The time at which the first round is over if no further part comes. Undefined if it is over, or if its start is unknown. */
function firstRoundEnd({ count, arrivals, startedAt }: Connections): number | undefined {
  const last = arrivals.at(-1)?.uploadedAt;
  if (startedAt === undefined || last === undefined || arrivals.length > count) return undefined;
  // A single part that is not the first may be the short last one, or come in any order.
  if (arrivals.length === 1 && (arrivals[0]?.partNumber ?? 0) > 2) return Number.POSITIVE_INFINITY;
  return last + ((last - startedAt) * tuned.firstRoundSilence) / (1 - tuned.firstRoundSilence);
}

/**
 * Drops the efforts of the first round if another round has arrived, because clients prepare before they send. A first round of many
 * parts that took several times as long was sent at another speed, and may show a change.
 */
function countedEfforts(efforts: readonly Effort[], connectionCount: number): readonly Effort[] {
  const hasSecondRound = efforts.length >= connectionCount + Math.max(3, connectionCount);
  if (!hasSecondRound) return efforts;
  const firstRound = efforts.slice(0, connectionCount);
  const laterRounds = efforts.slice(connectionCount);
  const difference = spreadOf(firstRound).middle - spreadOf(laterRounds).middle;
  const mayShowChange = connectionCount >= promised.partsBeforeChange && difference > Math.log(tuned.largeChange);
  return mayShowChange ? efforts : laterRounds;
}

/** The parts in flight that take much longer than usual, each as if it had the usual size and arrived now. */
function overdueEfforts({ connections, now }: Observed, usualEffort: number): Effort[] {
  const size = median(connections.arrivals.map((part) => part.size));
  const overdueMs = Math.max(roundingMs, tuned.overdueFactor * usualEffort * size);
  const msInFlight = beginsInFlight(connections).map((begin) => now - begin);
  return msInFlight.filter((ms) => ms > overdueMs).map((ms) => ({ ms, size, endedAt: now }));
}

/** The known begins of the parts in flight, one for each connection. */
const beginsInFlight = (connections: Connections): number[] =>
  Array.from({ length: connections.count }, (_, ahead) =>
    beginOf(connections, connections.arrivals.length + ahead),
  ).filter((begin) => begin !== undefined);

/** Milliseconds per byte. */
const averageEffort = (efforts: readonly Effort[]) =>
  efforts.reduce((sum, { ms }) => sum + ms, 0) / efforts.reduce((sum, { size }) => sum + size, 0);

/** The average rate of efforts. The range holds the rates of both halves, if each half has a round of parts. */
function rateOf(efforts: readonly Effort[], connectionCount: number): Rate {
  const average = averageEffort(efforts);
  const rates = [average];
  const half = Math.floor(efforts.length / 2);
  if (half >= Math.max(3, connectionCount))
    rates.push(averageEffort(efforts.slice(0, half)), averageEffort(efforts.slice(half)));
  return {
    millisecondsPerByte: average,
    fastest: Math.min(...rates) / tuned.margin,
    slowest: Math.max(...rates) * tuned.margin,
  };
}

/** The logarithm of an effort. Shorter times count as `lostMs`, because some services give the times of parts in whole seconds. */
const logOf = ({ ms, size }: Effort) => Math.log(Math.max(lostMs, ms) / size);

/** The median of the efforts' logarithms, and the sum of the distances from the median. */
function spreadOf(efforts: readonly Effort[]) {
  const logs = efforts.map(logOf);
  const middle = median(logs);
  return { count: efforts.length, middle, distance: distanceFrom(middle, logs) };
}

/** The typical distance of an effort's logarithm from their median. */
function unevennessOf(efforts: readonly Effort[]): number {
  const { middle } = spreadOf(efforts);
  return median(efforts.map((effort) => Math.abs(logOf(effort) - middle)));
}

/**
 * Returns the index of the first effort after the change of speed that explains the efforts best, which leaves the least distances from the
 * medians before and since the change. Undefined if no change is clear.
 */
function indexOfChange(efforts: readonly Effort[], connectionCount: number): number | undefined {
  const firstIndex = Math.max(promised.partsBeforeChange, connectionCount);
  const lastIndex = efforts.length - Math.max(2, connectionCount);
  let leastDistance = spreadOf(efforts).distance;
  let bestIndex: number | undefined;
  for (let index = firstIndex; index <= lastIndex; index += 1) {
    const before = spreadOf(efforts.slice(0, index));
    const since = spreadOf(efforts.slice(index));
    const distance = before.distance + since.distance;
    if (distance >= leastDistance || !isClearChange(before, since, connectionCount)) continue;
    leastDistance = distance;
    bestIndex = index;
  }
  return bestIndex;
}

type Spread = ReturnType<typeof spreadOf>;

/** True if efforts changed by more than noise explains, and either much or for long enough. */
function isClearChange(before: Spread, since: Spread, connectionCount: number): boolean {
  const difference = Math.abs(before.middle - since.middle);
  const noise = (before.distance + since.distance) / (before.count + since.count);
  // The fewer rounds, the less sure are their medians.
  const noiseOfMedians = noise * Math.sqrt(connectionCount / before.count + connectionCount / since.count);
  const leastDifference = Math.max(Math.log(promised.changeFactor), tuned.noiseFactor * noiseOfMedians);
  const isLarge = difference > Math.log(tuned.largeChange);
  const isLong = since.count >= Math.max(promised.partsBeforeChange, 1.5 * connectionCount + 1);
  return difference > leastDifference && (isLarge || isLong);
}

/** The change of speed for users. Undefined if the average rates differ less than is promised. */
function claimOf(efforts: readonly Effort[], index: number, { connections, pause }: Observed): SpeedChange | undefined {
  const [before, after] = [averageEffort(efforts.slice(0, index)), averageEffort(efforts.slice(index))];
  if (Math.abs(Math.log(before / after)) < Math.log(promised.changeFactor)) return undefined;
  return {
    bytesPerSecondBefore: bytesPerSecond(before, connections.count),
    since: serviceTime(efforts[index - 1]?.endedAt ?? 0, pause),
  };
}

/** Bytes per second of all connections. */
export const bytesPerSecond = (millisecondsPerByte: number, connectionCount: number) =>
  (1000 * connectionCount) / millisecondsPerByte;

/**
 * Returns the seconds until `bytesLeft` bytes have come, or undefined if the end is too close to say. The sent bytes of the parts in flight
 * are subtracted. While all connections are busy, each has sent at most one part; at the end, free connections leave their share of the
 * rate to the others.
 */
export function secondsLeft(
  { connections, now }: Observed,
  millisecondsPerByte: number,
  bytesLeft: number,
): number | undefined {
  const { count, arrivals, startedAt } = connections;
  const partSize = median(arrivals.map(({ size }) => size));
  const isEnd = bytesLeft <= count * partSize;
  // Without a start, there may be more connections than were seen, and then more of the end is in flight.
  if (startedAt === undefined && count > 1 && bytesLeft <= 1.5 * count * partSize) return undefined;
  let sentBytes = 0;
  for (const begin of beginsInFlight(connections)) {
    sentBytes += Math.min(isEnd ? bytesLeft : partSize, (now - begin) / millisecondsPerByte);
  }
  return Math.max(1, Math.round(Math.max(0, bytesLeft - sentBytes) / bytesPerSecond(millisecondsPerByte, count)));
}
