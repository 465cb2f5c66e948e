import type { UploadPart } from './part.js';

/** More parts at a time than clients are known to upload. */
export const maximumConnections = 32;

/** The way in which a client works at an upload. Times in milliseconds since 1970. */
export interface Work {
  /** Parts that it uploads at a time. */
  readonly connections: number;
  /** True if parts came about in the order of their numbers, or in the reverse one; both may hold for a few. */
  readonly order: { readonly ascending: boolean; readonly descending: boolean };
  /** The parts in the order of their arrival. */
  readonly arrivals: readonly UploadPart[];
  /** The start of the part that arrived as the nth, or will; undefined for those of the first round if nobody knows the start. */
  begunAt(index: number): number | undefined;
}

/** So many of the last parts tell how a client works. Five rounds of most, and few enough to be looked at in many ways. */
const telling = 160;
/** The least number of connections is taken that explains the times about as well as the best one. */
const sureFactor = 1.2;
/** Without a start, too many connections explain the times as well as the right number. */
const doubtfulFactor = 2.5;
/** Times that differ so little are as even as can be expected. */
const evenEnough = 0.05;
/** Parts that were begun in order come out of order by this factor more than there are connections, if some are slower. */
const usualDisorder = 1.5;
/** A burst is clearly apart from what follows after so many times as long as it took. */
const apartFactor = 8;
/** Times shorter than this are mostly rounding: some services tell them in whole seconds. */
const shortestMs = 100;
/**
 * A client is taken to keep so many connections busy, and to begin another part whenever one has arrived. With the right number of
 * connections, all parts took about as long for their size. With too few, the parts of one burst took no time at all; with too many,
 * those of the first round took less than all later ones.
 *
 * `all` are in the order of time, and all times are known. `startedAt` is the time at which the upload was started.
 */
export function workOf(all: readonly UploadPart[], startedAt: number | undefined): Work {
  const arrivals = all.slice(-telling);
  const first = arrivals[0]?.uploadedAt ?? Number.POSITIVE_INFINITY;
  const start = startedAt === undefined || startedAt > first || all.length > telling ? undefined : startedAt;
  const begunWith = (connections: number) => (index: number) =>
    index < connections ? start : arrivals[index - connections]?.uploadedAt;
  const atLeast = Math.max(disorderOf(arrivals), start === undefined ? firstBurstOf(arrivals) : 1);
  // Without a start, nothing is known of the first round.
  const atMost = Math.min(maximumConnections, start === undefined ? arrivals.length / 2 : arrivals.length);
  const counts = Array.from({ length: Math.max(1, Math.floor(atMost) - atLeast + 1) }, (_, more) => atLeast + more);
  // The time of so many parts one after the other is by that much more even than that of each.
  const scores = counts.map((count) => Math.sqrt(count) * unevennessOf(arrivals, begunWith(count)));
  const good = Math.max(evenEnough, (start === undefined ? doubtfulFactor : sureFactor) * Math.min(...scores));
  const connections = counts[scores.findIndex((score) => score <= good)] ?? atLeast;
  const [up, down] = disordersOf(arrivals);
  const tolerable = usualDisorder * connections;
  const order = { ascending: up <= tolerable, descending: down <= tolerable };
  return { connections, order, arrivals, begunAt: begunWith(connections) };
}

/** By how much the logarithms of the parts' times for their size differ from the middle one, on average. */
function unevennessOf(arrivals: readonly UploadPart[], begunAt: Work['begunAt']): number {
  const times = arrivals.flatMap(({ uploadedAt, size }, index) => {
    const begun = begunAt(index);
    return begun === undefined ? [] : [Math.log(Math.max(shortestMs, uploadedAt - begun) / Math.max(1, size))];
  });
  if (times.length < 2) return Number.POSITIVE_INFINITY;
  const middle = median(times);
  return times.reduce((sum, time) => sum + Math.abs(time - middle), 0) / times.length;
}

/**
 * The number of parts that must have been under way at once, by those that arrived out of order. Where that is a large share of all, they come in
 * no order, and it tells nothing.
 */
function disorderOf(arrivals: readonly UploadPart[]): number {
  const disorder = Math.min(...disordersOf(arrivals));
  if (disorder > Math.min(maximumConnections, arrivals.length / 2)) return 1;
  return disorder <= arrivals.length / 3 ? disorder : Math.min(disorder, burstOf(arrivals));
}

/** The disorder of parts by rising numbers and by falling ones. */
function disordersOf(arrivals: readonly UploadPart[]): readonly [number, number] {
  const numbers = arrivals.map(({ partNumber }) => partNumber);
  return [disorderIn(numbers), disorderIn(numbers.map((number) => -number))];
}

function disorderIn(numbers: readonly number[]): number {
  const rank = new Map([...numbers].sort((a, b) => a - b).map((number, index) => [number, index + 1]));
  let [highest, disorder] = [0, 1];
  for (const [index, number] of numbers.entries()) {
    highest = Math.max(highest, rank.get(number) ?? 0);
    disorder = Math.max(disorder, highest - index);
  }
  return disorder;
}

/** The number of parts that came in one burst, much closer to each other than the longest time between any two. */
function burstOf(arrivals: readonly UploadPart[]): number {
  const times = arrivals.map(({ uploadedAt }) => uploadedAt);
  const longest = times.reduce((most, time, index) => Math.max(most, time - (times[index - 1] ?? time)), 0);
  let [burst, from] = [1, 0];
  for (const [index, time] of times.entries()) {
    while (time - (times[from] ?? time) > longest / 4) from += 1;
    burst = Math.max(burst, index - from + 1);
  }
  return Math.min(maximumConnections, burst);
}

/** The number of parts that came before the first wait that is much longer than all the time until then; 1 if there was none. */
export function firstBurstOf(arrivals: readonly UploadPart[]): number {
  const first = arrivals[0]?.uploadedAt ?? 0;
  const end = arrivals.findIndex(({ uploadedAt }, index) => {
    const before = arrivals[index - 1]?.uploadedAt ?? first;
    return index > 2 && uploadedAt - before > apartFactor * (before - first);
  });
  return Math.min(maximumConnections, Math.max(1, end));
}

/** The middle one of some numbers, or the mean of both. NaN if there is none. */
export function median(values: readonly number[]): number {
  // Sorts numbers, and much faster than an array with a comparison.
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? Number.NaN) + (sorted[Math.floor(half)] ?? Number.NaN)) / 2;
}
