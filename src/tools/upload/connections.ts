import { distanceFrom, median } from './numbers.js';
import type { UploadPart } from './part.js';
import { tuned } from './tuned.js';

/** How a client uploads. Times are milliseconds since 1970. */
export interface Connections extends ConnectionTimes {
  /** True if parts arrived about in the order of their numbers, or in the reverse order. Both may hold for a few parts. */
  readonly order: { readonly ascending: boolean; readonly descending: boolean };
}

/** The times from which the begin of each part follows. */
interface ConnectionTimes {
  /** Parts that the client uploads at a time. */
  readonly count: number;
  /** The last parts, in the order of their arrival. */
  readonly arrivals: readonly UploadPart[];
  /** Start of the upload. Undefined if it is unknown, or if `arrivals` lacks the first parts. */
  readonly startedAt: number | undefined;
}

/** More parts at a time than clients are known to upload. */
const maximumConnections = 32;
/** Number of the last parts that are examined, which is five rounds of most clients. */
const examinedParts = 160;
/** Shorter efforts are mostly rounding, because some services give times in whole seconds. */
const shortestMs = 100;

/**
 * Returns the time at which the sending of a part began: when the connection was free, which is the arrival of the part `count` places
 * before, or the start of the upload.
 * @param index of the part in `arrivals`. Higher indexes are parts in flight
 */
export const beginOf = ({ count, arrivals, startedAt }: ConnectionTimes, index: number): number | undefined =>
  index < count ? startedAt : arrivals[index - count]?.uploadedAt;

/**
 * Finds the number of connections for which all parts took about as long for their size. With too few connections, the parts of one burst
 * would have taken no time at all; with too many, the parts of the first round would have taken less than all later ones.
 * @param all parts in the order of their arrival, with known times
 * @param uploadStart the start of the upload, if known
 */
export function connectionsOf(all: readonly UploadPart[], uploadStart: number | undefined): Connections {
  const arrivals = all.slice(-examinedParts);
  const isStartBefore = uploadStart !== undefined && arrivals.every(({ uploadedAt }) => uploadedAt >= uploadStart);
  const startedAt = isStartBefore && arrivals.length === all.length ? uploadStart : undefined;
  const numbers = arrivals.map(({ partNumber }) => partNumber);
  const openIfAscending = mostOpen(numbers);
  const openIfDescending = mostOpen(numbers.map((number) => -number));
  const counts = possibleCounts(arrivals, Math.min(openIfAscending, openIfDescending), startedAt !== undefined);
  const candidates = counts.map((count) => ({
    count,
    // The sum of several efforts is more even than a single effort, by the root of their number.
    unevenness: Math.sqrt(count) * unevennessOf({ count, arrivals, startedAt }),
  }));
  const leastUnevenness = Math.min(...candidates.map(({ unevenness }) => unevenness));
  const factor = startedAt === undefined ? tuned.doubtfulFactor : tuned.sureFactor;
  const acceptedUnevenness = Math.max(tuned.evenEnough, factor * leastUnevenness);
  const count = candidates.find(({ unevenness }) => unevenness <= acceptedUnevenness)?.count ?? 1;
  const order = { ascending: openIfAscending <= 1.5 * count, descending: openIfDescending <= 1.5 * count };
  return { count, order, arrivals, startedAt };
}

/**
 * Numbers of connections that the arrivals allow, the smallest first.
 * @param open number of parts that were open at once, if parts were begun in an order
 */
function possibleCounts(arrivals: readonly UploadPart[], open: number, isStartKnown: boolean): number[] {
  const arrived = arrivals.length;
  const isOrdered = open <= Math.min(maximumConnections, arrived / 3);
  const openAtOnce = isOrdered ? open : 1;
  // Without a start, nothing is known about the first round but the parts that came in one burst.
  const least = isStartKnown ? openAtOnce : Math.max(openAtOnce, firstBurstOf(arrivals));
  const most = Math.floor(Math.min(maximumConnections, isStartKnown ? arrived : arrived / 2));
  return Array.from({ length: Math.max(1, most - least + 1) }, (_, more) => least + more);
}

/** Number of parts that came before the first long wait, which is several times as long as all the time until then; 1 if there is none. */
export function firstBurstOf(arrivals: readonly UploadPart[]): number {
  const first = arrivals[0]?.uploadedAt ?? 0;
  const indexAfterBurst = arrivals.findIndex(({ uploadedAt }, index) => {
    const previous = arrivals[index - 1]?.uploadedAt ?? first;
    return index > 2 && uploadedAt - previous > tuned.apartFactor * (previous - first);
  });
  return Math.min(maximumConnections, Math.max(1, indexAfterBurst));
}

/** Average distance of the efforts' logarithms from their median, where the effort of a part is its time for its size. */
function unevennessOf(times: ConnectionTimes): number {
  const logs = times.arrivals.flatMap(({ uploadedAt, size }, index) => {
    const begin = beginOf(times, index);
    return begin === undefined ? [] : [Math.log(Math.max(shortestMs, uploadedAt - begin) / Math.max(1, size))];
  });
  if (logs.length < 2) return Number.POSITIVE_INFINITY;
  return distanceFrom(median(logs), logs) / logs.length;
}

/**
 * The most parts that were open at once, if parts were begun by rising numbers: a part that arrives, and all lower parts that arrive later.
 * @param numbers part numbers in the order of their arrival
 */
function mostOpen(numbers: readonly number[]): number {
  const ascending = [...numbers].sort((a, b) => a - b);
  const rankOf = new Map(ascending.map((number, index) => [number, index + 1]));
  let highestRank = 0;
  let most = 1;
  for (const [arrivedBefore, number] of numbers.entries()) {
    highestRank = Math.max(highestRank, rankOf.get(number) ?? 0);
    most = Math.max(most, highestRank - arrivedBefore);
  }
  return most;
}
