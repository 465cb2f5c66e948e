import type { AttemptReply } from './reply.js';
import { readServiceError } from './service-error.js';

const repeatableStatuses: readonly number[] = [429, 500, 502, 503, 504, 509];

/**
 * Returns the pause before the next attempt in milliseconds; undefined for no attempt. After status 429, even a change is repeated,
 * because the service states that it did nothing.
 */
export function retryDelay(
  reply: AttemptReply,
  repeatable: boolean,
  failures: number,
  now: Date,
  random: () => number,
): number | undefined {
  const backoff = Math.round(Math.min(5000, 200 * 2 ** failures) * (0.5 + random() / 2));
  if (reply.kind === 'failed') {
    const { code, mayHaveArrived } = reply.failure;
    if (code === 'Cancelled' || code === 'CallTimeout' || code === 'ResponseTooLarge') return undefined;
    return repeatable || !mayHaveArrived ? backoff : undefined;
  }
  const { status, headers, bodyFailure } = reply.response;
  if (status === 429 || (repeatable && repeatableStatuses.includes(status))) return retryAfter(headers, now) ?? backoff;
  const isIncomplete = bodyFailure !== undefined && bodyFailure.code !== 'ResponseTooLarge';
  return repeatable && isIncomplete && status < 300 ? backoff : undefined;
}

/** Reads the `Retry-After` header, which has seconds or a date, in milliseconds. */
function retryAfter(headers: Readonly<Record<string, string>>, now: Date): number | undefined {
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}

/** Error codes of services for an expired or unknown key. */
const keyCodes =
  /^(ExpiredToken(Exception)?|TokenRefreshRequired|InvalidAccessKeyId|InvalidToken|InvalidClientTokenId|UnrecognizedClientException)$/i;

/** True if a service refused a request because its key has expired or is unknown. Such a request was not carried out. */
export const refusesKeys = (reply: AttemptReply): boolean =>
  reply.kind === 'answered' &&
  [400, 401, 403].includes(reply.response.status) &&
  keyCodes.test(readServiceError(reply.body, reply.response.headers).code ?? '');

/** A larger clock offset is ignored, because its signatures would be for another day. */
const maximumOffsetMs = 24 * 60 * 60 * 1000;

/** Returns how far the service's clock is ahead in milliseconds, if it refused the request for that reason. */
export function clockOffset(reply: AttemptReply, now: Date): number | undefined {
  if (reply.kind === 'failed' || reply.response.status !== 403) return undefined;
  if (!JSON.stringify(reply.body).includes('RequestTimeTooSkewed')) return undefined;
  const offset = Date.parse(reply.response.headers.date ?? '') - now.getTime();
  return Math.abs(offset) <= maximumOffsetMs ? offset : undefined;
}
