import { distanceFrom, median } from './numbers.js';
import type { UploadPart } from './part.js';
import { tuned } from './tuned.js';

/** How a client uploads. Times are milliseconds since 1970. */
export interface Connections {
  /** Parts that the client uploads at a time. */
  readonly count: number;
  /** True if parts arrived about in the order of their numbers, or in the reverse order. Both may hold for a few parts. */
  readonly order: { readonly ascending: boolean; readonly descending: boolean };
  /** The last parts, in the order of their arrival. */
  readonly arrivals: readonly UploadPart[];
  /** Start of the part that arrived as the nth, or will arrive as the nth. Undefined in the first round if the upload's start is unknown. */
  begunAt(index: number): number | undefined;
}

/** More parts at a time than clients are known to upload. */
export const maximumConnections = 32;
/** Number of the last parts that are examined, which is five rounds of most clients. */
const examinedParts = 160;
/** Shorter efforts are mostly rounding, because some services give times in whole seconds. */
const shortestMs = 100;

/**
 * Finds the number of connections for which all parts took about as long for their size. With too few connections, the parts of one burst
 * would have taken no time at all; with too many, the parts of the first round would have taken less than all later ones.
 * @param all parts in the order of their arrival, with known times
 * @param startedAt the start of the upload, if known
 */
export function connectionsOf(all: readonly UploadPart[], startedAt: number | undefined): Connections {
  const arrivals = all.slice(-examinedParts);
  const first = arrivals[0]?.uploadedAt ?? Number.POSITIVE_INFINITY;
  const start = startedAt === undefined || startedAt > first || all.length > examinedParts ? undefined : startedAt;
  const begunWith = (count: number) => (index: number) => (index < count ? start : arrivals[index - count]?.uploadedAt);
  const numbers = arrivals.map(({ partNumber }) => partNumber);
  const openIfAscending = mostOpen(numbers);
  const openIfDescending = mostOpen(numbers.map((number) => -number));
  const counts = possibleCounts(arrivals, Math.min(openIfAscending, openIfDescending), start !== undefined);
  // The sum of several efforts is more even than a single effort, by the root of their number.
  const unevenness = counts.map((count) => Math.sqrt(count) * unevennessOf(arrivals, begunWith(count)));
  const factor = start === undefined ? tuned.doubtfulFactor : tuned.sureFactor;
  const tolerated = Math.max(tuned.evenEnough, factor * Math.min(...unevenness));
  const count = counts[unevenness.findIndex((value) => value <= tolerated)] ?? 1;
  return {
    count,
    order: { ascending: openIfAscending <= 1.5 * count, descending: openIfDescending <= 1.5 * count },
    arrivals,
    begunAt: begunWith(count),
  };
}

/** Numbers of connections that the arrivals allow. `open` parts were open at once, if parts were begun in an order. */
function possibleCounts(arrivals: readonly UploadPart[], open: number, isStartKnown: boolean): number[] {
  const arrived = arrivals.length;
  const isOrdered = open <= Math.min(maximumConnections, arrived / 3);
  const openAtOnce = isOrdered ? open : 1;
  // Without a start, nothing is known about the first round but the parts that came in one burst.
  const least = isStartKnown ? openAtOnce : Math.max(openAtOnce, firstBurstOf(arrivals));
  const most = Math.floor(Math.min(maximumConnections, isStartKnown ? arrived : arrived / 2));
  return Array.from({ length: Math.max(1, most - least + 1) }, (_, more) => least + more);
}

/** Parts that came before the first wait that is several times as long as all the time until then; 1 if there is no such wait. */
export function firstBurstOf(arrivals: readonly UploadPart[]): number {
  const first = arrivals[0]?.uploadedAt ?? 0;
  const end = arrivals.findIndex(({ uploadedAt }, index) => {
    const before = arrivals[index - 1]?.uploadedAt ?? first;
    return index > 2 && uploadedAt - before > tuned.apartFactor * (before - first);
  });
  return Math.min(maximumConnections, Math.max(1, end));
}

/** Average distance of the efforts' logarithms from their median. */
function unevennessOf(arrivals: readonly UploadPart[], begunAt: Connections['begunAt']): number {
  const logs = arrivals.flatMap(({ uploadedAt, size }, index) => {
    const begun = begunAt(index);
    return begun === undefined ? [] : [Math.log(Math.max(shortestMs, uploadedAt - begun) / Math.max(1, size))];
  });
  if (logs.length < 2) return Number.POSITIVE_INFINITY;
  return distanceFrom(median(logs), logs) / logs.length;
}

/**
 * The most parts that were open at once, if parts were begun by rising numbers: a part that arrives, and all lower parts that arrive later.
 * @param numbers part numbers in the order of their arrival
 */
function mostOpen(numbers: readonly number[]): number {
  const rankOf = new Map([...numbers].sort((a, b) => a - b).map((number, index) => [number, index + 1]));
  let highestRank = 0;
  let most = 1;
  for (const [arrivedBefore, number] of numbers.entries()) {
    highestRank = Math.max(highestRank, rankOf.get(number) ?? 0);
    most = Math.max(most, highestRank - arrivedBefore);
  }
  return most;
}
