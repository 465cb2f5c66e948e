import { refusedKeyCodes } from '../signing/keys.js';
import type { FailureCode } from './http-client.js';
import type { AttemptReply } from './reply.js';
import { commonCode, readServiceError } from './service-error.js';

type AnsweredReply = Extract<AttemptReply, { kind: 'answered' }>;

const repeatableStatuses: readonly number[] = [429, 500, 502, 503, 504, 509];
/** Failures after which another attempt would end in the same way. */
const finalFailures: readonly FailureCode[] = ['Cancelled', 'CallTimeout', 'ResponseTooLarge'];

/**
 * Returns the pause before the next attempt in milliseconds; undefined if there must be no other attempt.
 * @param repeatable true if the request may be carried out twice. Otherwise it is repeated only if the service did not get it or refused it
 * because of too many requests
 * @param attemptsBefore the number of attempts before the attempt that got this reply
 */
export function retryDelay(
  reply: AttemptReply,
  repeatable: boolean,
  attemptsBefore: number,
  now: Date,
  random: () => number,
): number | undefined {
  // The pause doubles with each attempt up to 5 s. Up to half of it is random, so that callers do not retry at the same time.
  const backoff = Math.round(Math.min(5000, 200 * 2 ** attemptsBefore) * (0.5 + random() / 2));
  if (reply.kind === 'failed') {
    const { code, mayHaveArrived } = reply.failure;
    if (finalFailures.includes(code)) return undefined;
    return repeatable || !mayHaveArrived ? backoff : undefined;
  }

  const { status, headers, bodyFailure } = reply.response;
  if (isThrottled(reply) || (repeatable && repeatableStatuses.includes(status)))
    return retryAfter(headers, now) ?? backoff;
  // A whole answer is final, and so is an error without its whole text, because the status says enough.
  if (bodyFailure === undefined || status >= 300) return undefined;
  return repeatable && !finalFailures.includes(bodyFailure.code) ? backoff : undefined;
}

/** True if the service refused a request because of too many requests: with 429 or, in APIs for JSON or queries, with 400 and a code. */
const isThrottled = ({ response: { status, headers }, body }: AnsweredReply): boolean =>
  status === 429 || (status === 400 && commonCode(readServiceError(body, headers)) === 'SlowDown');

/** Returns the pause in milliseconds that the `Retry-After` header asks for, as seconds or as a date. */
function retryAfter(headers: Readonly<Record<string, string>>, now: Date): number | undefined {
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}

/** True if a service refused a request because its access key has expired or is unknown. Such a request was not carried out. */
export const refusesKeys = (reply: AttemptReply): boolean =>
  reply.kind === 'answered' &&
  [400, 401, 403].includes(reply.response.status) &&
  refusedKeyCodes.test(readServiceError(reply.body, reply.response.headers).code ?? '');

/** A larger offset between the clocks is ignored, because signatures would be for another day. */
const maximumOffsetMs = 24 * 60 * 60 * 1000;

/** Returns by how many milliseconds the service's clock is ahead, if the service refused the request because of the difference. */
export function clockOffset(reply: AttemptReply, now: Date): number | undefined {
  if (reply.kind === 'failed' || reply.response.status !== 403) return undefined;
  if (!JSON.stringify(reply.body).includes('RequestTimeTooSkewed')) return undefined;
  const offset = Date.parse(reply.response.headers.date ?? '') - now.getTime();
  return Math.abs(offset) <= maximumOffsetMs ? offset : undefined;
}
