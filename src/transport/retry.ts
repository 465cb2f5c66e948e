import type { AttemptReply } from './reply.js';

const repeatableStatuses: readonly number[] = [429, 500, 502, 503, 504, 509];

/**
 * Milliseconds to wait before the next attempt, or undefined if there should be none. After a 429 even a change is sent again: the
 * service says that it did not act on it.
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
  const incomplete = bodyFailure !== undefined && bodyFailure.code !== 'ResponseTooLarge';
  return repeatable && incomplete && status < 300 ? backoff : undefined;
}

/** The `Retry-After` header in milliseconds: seconds or a date. */
function retryAfter(headers: Readonly<Record<string, string>>, now: Date): number | undefined {
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}

/** Codes of services for a key that has expired or does not exist (any more). */
const keyCodes =
  /"code":"(ExpiredToken(Exception)?|TokenRefreshRequired|InvalidAccessKeyId|InvalidToken|InvalidClientTokenId|UnrecognizedClientException)"/i;

/** True if a service refused a request because its key has expired or is unknown: then nothing was carried out. */
export const refusesKeys = (reply: AttemptReply): boolean =>
  reply.kind === 'answered' &&
  [400, 401, 403].includes(reply.response.status) &&
  (reply.body.kind === 'xml' || reply.body.kind === 'json') &&
  keyCodes.test(JSON.stringify(reply.body.value));

/** The largest difference of clocks that a signature follows. A larger one would make signatures for another day. */
const maximumOffsetMs = 24 * 60 * 60 * 1000;

/** Milliseconds by which the service's clock is ahead, if it refused the request because of that. */
export function clockOffset(reply: AttemptReply, now: Date): number | undefined {
  if (reply.kind === 'failed' || reply.response.status !== 403) return undefined;
  if (!JSON.stringify(reply.body).includes('RequestTimeTooSkewed')) return undefined;
  const offset = Date.parse(reply.response.headers.date ?? '') - now.getTime();
  return Math.abs(offset) <= maximumOffsetMs ? offset : undefined;
}
