import { beginOf, type Connections, connectionsOf, firstBurstOf } from './connections.js';
import { distanceFrom, median } from './numbers.js';
import type { UploadPart } from './part.js';
import { tuned } from './tuned.js';

/**
 * This file has the model of an upload. A client keeps a number of connections busy, and each connection sends one part after the other.
 * Times are milliseconds since 1970, sizes are bytes. The terms:
 * - Begin of a part: the time when a connection became free for it. With four connections, the fifth part began when the first arrived.
 * - Wait: the time between an arrival and the next one. Silence: a wait, or the time since the last arrival. Burst: parts that arrive
 *   together, before a long wait.
 * - Round: as many parts as there are connections. The parts of the first round began with the upload.
 * - Effort of a part: the time that the part took, and its size. All efforts together give the rate. Efforts of the first round count only
 *   until a second round has arrived, because in the first round clients also prepare, such as opening connections.
 * - Unevenness: the usual distance of efforts from their median. Noise: the unevenness before and since a change of speed.
 * - Pause: a silence that is much longer than all others. Times are by a clock that stands still in a pause, so no part seems slow.
 * - Change of speed: a time that divides the efforts into two rates, which explain the efforts clearly better than one rate does. Only
 *   efforts since the change count.
 * - Overdue part: a part that has been in flight for much longer than usual. If most are overdue, the rate is unknown until they arrive.
 * - Time left: the rest of the bytes at the rate. Its range holds the rates of both halves of the efforts, and a margin.
 */

/** The time that a part took, and its size. */
interface Effort {
  readonly ms: number;
  readonly size: number;
  readonly endedAt: number;
}

/**
 * The pace of an upload:
 * - `unknown`: no part has come, or no time could be read.
 * - `live`: parts come at a known rate.
 * - `unclear`: there is no rate to show, for the reason `why`.
 * - `stopped`: no part has come for so long that none is likely to come. `rate` is the rate before the upload stopped.
 */
export type Pace =
  | { readonly kind: 'unknown' }
  | (Observed & {
      readonly kind: 'live';
      readonly rate: Rate;
      readonly change?: SpeedChange | undefined;
      /** False if efforts differ too much to tell which parts are in flight, as with clients that fill their memory before they send. */
      readonly isEven: boolean;
    })
  | (Observed & {
      readonly kind: 'unclear';
      readonly why: WhyUnclear;
      /** When there will be a rate or, if `why` is `late`, when the next part was due. */
      readonly dueAt?: number | undefined;
      /** Set if `why` is `late`, only to estimate the range of the time left. */
      readonly rate?: Rate;
    })
  | (Observed & { readonly kind: 'stopped'; readonly rate?: Rate });

interface Observed {
  readonly connections: Connections;
  /** Time of the service's answer, corrected by `lostMs`. Like the times in `connections`, it is by a clock that stands still in a pause. */
  readonly activeNow: number;
  readonly pause: Pause | undefined;
}

/**
 * Why there is no rate:
 * - `begun`: the start is known, and the first round is arriving and may have more parts.
 * - `one round`: the start is unknown, and all parts may have been begun at once, so no part shows how long it took. Or all parts are empty.
 * - `late`: most parts in flight are overdue, because of a pause or a slower rate.
 */
type WhyUnclear = 'begun' | 'one round' | 'late';

/** A rate in milliseconds that a connection takes for a byte. */
export interface Rate {
  readonly millisecondsPerByte: number;
  /** The ends of the range in which the rate is, in milliseconds per byte. `fastest` is the smaller number. */
  readonly fastest: number;
  readonly slowest: number;
}

interface SpeedChange {
  /** Rate of all connections before the change. */
  readonly bytesPerSecondBefore: number;
  readonly since: number;
}

/** Limits that users can rely on. */
const promised = {
  /** A change of speed is reported only if the rates differ by at least this factor. */
  changeFactor: 1.25,
  /** A change of speed is reported only if at least this many parts, and at least one round, came before it. */
  partsBeforeChange: 5,
  /** An upload has stopped after a silence of this many times the usual time of a part. */
  stoppedRounds: 5,
  /** An upload is never called stopped after a shorter silence. */
  stoppedMs: 120_000,
  /**
   * If the silence is longer than this, half of `stoppedRounds` is enough, so that a dead upload is usually called stopped within five minutes.
   */
  longSilenceMs: 280_000,
  /** An upload without any rate is called stopped after this silence. */
  stoppedWithoutRateMs: 1_800_000,
};

/** A change of speed is reported only if at least this many parts, and at least one round, came after it. */
const minimumPartsSinceChange = 2;
/** Services cut times to whole seconds, so half a second is lost on average. A shorter time counts as `lostMs`. */
const lostMs = 500;
/** If the start of an upload is unknown, it may have up to this many times as many connections as its parts show. */
const mostConnectionsFactor = 1.5;
/** Times shorter than this are too inexact for conclusions, because services round them to whole seconds. */
const roundingMs = 5000;

/**
 * Returns the pace of an upload, which follows from the efforts of its parts (terms: see the beginning of this file).
 * @param checkedAt time when the service listed the parts. If it is unknown, so is the pace
 * @param startedAt start of the upload, if known
 */
export function paceOf(parts: readonly UploadPart[], checkedAt: number | undefined, startedAt?: number): Pace {
  const timed = parts.filter(({ uploadedAt }) => !Number.isNaN(uploadedAt));
  const arrivals = withoutShortFirstPart(timed.sort((a, b) => a.uploadedAt - b.uploadedAt));
  const last = arrivals.at(-1);
  if (last === undefined || checkedAt === undefined) return { kind: 'unknown' };

  // The service cuts times to whole seconds. On average, `lostMs` makes up for that.
  const serviceNow = Math.max(checkedAt + lostMs, last.uploadedAt);
  const idleMs = serviceNow - last.uploadedAt;
  // From here on, times are by a clock that stands still in the pause, so that no part seems slow. `startedAt` and `idleMs` need no conversion,
  // because the pause is between two arrivals.
  const pause = pauseIn(arrivals, startedAt);
  const activeArrivals = arrivals.map((part) => ({ ...part, uploadedAt: activeTime(part.uploadedAt, pause) }));
  const connections = connectionsOf(activeArrivals, startedAt);
  const observed = { connections, activeNow: activeTime(serviceNow, pause), pause };

  const efforts = effortsOf(connections);
  // Without efforts, all parts are empty, or they are a single round whose begin is unknown.
  if (efforts.length === 0) return paceWithoutRate(observed, idleMs);
  if (connections.startedAt !== undefined) {
    return paceInFirstRound(connections.startedAt, observed) ?? paceOfEfforts(efforts, observed, idleMs);
  }

  // Without a known start, the efforts suppose that each part began when another arrived. That is wrong if all parts are one round, which
  // began at once.
  if (isMaybeOneRound(connections, idleMs)) return paceWithoutRate(observed, idleMs);
  return paceOfEfforts(efforts, observed, idleMs);
}

/**
 * The pace while the first round arrives; undefined if the round has ended. The round may still get more parts, so neither the number of
 * connections nor the rate is certain.
 */
function paceInFirstRound(startedAt: number, observed: Observed): Pace | undefined {
  const endsAt = firstRoundEnd(observed.connections, startedAt);
  const isArriving = observed.activeNow < endsAt;
  if (!isArriving) return undefined;

  // Infinite if only another part can end the first round.
  const dueAt = Number.isFinite(endsAt) ? endsAt : undefined;
  return { kind: 'unclear', why: 'begun', dueAt, ...observed };
}

/** The pace if no rate is known. Nothing then shows how long a silence is usual, so the upload is called stopped only after a very long silence. */
const paceWithoutRate = (observed: Observed, idleMs: number): Pace =>
  idleMs > promised.stoppedWithoutRateMs
    ? { kind: 'stopped', ...observed }
    : { kind: 'unclear', why: 'one round', ...observed };

/** Drops the first arrival if it is short, because some clients send the short last part first. Its time says little about the others. */
function withoutShortFirstPart(arrivals: readonly UploadPart[]): readonly UploadPart[] {
  const isShort = 2 * (arrivals[0]?.size ?? 0) < median(arrivals.map(({ size }) => size));
  return isShort ? arrivals.slice(1) : arrivals;
}

/** A silence that is much longer than all others. The clock of `activeTime` stands still from `from` on for `ms`. */
interface Pause {
  readonly from: number;
  readonly ms: number;
}

/** The pause between two arrivals, if there was one. The silence since the last arrival is never called a pause. */
function pauseIn(arrivals: readonly UploadPart[], startedAt: number | undefined): Pause | undefined {
  const [first] = arrivals;
  if (first === undefined) return undefined;
  // With few parts and an unknown start, the longest silence may just be the usual time between two rounds.
  if (startedAt === undefined && arrivals.length <= tuned.moreThanOneRound) return undefined;

  const [longest, secondLongest] = silencesOf(arrivals).sort((a, b) => b.ms - a.ms);
  if (longest === undefined || secondLongest === undefined) return undefined;

  const beforeFirstMs = startedAt === undefined ? 0 : first.uploadedAt - startedAt;
  const usualMs = Math.max(secondLongest.ms, beforeFirstMs);
  if (longest.ms <= tuned.pauseFactor * Math.max(usualMs, lostMs)) return undefined;
  // Only the part of the silence that is longer than usual is the pause.
  return { from: longest.from, ms: longest.ms - usualMs };
}

/** The silences between each part and the next, with their begin (`from`) and length. */
const silencesOf = (arrivals: readonly UploadPart[]) =>
  arrivals.slice(1).map(({ uploadedAt }, index) => {
    const from = arrivals[index]?.uploadedAt ?? uploadedAt;
    return { from, ms: uploadedAt - from };
  });

/** Converts a time by the service's clock to a time by the clock that stands still in a pause. The time must not be inside the pause. */
const activeTime = (time: number, pause: Pause | undefined) =>
  pause === undefined || time <= pause.from ? time : time - pause.ms;

/** Converts a time by the clock that stands still in a pause to a time by the service's clock. */
const serviceTime = (time: number, pause: Pause | undefined) =>
  pause === undefined || time <= pause.from ? time : time + pause.ms;

/** The pace of an upload after its first round, by the efforts (time and size) of its parts. `idleMs` is the time since the last part. */
function paceOfEfforts(allEfforts: readonly Effort[], observed: Observed, idleMs: number): Pace {
  const { connections, activeNow } = observed;
  const { count: connectionCount } = connections;

  const relevantEfforts = withoutFirstRound(allEfforts, connectionCount);
  const changeIndex = indexOfChange(relevantEfforts, connectionCount);
  // Only efforts since the last change of speed show how fast the upload is now. Without a change, all efforts do.
  const sinceChange = relevantEfforts.slice(changeIndex ?? 0);
  const usualPartMs = median(sinceChange.map(({ ms }) => ms));
  if (idleMs > stoppedAfter(usualPartMs))
    return { kind: 'stopped', rate: rateOf(sinceChange, connectionCount), ...observed };

  // The rate includes the overdue parts with their time until now.
  const overdue = overdueEfforts(observed, msPerByteOf(sinceChange));
  const rate = rateOf([...sinceChange, ...overdue], connectionCount);

  // True if even the connection that sent the last part should have sent another part since then.
  const isNextPartLate = idleMs > usualPartMs;
  const areMostOverdue = overdue.length > connectionCount / 2;
  // The rate is unclear if no part arrives and most connections are late. Otherwise, the parts that arrive still show the rate.
  if (isNextPartLate && areMostOverdue) {
    // This may be a pause, after which the rate is the same, or the upload is at least as slow as the overdue parts show. The range allows
    // both. The larger number is the slower rate, because it is in milliseconds per byte.
    const slowest = Math.max(rate.slowest, msPerByteOf(overdue));
    // The time when the next part should have arrived. It tells users for how long the part has been late.
    const nextPartDueAt = activeNow - idleMs + usualPartMs;
    return { kind: 'unclear', why: 'late', dueAt: nextPartDueAt, rate: { ...rate, slowest }, ...observed };
  }

  const isEven = medianDistance(sinceChange) < tuned.unevenFrom;
  const change = changeIndex === undefined ? undefined : changeAt(relevantEfforts, changeIndex, observed);
  return { kind: 'live', rate, isEven, change, ...observed };
}

/** The silence after which an upload has stopped (milliseconds). `usualPartMs` is the usual time of a part. See `promised` for the rules. */
function stoppedAfter(usualPartMs: number): number {
  const roundsMs = promised.stoppedRounds * usualPartMs;
  const longMs = Math.max(promised.longSilenceMs, roundsMs / 2);
  return Math.max(promised.stoppedMs, Math.min(roundsMs, longMs));
}

/** The efforts of the parts whose begin and size are known. */
function effortsOf(connections: Connections): Effort[] {
  return connections.arrivals.flatMap(({ uploadedAt, size }, index) => {
    const begin = beginOf(connections, index);
    if (begin === undefined || size === 0) return [];
    return [{ ms: Math.max(1, uploadedAt - begin), size, endedAt: uploadedAt }];
  });
}

/** True if all parts may have begun at once at an unknown time, so that none shows how long it took. `idleMs` is the silence until now. */
function isMaybeOneRound({ count, arrivals }: Connections, idleMs: number): boolean {
  const waits = silencesOf(arrivals).map(({ ms }) => ms);
  const isCertainlyMore = arrivals.length > tuned.moreThanOneRound;
  // Regular waits show that there is one connection. Otherwise, few parts may be a round of more connections.
  if (count === 1) return !isCertainlyMore && !isRegular(waits);
  // If only one wait was long, it may have been a pause in a single round, not the time between two rounds.
  const [longest = 0, secondLongest = 0] = [...waits, idleMs].sort((a, b) => b - a);
  const isOnlyOneLong = longest > tuned.doubtfulFactor * secondLongest;
  if (isOnlyOneLong && arrivals.length <= 3 * count) return true;
  if (isCertainlyMore) return false;
  // So few parts are certainly two rounds only if the first burst had `count` parts, and at least as many have followed.
  return arrivals.length < 2 * count || count !== firstBurstOf(arrivals);
}

/** True if the waits between parts are so even that the parts must have been sent one after the other. */
function isRegular(waits: readonly number[]): boolean {
  const spanMs = waits.reduce((sum, wait) => sum + wait, 0);
  if (waits.length < 3 || spanMs < roundingMs) return false;
  const irregularity = distanceFrom(spanMs / waits.length, waits) / spanMs;
  // A few waits may be even by chance, but hardly many. So for many waits, the limit is three times as high.
  const areMany = waits.length >= tuned.moreThanOneRound / 2;
  return irregularity <= (areMany ? 3 : 1) * tuned.unevenFrom;
}

/**
 * Returns the time when the first round ends if no further part arrives; `Infinity` if only another part can end it. If the first round has
 * ended already, this is the time of the last part, which is past.
 */
function firstRoundEnd({ count, arrivals }: Connections, startedAt: number): number {
  const last = arrivals.at(-1)?.uploadedAt ?? 0;
  if (arrivals.length > count) return last;
  // A single part with a high number says little, because it may be the short last part, or parts may arrive in any order.
  if (arrivals.length === 1 && (arrivals[0]?.partNumber ?? 0) > 2) return Number.POSITIVE_INFINITY;
  // At this time, the silence since the last part is the share `firstRoundSilence` of the whole time since the start.
  return last + ((last - startedAt) * tuned.firstRoundSilence) / (1 - tuned.firstRoundSilence);
}

/**
 * Drops the efforts of the first round if a second round has arrived, because clients also prepare during the first round. But if the first
 * round has many parts and took more than `largeChange` times as long, it may show a change of speed, and stays.
 */
function withoutFirstRound(efforts: readonly Effort[], connectionCount: number): readonly Effort[] {
  const hasSecondRound = efforts.length >= connectionCount + Math.max(3, connectionCount);
  if (!hasSecondRound) return efforts;
  const firstRound = efforts.slice(0, connectionCount);
  const laterRounds = efforts.slice(connectionCount);
  const difference = spreadOf(firstRound).middle - spreadOf(laterRounds).middle;
  const mayShowChange = connectionCount >= promised.partsBeforeChange && difference > Math.log(tuned.largeChange);
  return mayShowChange ? efforts : laterRounds;
}

/** The efforts of the overdue parts in flight, as if each had the usual size and arrived now. The real efforts will be larger. */
function overdueEfforts({ connections, activeNow }: Observed, usualMsPerByte: number): Effort[] {
  const { partSize: size } = connections;
  const overdueAfterMs = Math.max(roundingMs, tuned.overdueFactor * usualMsPerByte * size);
  const msInFlight = lastFreedTimes(connections).map((freedAt) => activeNow - freedAt);
  return msInFlight.filter((ms) => ms > overdueAfterMs).map((ms) => ({ ms, size, endedAt: activeNow }));
}

/**
 * The time when each connection last became free, or the start of the upload. A part that the connection sends now began at this time.
 * Unknown times are left out.
 */
const lastFreedTimes = (connections: Connections): number[] =>
  Array.from({ length: connections.count }, (_, ahead) =>
    beginOf(connections, connections.arrivals.length + ahead),
  ).filter((begin) => begin !== undefined);

/** The milliseconds that a byte took on average. Large parts count more than small parts. */
const msPerByteOf = (efforts: readonly Effort[]) =>
  efforts.reduce((sum, { ms }) => sum + ms, 0) / efforts.reduce((sum, { size }) => sum + size, 0);

/** The average rate of efforts. Its range holds the rates of the first and the second half, if each half has at least a round of parts. */
function rateOf(efforts: readonly Effort[], connectionCount: number): Rate {
  const average = msPerByteOf(efforts);
  const rates = [average];
  const half = Math.floor(efforts.length / 2);
  if (half >= Math.max(3, connectionCount)) {
    rates.push(msPerByteOf(efforts.slice(0, half)), msPerByteOf(efforts.slice(half)));
  }
  return {
    millisecondsPerByte: average,
    fastest: Math.min(...rates) / tuned.margin,
    slowest: Math.max(...rates) * tuned.margin,
  };
}

/** The logarithm of an effort. Times shorter than `lostMs` count as `lostMs`, because they are mostly rounding. */
const logOf = ({ ms, size }: Effort) => Math.log(Math.max(lostMs, ms) / size);

/** The median of the efforts' logarithms (`middle`), and the sum of the distances from this median (`distance`). */
function spreadOf(efforts: readonly Effort[]) {
  const logs = efforts.map(logOf);
  const middle = median(logs);
  return { count: efforts.length, middle, distance: distanceFrom(middle, logs) };
}

/** The unevenness of efforts: the median distance of their logarithms from the median logarithm. */
function medianDistance(efforts: readonly Effort[]): number {
  const { middle } = spreadOf(efforts);
  return median(efforts.map((effort) => Math.abs(logOf(effort) - middle)));
}

/**
 * Finds the change of speed that explains the efforts best: it divides them into two groups so that their distances from the medians of
 * their groups have the smallest sum. Returns the index of the first effort since the change, or undefined if no change is clear.
 */
function indexOfChange(efforts: readonly Effort[], connectionCount: number): number | undefined {
  // Each group needs a minimum of parts, because a single part may be slow by chance. A group also needs as many parts as there are
  // connections, because one connection may be slower than the others.
  const minimumBefore = Math.max(promised.partsBeforeChange, connectionCount);
  const minimumSince = Math.max(minimumPartsSinceChange, connectionCount);

  // The distance without any change, which a change has to undercut.
  let leastDistance = spreadOf(efforts).distance;
  let bestIndex: number | undefined;
  for (let index = minimumBefore; index <= efforts.length - minimumSince; index += 1) {
    const before = spreadOf(efforts.slice(0, index));
    const since = spreadOf(efforts.slice(index));
    const distance = before.distance + since.distance;
    if (distance < leastDistance && isClearChange(before, since, connectionCount)) {
      leastDistance = distance;
      bestIndex = index;
    }
  }
  return bestIndex;
}

type Spread = ReturnType<typeof spreadOf>;

/** True if the speed changed by more than noise explains, and either by a large factor or for many parts. */
function isClearChange(before: Spread, since: Spread, connectionCount: number): boolean {
  const difference = Math.abs(before.middle - since.middle);
  const noise = (before.distance + since.distance) / (before.count + since.count);
  // A median of few rounds is less certain than a median of many.
  const noiseOfMedians = noise * Math.sqrt(connectionCount / before.count + connectionCount / since.count);
  const leastDifference = Math.max(Math.log(promised.changeFactor), tuned.noiseFactor * noiseOfMedians);
  const isLarge = difference > Math.log(tuned.largeChange);
  const isLong = since.count >= Math.max(promised.partsBeforeChange, 1.5 * connectionCount + 1);
  return difference > leastDifference && (isLarge || isLong);
}

/** The change of speed at `index`, for users. Undefined if the average rates differ by less than the promised `changeFactor`. */
function changeAt(efforts: readonly Effort[], index: number, observed: Observed): SpeedChange | undefined {
  const before = msPerByteOf(efforts.slice(0, index));
  const since = msPerByteOf(efforts.slice(index));
  if (Math.abs(Math.log(before / since)) < Math.log(promised.changeFactor)) return undefined;
  return {
    bytesPerSecondBefore: bytesPerSecond(before, observed.connections.count),
    since: serviceTime(efforts[index - 1]?.endedAt ?? 0, observed.pause),
  };
}

/** Converts milliseconds per byte of one connection to bytes per second of all connections. */
export const bytesPerSecond = (millisecondsPerByte: number, connectionCount: number) =>
  (1000 * connectionCount) / millisecondsPerByte;

/**
 * Returns how many seconds the remaining `bytesLeft` bytes take: the likely number and a range. Undefined if the end is too close to say. Some
 * of these bytes are already sent, in parts that are in flight.
 */
export function secondsLeft({ connections, activeNow }: Observed, rate: Rate, bytesLeft: number) {
  const { count, partSize, startedAt } = connections;
  const roundSize = count * partSize;
  // If the start is unknown, there may be more connections than `count`. Then all bytes left may be in flight, and nothing shows how many of
  // them are sent. A count of 1 is certain, because `connectionsOf` finds it only for parts that arrive as evenly as from a single connection.
  const isCountCertain = startedAt !== undefined || count === 1;
  const mayAllBeInFlight = bytesLeft <= mostConnectionsFactor * roundSize;
  if (!isCountCertain && mayAllBeInFlight) return undefined;

  // Since it last became free, each connection has sent bytes at the rate: at most one part, because after a part it becomes free again. But
  // in the last round, a free connection gets no new part, and the others send faster with its bandwidth. So the bytes that it could have sent
  // count as sent, too, and only the number of bytes left limits them.
  const isLastRound = bytesLeft <= roundSize;
  const mostBytesPerConnection = isLastRound ? bytesLeft : partSize;
  const secondsAt = (millisecondsPerByte: number) => {
    let sentBytes = 0;
    for (const freedAt of lastFreedTimes(connections)) {
      const bytesOfConnection = (activeNow - freedAt) / millisecondsPerByte;
      sentBytes += Math.min(mostBytesPerConnection, bytesOfConnection);
    }
    const secondsForRest = (bytesLeft - sentBytes) / bytesPerSecond(millisecondsPerByte, count);
    // At least 1 second, because the parts in flight have not arrived, even if all of their bytes are sent.
    return Math.max(1, Math.round(secondsForRest));
  };
  const range = { from: secondsAt(rate.fastest), to: secondsAt(rate.slowest) };
  return { likely: secondsAt(rate.millisecondsPerByte), range };
}
