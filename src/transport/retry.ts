import { refusedKeyCodes } from '../signing/keys.js';
import { valueAt } from '../util/objects.js';
import { readTime } from '../util/read-values.js';
import type { FailureCode, HttpFailure, HttpResponse } from './http-client.js';
import type { Body } from './parse-body.js';
import { commonCode, readServiceError, type ServiceError } from './service-error.js';

export type AttemptReply =
  | {
      readonly kind: 'answered';
      readonly response: Omit<HttpResponse, 'body'>;
      readonly body: Body;
      /** Passes the text of the body to `read`, and removes secrets from the result. */
      readonly readText: (read: (text: string) => unknown) => Promise<unknown>;
    }
  | { readonly kind: 'failed'; readonly failure: HttpFailure };

export function describeReply(reply: AttemptReply): string {
  if (reply.kind === 'failed') return reply.failure.code;
  const { status, bodyFailure } = reply.response;
  return bodyFailure === undefined ? String(status) : `${status} then ${bodyFailure.code}`;
}

type AnsweredReply = Extract<AttemptReply, { kind: 'answered' }>;

const finalFailures: readonly FailureCode[] = ['Cancelled', 'CallTimeout', 'ResponseTooLarge'];

/**
 * Returns the pause before the next attempt (ms), or undefined if there is none.
 * @param repeatable true if the request may be carried out twice
 */
export function retryDelay(
  reply: AttemptReply,
  repeatable: boolean,
  attemptsBefore: number,
  now: Date,
  random: () => number,
): number | undefined {
  // The random half keeps callers from retrying at the same time.
  const backoff = Math.round(Math.min(5000, 200 * 2 ** attemptsBefore) * (0.5 + random() / 2));
  if (reply.kind === 'failed') {
    const { code, mayHaveArrived } = reply.failure;
    if (finalFailures.includes(code)) return undefined;
    return repeatable || !mayHaveArrived ? backoff : undefined;
  }

  const { status, headers, bodyFailure } = reply.response;
  if (isThrottled(reply) || (repeatable && saysItPasses(reply))) return retryAfter(headers, now) ?? backoff;
  // The status of an error says enough.
  if (bodyFailure === undefined || status >= 300) return undefined;
  return repeatable && !finalFailures.includes(bodyFailure.code) ? backoff : undefined;
}

/** Some APIs send 400 with a code in place of 429. */
const isThrottled = ({ response: { status, headers }, body }: AnsweredReply): boolean =>
  status === 429 || (status === 400 && commonCode(readServiceError(body, headers)) === 'SlowDown');

/** Includes statuses of gateways, and older forms of 429 and 503. */
const passingStatuses: readonly number[] = [408, 420, 425, 429, 444, 449, 460, 499];
const lastingStatuses: readonly number[] = [501, 505, 506, 507, 508, 510, 511];
const passingCodes =
  /^SlowDown|^OperationAborted$|Throttled?|Throttling|RateLimit|Unavailable|(Server|Service|System)Busy|Timed?Out|Internal(Server|Service)?(Error|Failure|Exception)|NotReady|NotInitialized/i;
const passingMessages =
  /\b(re)?try (\w+ ){0,3}(again|later)\b|\bplease (re)?try\b|rate limit exceeded|temporarily (unavailable|overloaded|unable)|reduce your request rate/i;

function saysItPasses({ response: { status, headers }, body }: AnsweredReply): boolean {
  if (isPassingStatus(status)) return true;
  if (status >= 400 && headers['retry-after'] !== undefined) return true;
  if (status < 400 && (status >= 300 || !mayBeError(body))) return false;
  const error = readServiceError(body, headers);
  const isError = status >= 400 || body.kind !== 'json' || error.code !== undefined;
  return isError && isPassing(error);
}

export const isPassingStatus = (status: number): boolean =>
  passingStatuses.includes(status) || (status >= 500 && !lastingStatuses.includes(status));

export const isPassing = (error: ServiceError): boolean =>
  passingCodes.test((commonCode(error) ?? '').replaceAll('_', '')) || passingMessages.test(error.message ?? '');

const mayBeError = (body: Body): boolean =>
  body.kind === 'xml'
    ? ['Error', 'ErrorResponse', 'Response.Errors'].some((path) => valueAt(body.value, path) !== undefined)
    : body.kind === 'html' || body.kind === 'json';

function retryAfter(headers: Readonly<Record<string, string>>, now: Date): number | undefined {
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}

/** True if the access key has expired or is unknown. Such a request was not carried out. */
export const refusesKeys = (reply: AttemptReply): boolean =>
  reply.kind === 'answered' &&
  [400, 401, 403].includes(reply.response.status) &&
  refusedKeyCodes.test(readServiceError(reply.body, reply.response.headers).code ?? '');

/** With a larger offset, signatures would be for another day. */
const maximumOffsetMs = 24 * 60 * 60 * 1000;

/**
 * Returns by how many ms the service's clock is ahead.
 * A gateway with an unset clock may have written `Date`, so the error's time comes first.
 */
export function clockOffset(reply: AttemptReply, now: Date): number | undefined {
  if (reply.kind === 'failed' || ![400, 401, 403].includes(reply.response.status)) return undefined;
  const { headers } = reply.response;
  const error = readServiceError(reply.body, headers);
  if (commonCode(error) !== 'RequestTimeTooSkewed') return undefined;
  return [error.serverTime, headers.date]
    .map((time = '') => (readTime(time) ?? Number.NaN) - now.getTime())
    .find((offset) => Math.abs(offset) <= maximumOffsetMs);
}
