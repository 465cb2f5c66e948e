/** How fast an upload goes, by the times at which its parts arrived. Times in milliseconds since 1970, sizes in bytes. */
import type { UploadPart } from './part.js';

/**
 * Whether an upload is going, and how fast, in bytes per second:
 * - `unknown`: no part has come, or no time could be read.
 * - `live`: parts come; without a rate if there are too few to work one out.
 * - `late`: no part has come for much longer than between any two before.
 * - `stopped`: for so long that none is likely to come. The rate is that of before.
 */
type Pace =
  | { readonly kind: 'unknown' | 'late' }
  | { readonly kind: 'live'; readonly rate?: Rate }
  | { readonly kind: 'stopped'; readonly bytesPerSecondBefore?: number };

export interface Rate {
  readonly bytesPerSecond: number;
  /** Seconds until so many more bytes have come; undefined if that is too close to say. */
  secondsLeft(remainingBytes: number): number | undefined;
}

/** A rate is that of the last ten minutes, or of longer if parts are slower than that. */
const windowMs = 600_000;
/** Services give the time of an answer in whole seconds: shorter than this, a rate is mostly rounding. */
const minimumBaseMs = 5000;
/** A gap between parts that is so many times as long as any other is a pause. */
const pauseFactor = 2.5;
/** An upload counts as stopped after so many of its longest gaps and two minutes, or after half an hour if it shows no rhythm. */
const stoppedFactor = 5;
const minimumStoppedMs = 120_000;
const stoppedWithoutRateMs = 1_800_000;
/** As many parts at a time as clients upload by default. */
const usualParallel = 10;
/** Less than this is over before anybody has read it. */
const minimumSecondsLeft = 10;
/** More parts at a time than clients are known to upload. */
const maximumParallel = 32;

/**
 * Parts of a client that uploads N at once come N at a time, after a long wait for each round. So a client is taken to keep N parts
 * in flight, in the order of their numbers, and to begin another whenever one has arrived: that tells when each part was begun,
 * and so how much of the parts in flight has been sent.
 *
 * `answeredAt` is the time of the service's answer.
 */
export function paceOf(parts: readonly UploadPart[], answeredAt: number | undefined): Pace {
  const all = parts.filter(({ uploadedAt }) => !Number.isNaN(uploadedAt)).sort((a, b) => a.uploadedAt - b.uploadedAt);
  const last = all.at(-1);
  if (last === undefined || answeredAt === undefined) return { kind: 'unknown' };
  // The time of an answer has no fraction of a second: half of one is lost on average.
  const now = Math.max(answeredAt + 500, last.uploadedAt);
  const idle = now - last.uploadedAt;
  const recent = sinceLastPause(all, idle);
  const paused = recent.length < all.length;
  const gap = longest(gapsOf(recent));
  const before = rateOf(recent, last.uploadedAt, { parallel: partsInFlight(all, recent, gap).count, paused });
  if (idle > (before === undefined ? stoppedWithoutRateMs : Math.max(minimumStoppedMs, stoppedFactor * gap)))
    return { kind: 'stopped', ...(before !== undefined && { bytesPerSecondBefore: Math.round(before) }) };
  if (idle > Math.max(minimumBaseMs, pauseFactor * gap)) return { kind: 'late' };
  const inFlight = partsInFlight(all, recent, Math.max(gap, idle));
  const bytesPerSecond = rateOf(recent, now, { parallel: inFlight.count, paused });
  if (bytesPerSecond === undefined) return { kind: 'live' };
  return {
    kind: 'live',
    rate: {
      bytesPerSecond: Math.round(bytesPerSecond),
      secondsLeft(remainingBytes) {
        const partsLeft = (remainingBytes * recent.length) / bytesOf(recent);
        if (inFlight.count > 1 && partsLeft <= 1.5 * inFlight.atMost) return undefined;
        const sent = sentOf(recent.slice(-inFlight.count), now, bytesPerSecond / inFlight.count);
        const seconds = (remainingBytes - sent) / bytesPerSecond;
        return seconds < minimumSecondsLeft ? undefined : Math.round(seconds);
      },
    },
  };
}

export const bytesOf = (parts: readonly UploadPart[]) => parts.reduce((sum, { size }) => sum + size, 0);

const longest = (gaps: readonly number[]) => gaps.reduce((a, b) => Math.max(a, b), 0);

const gapsOf = (parts: readonly UploadPart[]) =>
  parts.slice(1).map(({ uploadedAt }, index) => uploadedAt - (parts[index]?.uploadedAt ?? uploadedAt));

/** The parts after the last pause. One gap cannot be told from a pause: it takes a second of its kind, if only the present one. */
function sinceLastPause(parts: readonly UploadPart[], idle: number): readonly UploadPart[] {
  const gaps = gapsOf(parts);
  const [longest = 0, next = 0] = [...gaps, idle].sort((a, b) => b - a);
  const at = gaps.indexOf(longest);
  return at >= 0 && longest > Math.max(minimumBaseMs, pauseFactor * next)
    ? sinceLastPause(parts.slice(at + 1), idle)
    : parts;
}

/**
 * How many parts the client uploads at a time: as many as came in one burst, or as came out of order. Disorder tells less than a
 * burst: there may be more of them. Of the numbers that are not there, those shortly below the highest may be in flight.
 */
function partsInFlight(all: readonly UploadPart[], recent: readonly UploadPart[], gap: number) {
  const numbers = new Set(all.map(({ partNumber }) => partNumber));
  const top = all.reduce((highest, { partNumber }) => Math.max(highest, partNumber), 0);
  for (let number = Math.max(1, top - maximumParallel); number < top; number += 1) numbers.add(number);
  const rank = new Map([...numbers].sort((a, b) => a - b).map((number, index) => [number, index + 1]));
  let [burst, burstStart, highest, disorder] = [1, 0, 0, 1];
  for (const [index, { partNumber }] of all.entries()) {
    highest = Math.max(highest, rank.get(partNumber) ?? 0);
    disorder = Math.max(disorder, highest - index);
  }
  for (const [index, { uploadedAt }] of recent.entries()) {
    while (uploadedAt - (recent[burstStart]?.uploadedAt ?? uploadedAt) > gap / 4) burstStart += 1;
    burst = Math.max(burst, index - burstStart + 1);
  }
  const count = Math.min(maximumParallel, Math.max(burst, disorder));
  return { count, atMost: disorder > burst ? Math.max(count, usualParallel) : count };
}

interface Shape {
  /** How many parts are in flight at a time. */
  readonly parallel: number;
  /** Whether the parts are only those after a pause. */
  readonly paused: boolean;
}

/** Bytes sent per second between the end of the first round and `now`; undefined if there is no base for it. */
function rateOf(parts: readonly UploadPart[], now: number, shape: Shape): number | undefined {
  const { parallel } = shape;
  const lastAt = parts.at(-1)?.uploadedAt ?? now;
  const base = Math.max(
    parallel - 1,
    parts.findLastIndex(({ uploadedAt }) => lastAt - uploadedAt >= windowMs),
  );
  const baseAt = parts[base]?.uploadedAt ?? now;
  const bytes = bytesOf(parts.slice(base + 1));
  if (bytes === 0 || now - baseAt < minimumBaseMs || !isMoreThanOneRound(parts, shape)) return undefined;
  const inFlight = { atBase: parts.slice(base + 1 - parallel, base + 1), now: parts.slice(-parallel) };
  const sentSinceBase = (rate: number) =>
    bytes + sentOf(inFlight.now, now, rate / parallel) - sentOf(inFlight.atBase, baseAt, rate / parallel);
  // What is in flight depends on the rate: the rate that explains itself is found by halving.
  const seconds = (now - baseAt) / 1000;
  let [low, high] = [0, (bytes + bytesOf(inFlight.now)) / seconds];
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2;
    if (sentSinceBase(middle) > middle * seconds) low = middle;
    else high = middle;
  }
  return high;
}

/**
 * Whether parts came that were begun after others had arrived. The first ones may all have been begun at once, and then their times
 * say nothing: unless they come as regularly as only parts one after the other do, or after a burst that is clearly apart.
 */
function isMoreThanOneRound(parts: readonly UploadPart[], { parallel, paused }: Shape): boolean {
  if (parts.length > usualParallel) return true;
  const gaps = gapsOf(parts);
  const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const mean = sumOf(gaps) / gaps.length;
  const deviation = Math.sqrt(sumOf(gaps.map((gap) => (gap - mean) ** 2)) / gaps.length);
  if (parallel === 1) return gaps.length >= 3 && deviation < mean / 4;
  // What was cut off as a pause may have been the wait for a round.
  return !paused && parallel > 2 && (gaps[parallel - 1] ?? 0) > 8 * sumOf(gaps.slice(0, parallel - 1));
}

/** Bytes sent by `time` of the parts that were begun when the given ones arrived, each at `rate`. */
const sentOf = (before: readonly UploadPart[], time: number, rate: number) =>
  before.reduce((sum, { size, uploadedAt }) => sum + Math.min(size, (rate * (time - uploadedAt)) / 1000), 0);
