/** The pace of an upload, by the times at which its parts arrived. Times in milliseconds since 1970, sizes in bytes. */
import { firstBurstOf, median, type Work, workOf } from './connections.js';
import type { UploadPart } from './part.js';
import { clearFactor, type Effort, lastSegment, presentOf, type Slowness, slownessOf } from './part-speed.js';

/**
 * Whether an upload is going, and how fast:
 * - `unknown`: no part has come, or no time could be read.
 * - `live`: parts come at a rate that is known, or lies between two, the slower one first.
 * - `unclear`: there is no rate yet. It may become clear at `clearAt`.
 * - `stopped`: none has come for so long that none is likely to come. The rate is that of before.
 */
export type Pace =
  | { readonly kind: 'unknown' }
  | (Known & { readonly kind: 'live'; readonly rate: Rate; readonly between?: Between; readonly changed?: SpeedChange })
  | (Known & { readonly kind: 'unclear'; readonly why: Why; readonly clearAt?: number; readonly between?: Between })
  | (Known & { readonly kind: 'stopped'; readonly rate?: Rate });

interface Known {
  readonly work: Work;
  /** The time of the answer, corrected. */
  readonly now: number;
}

/**
 * Why there is no rate:
 * - `begun`: the first parts are arriving, and there may be more of them.
 * - `one round`: all parts may have been begun at once, and nobody knows when.
 * - `slow round`: the last parts took much longer than those before. A pause and a slower rate look alike until more come.
 * - `late`: the next part should have come long ago.
 */
export type Why = 'begun' | 'one round' | 'slow round' | 'late';

export interface Rate {
  readonly bytesPerSecond: number;
  /** Milliseconds that a connection takes for a byte. */
  readonly slowness: number;
}

type Between = readonly [Rate, Rate];

export interface SpeedChange {
  readonly bytesPerSecondBefore: number;
  readonly since: number;
}

/** An upload counts as stopped after so many rounds without a part, but not before two minutes. */
const stoppedRounds = 5;
const minimumStoppedMs = 120_000;
/** After so long a silence, half as many rounds are enough. */
const longSilenceMs = 280_000;
/** As long as no round is known, an upload counts as stopped after half an hour. */
const stoppedWithoutRoundMs = 1_800_000;
/** As many parts at a time as clients upload by default: so many may be one round. */
const usualConnections = 10;
/** Gaps that differ by such a share of their mean are those of parts one after the other; of many parts, by a larger one. */
const even = 0.25;
const fairlyEven = 0.5;
/** A wait this many times as long as the longest other one is an outlier. */
const oddFactor = 2.5;
/** Times of parts are in whole seconds for some services: a shorter time is mostly rounding. */
const minimumBaseMs = 5000;
/** The first burst is over when for so large a share of its time no part has come, or a larger one where parts of it are absent. */
const burstShare = 0.15;
const gapShare = 0.5;
/** It is over earlier after so many times the longest gap in it, if there are several. */
const burstFactor = 4;
/** Services give the time of an answer in whole seconds: half of one is lost on average. */
const lostMs = 500;

/** `answeredAt` is the time of the service's answer, `startedAt` that at which the upload was started, where it is known. */
export function paceOf(parts: readonly UploadPart[], answeredAt: number | undefined, startedAt?: number): Pace {
  const arrivals = parts
    .filter(({ uploadedAt }) => !Number.isNaN(uploadedAt))
    .sort((a, b) => a.uploadedAt - b.uploadedAt);
  const last = arrivals.at(-1);
  if (last === undefined || answeredAt === undefined) return { kind: 'unknown' };
  const now = Math.max(answeredAt + lostMs, last.uploadedAt);
  const idle = now - last.uploadedAt;
  const work = workOf(arrivals, startedAt);
  const done = effortsOf(work);
  const burstEnd = firstBurstEnd(work);
  if (done.length === 0 || (burstEnd === undefined && !isMoreThanOneRound(work, idle)))
    return idle > stoppedWithoutRoundMs
      ? { kind: 'stopped', work, now }
      : { kind: 'unclear', why: 'one round', work, now };
  const usual = rateOf(slownessOf(done), work);
  const roundMs = usual.slowness * median(done.map(({ size }) => size));
  if (idle > stoppedAfter(roundMs)) return { kind: 'stopped', work, now, rate: usual };
  if (burstEnd !== undefined && now < burstEnd)
    return { kind: 'unclear', why: 'begun', work, now, ...(burstEnd < never && { clearAt: burstEnd }) };
  return present(work, done, now, last.uploadedAt + roundMs);
}

const never = Number.POSITIVE_INFINITY;

/** The pace of an upload that goes on. `dueAt` is when its next part is to be expected. */
function present(work: Work, done: readonly Effort[], now: number, dueAt: number): Pace {
  const usual = slownessOf(done);
  const overdue = openEfforts(work, median(done.map(({ size }) => size)), now).filter(
    ({ ms, size }) => ms > minimumBaseMs && ms / size > clearFactor * usual,
  );
  const segment = lastSegment([...done, ...overdue], work.connections);
  const found = presentOf(segment.efforts, work.connections);
  const between: Between | undefined =
    found.between === undefined ? undefined : [rateOf(found.between[1], work), rateOf(found.between[0], work)];
  if (found.kind === 'unclear')
    return { kind: 'unclear', why: found.why, work, now, clearAt: dueAt, ...(between && { between }) };
  const { before } = segment;
  const since = before?.at(-1)?.endedAt;
  const changed = before &&
    since !== undefined && { since, bytesPerSecondBefore: rateOf(slownessOf(before), work).bytesPerSecond };
  return {
    kind: 'live',
    work,
    now,
    rate: rateOf(found.slowness, work),
    ...(between && { between }),
    ...(changed && { changed }),
  };
}

const rateOf = (slowness: Slowness, { connections }: Work): Rate => ({
  slowness,
  bytesPerSecond: (1000 * connections) / slowness,
});

const stoppedAfter = (roundMs: number) =>
  Math.max(minimumStoppedMs, Math.min(stoppedRounds * roundMs, Math.max(longSilenceMs, (stoppedRounds / 2) * roundMs)));

/** The time by which all parts of the first round will have come, if none comes before; undefined if nobody knows when they were begun. */
function firstBurstEnd({ connections, arrivals, begunAt }: Work): number | undefined {
  const start = begunAt(0);
  const last = arrivals.at(-1)?.uploadedAt;
  if (start === undefined || last === undefined) return undefined;
  if (arrivals.length > connections) return last;
  const highest = Math.max(...arrivals.map(({ partNumber }) => partNumber));
  // One part that is not the first may be of any order, and the short last one.
  if (arrivals.length === 1 && highest > 2) return never;
  const share = highest > arrivals.length ? gapShare : burstShare;
  // Silence of that share of the whole time until then.
  const byShare = last + ((last - start) * share) / (1 - share);
  const gaps = gapsOf(arrivals);
  return gaps.length < 2 ? byShare : Math.min(byShare, last + burstFactor * Math.max(...gaps));
}

/**
 * Whether parts came that were begun after others had arrived, though nobody knows when the first ones were begun: there are more than
 * clients send at once, or they come as regularly as only parts one after the other do.
 */
function isMoreThanOneRound({ connections, arrivals }: Work, idle: number): boolean {
  const gaps = gapsOf(arrivals);
  const mean = sumOf(gaps) / gaps.length;
  const deviation = Math.sqrt(sumOf(gaps.map((gap) => (gap - mean) ** 2)) / gaps.length) / mean;
  if (connections === 1 && arrivals.length <= 2 * usualConnections)
    return (
      gaps.length >= 3 &&
      deviation < (arrivals.length > usualConnections ? fairlyEven : even) &&
      sumOf(gaps) >= minimumBaseMs
    );
  const [longest = 0, next = 0] = [...gaps, idle].sort((a, b) => b - a);
  // The only long wait may have been a pause.
  if (arrivals.length <= 3 * connections && longest > oddFactor * next) return false;
  return (
    arrivals.length > 2 * usualConnections ||
    (connections === firstBurstOf(arrivals) && arrivals.length >= 2 * connections)
  );
}

const gapsOf = (arrivals: readonly UploadPart[]) =>
  arrivals.slice(1).map(({ uploadedAt }, index) => uploadedAt - (arrivals[index]?.uploadedAt ?? uploadedAt));

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

function effortsOf({ arrivals, begunAt }: Work): Effort[] {
  return arrivals.flatMap(({ uploadedAt, size }, index) => {
    const begun = begunAt(index);
    return begun === undefined || size === 0 ? [] : [{ ms: uploadedAt - begun, size, endedAt: uploadedAt }];
  });
}

/** The parts that are being sent, each as if it had the usual size. */
function openEfforts({ connections, arrivals, begunAt }: Work, size: number, now: number): Effort[] {
  return Array.from({ length: connections }, (_, index) => begunAt(arrivals.length + index))
    .filter((begun) => begun !== undefined)
    .map((begun) => ({ ms: now - begun, size, endedAt: now, isOpen: true }));
}

/**
 * Seconds until so many more bytes have come. The parts in flight count with what was sent of them: while all connections are busy, each
 * has sent at most one part; at the end, those that are free leave their share of the rate to the others. Undefined where that is too close to say.
 */
export function secondsLeft(
  { work, now }: Known,
  { slowness, bytesPerSecond }: Rate,
  bytesLeft: number,
): number | undefined {
  const { connections, arrivals, begunAt } = work;
  const partSize = median(arrivals.map(({ size }) => size));
  const isEnd = bytesLeft <= connections * partSize;
  // Without a start, there may be more connections than were seen, and then more of the end is in flight.
  if (begunAt(0) === undefined && connections > 1 && bytesLeft <= 1.5 * connections * partSize) return undefined;
  let sent = 0;
  for (let index = arrivals.length; index < arrivals.length + connections; index += 1)
    sent += Math.min(isEnd ? bytesLeft : partSize, (now - (begunAt(index) ?? now)) / slowness);
  return Math.max(1, Math.round(Math.max(0, bytesLeft - sent) / bytesPerSecond));
}

export const bytesOf = (parts: readonly UploadPart[]) => parts.reduce((sum, { size }) => sum + size, 0);
