import type { Operation } from '../tools/define-operation.js';
import type { HttpFailure } from '../transport/http-client.js';
import type { Attempt, FinalReply } from '../transport/signed-client.js';
import { quote, quoteName } from '../util/quote.js';
import { httpFailureRemedies, httpFailureText, remedyFor } from './remedies.js';
import { readServiceError } from './service-error.js';

/** Request IDs by header name: what the support of the service asks for. */
export type RequestIds = Readonly<Record<string, string>>;

/** A call that did not succeed: the structured content of every error. */
export interface Failure {
  /** The failure and its cause in one sentence. */
  readonly summary: string;
  readonly code: string;
  /** Name of the account, where accounts have names. */
  readonly account?: string;
  /** Corrections that are needed, one line each. */
  readonly problems: readonly string[];
  readonly status?: number | undefined;
  readonly message?: string | undefined;
  /** True if the cloud may have acted on it. Undefined for a read. */
  readonly mayHaveHappened?: boolean | undefined;
  readonly next: string;
  readonly requestIds: RequestIds;
  /** Of a request that was sent more than once. */
  readonly attempts?: readonly Attempt[];
  /** Of a plan that could not be made: what applies to the arguments that are right. */
  readonly defaults?: readonly string[];
  /** The same, or what there is to warn of a read. */
  readonly warnings?: readonly string[];
  /** News of earlier calls. */
  readonly notes?: readonly string[];
}

/** The part of a call that its failure speaks of. */
export interface FailedCall {
  readonly operation: Operation;
  /** Advice for an unknown outcome. */
  readonly ifUnknown: string;
}

/** The facts of the requests and their answers. */
type Exchange = Partial<Pick<Failure, 'status' | 'requestIds' | 'attempts'>>;

/** No answer, or only the beginning of one. */
export function noAnswer(call: FailedCall, failure: HttpFailure, origin: string, exchange: Exchange): Failure {
  const { code, mayHaveArrived } = failure;
  const problem = httpFailureText(failure, origin);
  return failureOf(call, mayHaveArrived, { problem, code, ...exchange, next: httpFailureRemedies[code] });
}

/** An answer whose status is not a success. */
export function errorAnswer(
  call: FailedCall,
  { response: { status, headers, bodyFailure }, body, attempts, endedAt }: FinalReply & { kind: 'answered' },
  requestIds: RequestIds,
): Failure {
  const error = readServiceError(body);
  const message = error.message ?? (bodyFailure === undefined ? undefined : `(the body was lost: ${bodyFailure.code})`);
  const clocks = `this machine's clock: ${endedAt.toUTCString()}; the service's: ${quote(headers.date ?? 'not given', 60)}`;
  const cause = error.code === undefined ? `HTTP status ${status}` : `${quoteName(error.code)} (HTTP status ${status})`;
  const known = error.requestId === undefined || Object.values(requestIds).includes(error.requestId);
  return failureOf(call, status >= 500 || mayFollowSuccess.includes(status), {
    problem: `the service ${status >= 500 ? 'failed' : status < 400 ? 'answered' : 'refused it'} with ${cause}${status >= 300 && status < 400 ? ', a redirect, which a signed request must not follow' : ''}`,
    code: error.code ?? `Http${status}`,
    problems: error.code === 'RequestTimeTooSkewed' ? [clocks] : [],
    status,
    message,
    requestIds: known ? requestIds : { ...requestIds, RequestId: error.requestId ?? '' },
    attempts,
    next: remedyFor(call.operation.errors, error.code, status),
  });
}

/**
 * A gateway's 408 may come after the request went on to the service behind it, and a 303, or the 302 that many send in its place,
 * after the request was carried out (RFC 9110, section 15.4.4).
 */
const mayFollowSuccess: readonly number[] = [302, 303, 408];

/** A success that is no answer of the API. */
export const unreadableAnswer = (call: FailedCall, problem: string, exchange: Exchange): Failure =>
  failureOf(call, true, {
    problem: `the answer cannot be read, because ${problem}`,
    code: 'UnreadableAnswer',
    ...exchange,
    next: 'Check that the configured endpoint is the right API and not a proxy or a sign-in page, then try again.',
  });

/** A fault of this server, after the request may have been sent. */
export const serverFault = (call: FailedCall): Failure =>
  failureOf(call, true, {
    problem: 'this server made a mistake',
    code: 'InternalError',
    next: 'Look in the log of this server, and report the mistake.',
  });

/** Pages that would not end, or cannot be trusted to be the whole list. */
export const inconsistentPages = (call: FailedCall, problem: string, exchange: Exchange): Failure =>
  failureOf(call, false, {
    problem: `the pages of the answer do not fit together, because ${problem}`,
    code: 'InconsistentPages',
    ...exchange,
    next: 'Try again. If it happens again, report it to the support of the service.',
  });

/** The cause as the end of a sentence, and the facts around it. */
type Cause = { readonly problem: string } & Pick<Failure, 'code' | 'next'> & Partial<Failure>;

/** @param mayHaveArrived whether the service may have acted on it; a read has nothing that could have happened */
function failureOf(
  { operation, ifUnknown }: FailedCall,
  mayHaveArrived: boolean,
  { problem, code, next, attempts = [], ...known }: Cause,
): Failure {
  const changes = operation.effect !== 'read';
  const isUnknown = changes && mayHaveArrived;
  return {
    summary: `${operation.name} ${isUnknown ? 'has an unknown outcome' : 'failed'}: ${problem}.`,
    code,
    problems: [],
    requestIds: {},
    ...known,
    ...(changes && { mayHaveHappened: mayHaveArrived }),
    next: isUnknown ? ifUnknown : next,
    ...(attempts.length > 1 && { attempts }),
  };
}
