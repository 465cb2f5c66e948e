import type { Failure, RequestIds } from '../consent/outcome.js';
import type { Operation } from '../tools/define-operation.js';
import { type Next, next, operatorMust, reportMistake } from '../tools/next.js';
import type { HttpFailure } from '../transport/http-client.js';
import { readServiceError } from '../transport/service-error.js';
import type { FinalReply } from '../transport/signed-client.js';
import { defined, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { httpFailureRemedies, httpFailureText, remedyFor } from './remedies.js';

/** The part of a call that its failure speaks of. */
export interface FailedCall {
  readonly operation: Operation;
  /** Name of the account, where accounts have names of their own. Otherwise its key stands for it. */
  readonly accountName?: string | undefined;
  /** Advice for an unknown outcome, for a call that changes something. */
  readonly ifUnknown?: Next;
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
  { response: { status, headers, bodyFailure }, body, attempts, endedAt, keyId }: FinalReply & { kind: 'answered' },
  requestIds: RequestIds,
): Failure {
  const { requestId, ...told } = readServiceError(body, headers);
  const serviceSays =
    bodyFailure === undefined ? told : { message: `(the body was lost: ${bodyFailure.code})`, ...told };
  const theirs = headers.date === undefined ? words('not given') : quoted(headers.date, 60);
  const clocks = say`this machine's clock: ${defined(endedAt.toUTCString())}; the cloud's: ${theirs}`;
  const { operation, accountName = keyId } = call;
  const { code, next } = remedyFor(operation.errors, told.code, status, {
    api: operation.api,
    isStorage: operation.service === 'storage',
    account: accountName,
    retryAfterSeconds: secondsOf(headers['retry-after']),
  });
  const cause =
    told.code === undefined ? say`HTTP status ${status}` : say`${coded(told.code, code)} (HTTP status ${status})`;
  const known = requestId === undefined || Object.values(requestIds).includes(requestId);
  return failureOf(call, status >= 500 || mayFollowSuccess.includes(status), {
    problem: say`the cloud ${verbOf(status)} ${cause}`,
    code,
    problems: told.code === 'RequestTimeTooSkewed' ? [clocks] : [],
    status,
    ...(Object.keys(serviceSays).length > 0 && { serviceSays }),
    requestIds: known ? requestIds : { ...requestIds, RequestId: requestId ?? '' },
    attempts,
    next,
  });
}

function verbOf(status: number): SafeText {
  if (status >= 500) return words('failed with');
  return words(status >= 400 ? 'refused it with' : 'answered with a redirect,');
}

/** A code of the service: bare only where it is the very code that is known here. */
const coded = (code: string, known: string) => (code === known ? own(code) : quoted(code, 100));

const secondsOf = (retryAfter = '') => (/^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined);

/**
 * A gateway's 408 may come after the request went on to the service behind it, and a 303, or the 302 that many send in its place,
 * after the request was carried out (RFC 9110, section 15.4.4).
 */
const mayFollowSuccess: readonly number[] = [302, 303, 408];

/** A success that is no answer of the API. */
export const unreadableAnswer = (call: FailedCall, problem: SafeText, exchange: Exchange): Failure =>
  failureOf(call, true, {
    problem: say`the answer cannot be read, because ${problem}`,
    code: 'UnreadableAnswer',
    ...exchange,
    next: operatorMust('check that the endpoint (CLOUDOPS_…_URL) is the right API and not a proxy or a sign-in page'),
  });

/** A fault of this server, after the request may have been sent. */
export const serverFault = (call: FailedCall): Failure =>
  failureOf(call, true, {
    problem: say`this server made a mistake`,
    code: 'InternalError',
    next: reportMistake,
  });

/** Pages that would not end, or cannot be trusted to be the whole list. */
export const inconsistentPages = (call: FailedCall, problem: SafeText, exchange: Exchange): Failure =>
  failureOf(call, false, {
    problem: say`the pages of the answer do not fit together, because ${problem}`,
    code: 'InconsistentPages',
    ...exchange,
    next: next(
      'agent',
      'call',
      'Call again once. If it happens again, tell the user: the support of the cloud needs the request IDs.',
    ),
  });

/** A read for which there is no room beside the others. */
export const tooManyReads = (call: FailedCall): Failure =>
  failureOf(call, false, {
    problem: say`this server is reading as much as it can hold for other calls`,
    code: 'TooManyReads',
    next: next('agent', 'wait', 'Call again in about 10 s.'),
  });

/** The cause as the end of a sentence, and the facts around it. */
type Cause = { readonly problem: SafeText } & Pick<Failure, 'code' | 'next'> & Partial<Failure>;

/** @param mayHaveArrived whether the service may have acted on it; a read has nothing that could have happened */
function failureOf(
  { operation, ifUnknown }: FailedCall,
  mayHaveArrived: boolean,
  { problem, code, next: step, attempts = [], ...known }: Cause,
): Failure {
  const changes = operation.effect !== 'read';
  const isUnknown = changes && mayHaveArrived;
  return {
    summary: say`${own(operation.name)} ${words(isUnknown ? 'has an unknown outcome' : 'failed')}: ${problem}.`,
    code,
    problems: [],
    requestIds: {},
    ...known,
    ...(changes && { mayHaveHappened: mayHaveArrived }),
    next: isUnknown && ifUnknown !== undefined ? ifUnknown : step,
    ...(attempts.length > 1 && { attempts }),
  };
}
