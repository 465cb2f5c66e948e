import type { UploadPart } from '../../../src/tools/upload/part.js';
import { summarise } from '../../../src/tools/upload/summary.js';
import type { Upload } from './simulated-upload.js';

/** What summaries of one upload said, moment by moment, held against what came afterwards. */
export interface Truth {
  /** Moments at which a time left could be given, and at which it was. */
  moments: number;
  given: number;
  /** Times left that had at least ten seconds to go, and those of them that were wrong by more than 30 % and five seconds. */
  judged: number;
  wrong: number;
  /** Parts that were named as in flight, and those of them that were. */
  named: number;
  inFlight: number;
  falselyStopped: number;
  /** Answers that claim a change of speed. */
  claims: number;
  /** Seconds from the last part of a killed upload until it was called stopped. */
  stoppedAfter?: number | undefined;
}

export const noTruth = (): Truth => ({
  moments: 0,
  given: 0,
  judged: 0,
  wrong: 0,
  named: 0,
  inFlight: 0,
  falselyStopped: 0,
  claims: 0,
});

const longestWaitMs = 1_900_000;
const epoch = Date.parse('2026-11-20T12:00:00Z');

/**
 * Looks at an upload every `stepMs`. Not counted are moments in a pause and those before a change of speed, which nobody can foresee.
 * Times of the service are in whole seconds, as in its `Date` header.
 */
export function truthOf(upload: Upload, stepMs: number): Truth {
  const truth = noTruth();
  const end = Math.max(...upload.arrivals.map(([, , ms]) => ms));
  const first = (upload.arrivals[0]?.[2] ?? 0) + 500;
  if (!upload.killed) {
    for (let now = first; now < end - 5000; now += stepMs) {
      const summary = summaryAt(upload, now);
      if (summary.rateSince !== undefined) truth.claims += 1;
      countInFlight(truth, upload, now, summary);
      countTimeLeft(truth, upload, (end - now) / 1000, now, summary);
    }
    return truth;
  }
  truth.stoppedAfter = Number.POSITIVE_INFINITY;
  for (let now = first; now < end + longestWaitMs; now += now > end ? 15_000 : stepMs) {
    const summary = summaryAt(upload, now);
    countInFlight(truth, upload, now, summary);
    if (now <= end || !summary.stopped) continue;
    truth.stoppedAfter = (now - end) / 1000;
    break;
  }
  return truth;
}

type Summary = ReturnType<typeof summarise>;

function summaryAt({ arrivals, initiatedMs, size }: Upload, now: number): Summary {
  const parts = arrivals
    .filter(([, , ms]) => ms <= now)
    .map(([partNumber, size, ms]): UploadPart => ({ partNumber, size, uploadedAt: epoch + ms }));
  const checkedAt = new Date(Math.floor((epoch + now) / 1000) * 1000).toISOString();
  const startedAt = new Date(epoch + initiatedMs).toISOString();
  return summarise(parts, { expectedBytes: size }, { checkedAt, startedAt });
}

function countInFlight(truth: Truth, { requests }: Upload, now: number, { inFlight = [] }: Summary): void {
  const open = new Set(requests.filter(([, from, to]) => from <= now && to > now).map(([number]) => number));
  for (const { from, to } of inFlight)
    for (let number = from; number <= to; number += 1) {
      truth.named += 1;
      if (open.has(number)) truth.inFlight += 1;
    }
}

/** @param toEnd seconds to the end, with a pause that is still to come */
function countTimeLeft(
  truth: Truth,
  { pausedMs: [pausedAt, resumedAt] = [-1, -1], changedMs = 0 }: Upload,
  toEnd: number,
  now: number,
  { stopped, estimatedSecondsLeft: said }: Summary,
): void {
  if ((now >= pausedAt && now <= resumedAt) || now < changedMs) return;
  truth.moments += 1;
  if (stopped) truth.falselyStopped += 1;
  if (said !== undefined) truth.given += 1;
  const left = toEnd - (now < pausedAt ? (resumedAt - pausedAt) / 1000 : 0);
  if (said === undefined || left < 10) return;
  truth.judged += 1;
  if (Math.abs(said - left) > Math.max(0.3 * left, 5)) truth.wrong += 1;
}
