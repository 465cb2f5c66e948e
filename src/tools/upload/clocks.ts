import { readTime } from '../../util/read-values.js';

/** This file decides whether the times of a store can be trusted for ages and rates. */

/** Signatures have the same tolerance in S3-compatible stores. */
const toleranceMs = 15 * 60_000;

/** An earlier time, such as 1970, stands for no time. */
const earliestTime = Date.UTC(2000, 0, 1);

/** Reads a time of the store (milliseconds since 1970). Undefined if it is not usable. */
export function storeTime(text: string | undefined): number | undefined {
  const time = readTime(text ?? '');
  return time === undefined || time < earliestTime ? undefined : time;
}

/** The times of an answer (ISO 8601). */
export interface AnswerTimes {
  readonly answeredAt?: string | undefined;
  readonly receivedAt: string;
}

/** The time from which ages count (milliseconds since 1970). */
export type Now =
  | { readonly kind: 'known'; readonly ms: number }
  /** The answer has no time, or the clocks contradict each other. */
  | { readonly kind: 'missing' | 'contradicted' };

/** Finds the time of an answer. `newest` is in milliseconds since 1970. */
export function nowOf({ answeredAt, receivedAt }: AnswerTimes, newest: number | undefined): Now {
  if (answeredAt === undefined) return { kind: 'missing' };
  const ms = Date.parse(answeredAt);
  const isAhead = newest !== undefined && newest - ms > toleranceMs;
  const isElsewhere = Math.abs(Date.parse(receivedAt) - ms) > toleranceMs;
  return isAhead || isElsewhere ? { kind: 'contradicted' } : { kind: 'known', ms };
}
