import { distanceFrom, median } from './numbers.js';
import type { UploadPart } from './part.js';
import { tuned } from './tuned.js';

/** How a client uploads, as its arrived parts show. Times are milliseconds since 1970. */
export interface Connections extends ConnectionTimes {
  /** True if parts arrived about in the order of their numbers, or in the reverse order. If there are few parts, both may be true. */
  readonly order: { readonly ascending: boolean; readonly descending: boolean };
  /** The usual size of a part: the median of the sizes of `arrivals` (bytes). */
  readonly partSize: number;
}

/** The facts from which `beginOf` derives when the sending of each part began. */
interface ConnectionTimes {
  /** Number of parts that the client uploads at a time. */
  readonly count: number;
  /** The last `examinedParts` parts, in the order of their arrival. */
  readonly arrivals: readonly UploadPart[];
  /** Start of the upload. Undefined if it is unknown or wrong, or if the first parts are not in `arrivals`. */
  readonly startedAt: number | undefined;
}

/** Limit of the number of connections. Known clients have fewer. */
const maximumConnections = 32;
/** Only this number of the last parts is examined, which is five rounds of a client with `maximumConnections` connections. */
const examinedParts = 160;
/** Rising or falling numbers fit if they need at most this many times the likely number of connections. */
const orderTolerance = 1.5;
/** A shorter time of a part counts as `shortestMs`. Some services give times in whole seconds, so a very short time is mostly rounding. */
const shortestMs = 100;

/**
 * Returns the time at which the sending of a part began, which is when a connection became free for it. With four connections, the fifth
 * part began when the first part arrived; the first four parts began with the upload.
 * @param index of the part in `arrivals`. Indexes past the end stand for the parts in flight
 */
export const beginOf = ({ count, arrivals, startedAt }: ConnectionTimes, index: number): number | undefined =>
  index < count ? startedAt : arrivals[index - count]?.uploadedAt;

/**
 * Finds out how a client uploads, from the order and the times of its parts.
 * @param all parts in the order of their arrival, with known times
 * @param uploadStart the start of the upload, if known
 * @returns `startedAt` as undefined if the start is unknown, wrong or of no use
 */
export function connectionsOf(all: readonly UploadPart[], uploadStart: number | undefined): Connections {
  const arrivals = all.slice(-examinedParts);
  // The start says when the first parts began, so it is of use only if they are examined. A start after an arrival is wrong.
  const areFirstExamined = arrivals.length === all.length;
  const isStartWrong = uploadStart !== undefined && arrivals.some(({ uploadedAt }) => uploadedAt < uploadStart);
  const startedAt = areFirstExamined && !isStartWrong ? uploadStart : undefined;

  // The more parts arrive out of order, the more connections the client must have. It may begin parts by rising numbers (ascending) or by
  // falling numbers (descending). `leastNeeded` is for rising numbers, so falling numbers are negated.
  const numbers = arrivals.map(({ partNumber }) => partNumber);
  const neededIfAscending = leastNeeded(numbers);
  const neededIfDescending = leastNeeded(numbers.map((number) => -number));
  // The client may use either order, so only the smaller number is certain.
  const count = likelyCount(arrivals, Math.min(neededIfAscending, neededIfDescending), startedAt);

  // A client may begin some parts a little out of order, so an order may need a few more connections than `count`.
  const fits = (needed: number) => needed <= orderTolerance * count;
  const order = { ascending: fits(neededIfAscending), descending: fits(neededIfDescending) };
  return { count, order, arrivals, startedAt, partSize: median(arrivals.map(({ size }) => size)) };
}

/**
 * Returns the number of connections that explains the times of the arrivals. With n connections, the first n parts began with the upload. Each
 * later part began when the part n places before it in the order of arrival had arrived, because that freed a connection. The result is the
 * smallest number for which all parts then took about the same time for their size. With too small a number, parts that arrived together
 * would have taken no time at all. With too large a number, the first parts would have taken much less time than later ones.
 * @param needed the least number of connections that explains the order of the arrivals
 */
function likelyCount(arrivals: readonly UploadPart[], needed: number, startedAt: number | undefined): number {
  const candidates = possibleCounts(arrivals, needed, startedAt).map((count) => ({
    count,
    // The time of a part is a sum of `count` waits between arrivals, so it is more even than a single wait, by a factor of sqrt(count).
    // Multiplying by this factor makes the candidates comparable.
    unevenness: Math.sqrt(count) * unevennessOf({ count, arrivals, startedAt }),
  }));
  const leastUnevenness = Math.min(...candidates.map(({ unevenness }) => unevenness));
  // If the start is unknown, the first parts have no times, which would show that a number is too large. So a larger factor then makes
  // smaller numbers acceptable.
  const factor = startedAt === undefined ? tuned.doubtfulFactor : tuned.sureFactor;
  const acceptedUnevenness = Math.max(tuned.evenEnough, factor * leastUnevenness);
  // The candidates are sorted by `count`, so this is the smallest number that explains the times well enough. There is always one, because
  // the least uneven candidate is accepted. The default is for the compiler.
  return candidates.find(({ unevenness }) => unevenness <= acceptedUnevenness)?.count ?? 1;
}

/**
 * The possible numbers of connections, the smallest first.
 * @param needed the least number of connections that explains the order of the arrivals, if parts are begun by number
 */
function possibleCounts(arrivals: readonly UploadPart[], needed: number, startedAt: number | undefined): number[] {
  const arrived = arrivals.length;
  // If `needed` is above this limit, parts are begun in no order, so it says nothing about the number of connections.
  const isOrdered = needed <= Math.min(maximumConnections, arrived / 3);
  const leastByOrder = isOrdered ? needed : 1;

  const isStartKnown = startedAt !== undefined;
  // If the start is unknown, a burst at the beginning shows how many parts the first round has at least.
  const least = isStartKnown ? leastByOrder : Math.max(leastByOrder, firstBurstOf(arrivals));
  // If the start is unknown, only parts after the first round show how long a part takes. They must be at least half of all parts.
  const most = Math.floor(Math.min(maximumConnections, isStartKnown ? arrived : arrived / 2));
  return Array.from({ length: Math.max(1, most - least + 1) }, (_, index) => least + index);
}

/** The number of parts that arrived in a burst at the beginning, before a wait `apartFactor` times as long. 1 if there was no burst. */
export function firstBurstOf(arrivals: readonly UploadPart[]): number {
  const firstTime = arrivals[0]?.uploadedAt ?? 0;
  const indexAfterBurst = arrivals.findIndex(({ uploadedAt }, index) => {
    const previousTime = arrivals[index - 1]?.uploadedAt ?? firstTime;
    return index > 2 && uploadedAt - previousTime > tuned.apartFactor * (previousTime - firstTime);
  });
  return Math.min(maximumConnections, Math.max(1, indexAfterBurst));
}

/** The unevenness of efforts: the average distance of their logarithms from the median. An effort is the time a part took for its size. */
function unevennessOf(times: ConnectionTimes): number {
  const logs = times.arrivals.flatMap(({ uploadedAt, size }, index) => {
    const begin = beginOf(times, index);
    return begin === undefined ? [] : [Math.log(Math.max(shortestMs, uploadedAt - begin) / Math.max(1, size))];
  });
  if (logs.length < 2) return Number.POSITIVE_INFINITY;
  return distanceFrom(median(logs), logs) / logs.length;
}

/**
 * Returns the least number of connections that explains the order of the arrivals, if parts are begun by rising numbers. If part 5 arrives
 * first, parts 1 to 4 must have been begun before it, so at least five connections are needed.
 * @param numbers part numbers in the order of their arrival
 */
function leastNeeded(numbers: readonly number[]): number {
  const ascending = [...numbers].sort((a, b) => a - b);
  const rankOf = new Map(ascending.map((number, index) => [number, index + 1]));
  let begunCount = 0;
  let mostInFlight = 1;
  for (const [arrivedBefore, number] of numbers.entries()) {
    begunCount = Math.max(begunCount, rankOf.get(number) ?? 0);
    mostInFlight = Math.max(mostInFlight, begunCount - arrivedBefore);
  }
  return mostInFlight;
}
