import type { Range, UploadPart } from './part.js';

/** This file estimates how fast an upload goes by the arrival times of its last parts. Times are milliseconds, sizes are bytes. */

/** The rate is that of the last 8 to 30 parts, because older parts say nothing about now. */
const fewestParts = 8;
const mostParts = 30;
/** Stores cut times to whole seconds, so a shorter time says little. */
const shortestMs = 5000;
/** The range of rates goes beyond the observed rates by this factor. */
const margin = 1.1;
/** A wait this many times the second longest is a pause. */
const pauseFactor = 2;
/** Parts that may be in flight and nearly sent. */
const partsInFlight = 3;
/** A wider range is not given. */
const widestRange = 3;
/** An upload has stopped after two minutes and four times any recent wait; with few parts, after half an hour. */
const stoppedMs = 120_000;
const stoppedFactor = 4;
const stoppedWithFewPartsMs = 1_800_000;
/** An upload is slower if its last ten parts took twice as long as the ten before. */
const partsCompared = 10;
const slowerFactor = 2;

interface Pace {
  readonly stopped?: true;
  /** Rate of the last parts; of the last ten, if the upload became slower. */
  readonly bytesPerSecond?: number;
  readonly bytesPerSecondBefore?: number | undefined;
  readonly secondsLeft?: Range | undefined;
}

/** Estimates the pace of an upload. */
export function paceOf(parts: readonly UploadPart[], now: number, bytesLeft: number | undefined): Pace | undefined {
  const arrivals = parts
    .filter(({ uploadedAt }) => !Number.isNaN(uploadedAt))
    .sort((a, b) => a.uploadedAt - b.uploadedAt)
    .slice(-mostParts - 1);
  const last = arrivals.at(-1);
  if (last === undefined) return undefined;
  const idleMs = Math.max(0, now - last.uploadedAt);
  const waits = waitsOf(arrivals);
  const longestWait = Math.max(0, ...waits);
  const silence = waits.length < 2 ? stoppedWithFewPartsMs : Math.max(stoppedMs, stoppedFactor * longestWait);
  if (idleMs > silence) return { stopped: true };

  const rates = recentRates(arrivals);
  // The rate of most parts is the least subject to chance.
  const rate = rates.at(-1);
  if (rate === undefined) return {};
  const bytesPerSecondBefore = rateBeforeSlowdown(arrivals);
  const isSlower = bytesPerSecondBefore !== undefined;
  const rateNow = isSlower ? rateOf(arrivals.slice(-partsCompared - 1)) : rate;
  const isSteady = !isSlower && !hasPause([...waits, idleMs]);
  return {
    bytesPerSecond: Math.round(1000 * (rateNow ?? rate)),
    bytesPerSecondBefore,
    secondsLeft: isSteady && bytesLeft !== undefined ? secondsLeft(arrivals, rates, bytesLeft) : undefined,
  };
}

const waitsOf = (arrivals: readonly UploadPart[]) =>
  arrivals.slice(1).map(({ uploadedAt }, index) => uploadedAt - (arrivals[index]?.uploadedAt ?? uploadedAt));

/** Bytes per millisecond, without the first part, whose begin is unknown. */
function rateOf(arrivals: readonly UploadPart[]): number | undefined {
  const [first, ...later] = arrivals;
  const ms = (later.at(-1)?.uploadedAt ?? 0) - (first?.uploadedAt ?? 0);
  const bytes = later.reduce((sum, { size }) => sum + size, 0);
  // NaN if a size is unknown.
  return ms >= shortestMs && bytes > 0 ? bytes / ms : undefined;
}

function recentRates(arrivals: readonly UploadPart[]): number[] {
  const rates: number[] = [];
  for (let count = fewestParts; count < arrivals.length; count += 1) {
    const rate = rateOf(arrivals.slice(-count - 1));
    if (rate !== undefined) rates.push(rate);
  }
  return rates;
}

function hasPause(waits: readonly number[]): boolean {
  const [longest = 0, second = 0] = [...waits].sort((a, b) => b - a);
  return longest > pauseFactor * second + shortestMs;
}

function secondsLeft(arrivals: readonly UploadPart[], rates: readonly number[], bytesLeft: number): Range | undefined {
  const partSize = arrivals.reduce((sum, { size }) => sum + size, 0) / arrivals.length;
  const bytesInFlight = partsInFlight * partSize;
  if (bytesLeft <= bytesInFlight) return undefined;
  const fastest = margin * Math.max(...rates);
  const slowest = Math.min(...rates) / margin;
  const from = Math.max(1, Math.round((bytesLeft - bytesInFlight) / fastest / 1000));
  const to = Math.max(1, Math.round(bytesLeft / slowest / 1000));
  return to > widestRange * from ? undefined : { from, to };
}

/** Compares the median and the sum, because parts may arrive in bursts. */
function rateBeforeSlowdown(arrivals: readonly UploadPart[]): number | undefined {
  const begin = arrivals.length - 1 - partsCompared;
  const before = arrivals.slice(Math.max(0, begin - partsCompared), begin + 1);
  const since = arrivals.slice(begin);
  const rateBefore = rateOf(before);
  if (before.length <= partsCompared || rateBefore === undefined) return undefined;
  const isSlower = [medianOf, sumOf].every(
    (measure) => measure(waitsOf(since)) >= slowerFactor * measure(waitsOf(before)),
  );
  return isSlower ? Math.round(1000 * rateBefore) : undefined;
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
const medianOf = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
