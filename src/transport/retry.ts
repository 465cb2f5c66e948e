import { refusedKeyCodes } from '../signing/keys.js';
import { valueAt } from '../util/objects.js';
import { readTime } from '../util/read-values.js';
import type { FailureCode } from './http-client.js';
import type { Body } from './parse-body.js';
import type { AttemptReply } from './reply.js';
import { commonCode, readServiceError, type ServiceError } from './service-error.js';

type AnsweredReply = Extract<AttemptReply, { kind: 'answered' }>;

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
  if (isThrottled(reply) || (repeatable && saysItPasses(reply))) return retryAfter(headers, now) ?? backoff;
  // A whole answer is final, and so is an error without its whole text, because the status says enough.
  if (bodyFailure === undefined || status >= 300) return undefined;
  return repeatable && !finalFailures.includes(bodyFailure.code) ? backoff : undefined;
}

/** True if the service refused a request because of too many requests: with 429 or, in APIs for JSON or queries, with 400 and a code. */
const isThrottled = ({ response: { status, headers }, body }: AnsweredReply): boolean =>
  status === 429 || (status === 400 && commonCode(readServiceError(body, headers)) === 'SlowDown');

/**
 * Statuses below 500 for troubles that pass: time limits, requests that came too early or too often, and statuses of gateways whose connection
 * to the service was closed (444 and 499 of nginx, 460 of load balancers of AWS). 420 and 449 are older forms of 429 and 503.
 */
const passingStatuses: readonly number[] = [408, 420, 425, 429, 444, 449, 460, 499];
/** Statuses from 500 on for troubles that stay, such as an unsupported method or version, or a network that asks for a sign-in. */
const lastingStatuses: readonly number[] = [501, 505, 506, 507, 508, 510, 511];
/** Matches error codes for troubles that pass, in S3's names (`commonCode`) and those of similar services. */
const passingCodes =
  /^SlowDown|^OperationAborted$|Throttled?|Throttling|Unavailable|(Server|Service|System)Busy|Timed?Out|Internal(Server|Service)?(Error|Failure|Exception)|NotReady|NotInitialized/i;
const passingMessages =
  /\b(re)?try (\w+ ){0,3}(again|later)\b|temporarily (unavailable|overloaded|unable)|reduce your request rate/i;

/** True if an answer says that its trouble passes: by its status, by `Retry-After`, or in its body, which may have a successful status. */
function saysItPasses({ response: { status, headers }, body }: AnsweredReply): boolean {
  if (isPassingStatus(status)) return true;
  if (status >= 400 && headers['retry-after'] !== undefined) return true;
  const error = readServiceError(body, headers);
  const isError = status >= 400 || (status < 300 && isErrorBody(body, error));
  return isError && isPassing(error);
}

/** True for statuses of troubles that pass. */
export const isPassingStatus = (status: number): boolean =>
  passingStatuses.includes(status) || (status >= 500 && !lastingStatuses.includes(status));

/** True if an error says by its code or its message that the trouble passes. */
export const isPassing = (error: ServiceError): boolean =>
  passingCodes.test(commonCode(error) ?? '') || passingMessages.test(error.message ?? '');

/** True if the body of a success may be an error: an error document, JSON with an error code, or the page of a proxy. */
function isErrorBody(body: Body, { code }: ServiceError): boolean {
  if (body.kind === 'xml')
    return ['Error', 'ErrorResponse', 'Response.Errors'].some((path) => valueAt(body.value, path) !== undefined);
  return body.kind === 'html' || (body.kind === 'json' && code !== undefined);
}

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

/**
 * Returns by how many milliseconds the service's clock is ahead, if the service refused the request because of the difference. The time in the
 * error comes before the `Date` header, which a gateway with an unset clock may have written.
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
