import { readTime } from '../../util/read-values.js';

/** This file decides whether the times of a store can be trusted for ages and rates. */

/** Clocks that differ by more contradict each other. Signatures have the same tolerance (shared by S3-compatible stores). */
const toleranceMs = 15 * 60_000;

/** Object storage of this kind is younger, so an earlier time, such as 1970 or year 1, stands for no time. */
const earliestTime = Date.UTC(2000, 0, 1);

/** Reads the time of a part or an upload, in milliseconds since 1970. Undefined if the store gave no usable time. */
export function storeTime(text: string | undefined): number | undefined {
  const time = readTime(text ?? '');
  return time === undefined || time < earliestTime ? undefined : time;
}

/** The times of an answer (ISO 8601): its `Date` header, and its arrival by the clock of this machine. */
export interface AnswerTimes {
  readonly answeredAt?: string | undefined;
  readonly receivedAt: string;
}

/** The time from which ages count (milliseconds since 1970). */
export type Now =
  | { readonly kind: 'known'; readonly ms: number }
  /** The answer has no time, or its time, this machine's clock and the times in the answer contradict each other. */
  | { readonly kind: 'missing' | 'contradicted' };

/** @param newest the newest time in the answer, if it has any (milliseconds since 1970) */
export function nowOf({ answeredAt, receivedAt }: AnswerTimes, newest: number | undefined): Now {
  if (answeredAt === undefined) return { kind: 'missing' };
  const ms = Date.parse(answeredAt);
  const isAhead = newest !== undefined && newest - ms > toleranceMs;
  const isElsewhere = Math.abs(Date.parse(receivedAt) - ms) > toleranceMs;
  return isAhead || isElsewhere ? { kind: 'contradicted' } : { kind: 'known', ms };
}
