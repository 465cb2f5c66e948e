import type { Operation } from '../tools/define-operation.js';
import { callAgainFirst, type Next, next, operatorMust, reportMistake } from '../tools/next.js';
import type { OperationFault } from '../tools/operation-fault.js';
import type { HttpFailure } from '../transport/http-client.js';
import type { Endpoint } from '../transport/request.js';
import { readServiceError, type ServiceError, shortenServiceError } from '../transport/service-error.js';
import type { AnsweredReply, Attempt } from '../transport/signed-client.js';
import { errorName } from '../util/log.js';
import { defined, forReader, own, quoted, type SafeText, say, sentence, words } from '../util/safe-text.js';
import { isServiceRefusal } from './answered-error.js';
import { type FailedEntries, failedSentence } from './failed-entries.js';
import type { Failure, RequestIds } from './outcome.js';
import { Refusal } from './refusal.js';
import { httpFailureRemedies, httpFailureText, remedyFor } from './remedies.js';

/** The parts of a call that its failure names. */
export interface FailedCall {
  readonly operation: Operation;
  /** Name of the account. If accounts have no names, failures name the access key in its place. */
  readonly accountName?: string | undefined;
  /** Advice if the outcome of a change is unknown. */
  readonly ifUnknown?: Next;
}

/** A call whose request was sent to an endpoint. */
export interface SentToEndpoint extends FailedCall {
  readonly endpoint: Endpoint;
}

/** Facts about the attempts of a request, and about its answer. */
export interface Exchange {
  readonly status: number;
  readonly requestIds: RequestIds;
  readonly attempts: readonly Attempt[];
}

/** The failure if no answer came, or only a part of one. */
export function noAnswer(call: SentToEndpoint, failure: HttpFailure, exchange: Partial<Exchange>): Failure {
  const { code, mayHaveArrived } = failure;
  const problem = httpFailureText(failure, call.endpoint.origin);
  const mayHaveHappened = mayHaveArrived;
  return failureOf(call, { mayHaveHappened, problem, code, ...exchange, next: httpFailureRemedies[code] });
}

/** The failure if the status of the answer is not a success (2xx). */
export function errorStatusFailure(call: SentToEndpoint, reply: AnsweredReply, requestIds: RequestIds): Failure {
  const { status, headers } = reply.response;
  return serviceFailure(call, reply, requestIds, readServiceError(reply.body, headers), {
    effectiveStatus: status,
    codeIfUnknown: `Http${status}`,
  });
}

/** The failure if an answer with a successful status holds an error. A code that means a refusal counts as status 400, any other as 500. */
export const errorInSuccessFailure = (
  call: SentToEndpoint,
  reply: AnsweredReply,
  requestIds: RequestIds,
  error: ServiceError,
): Failure =>
  serviceFailure(call, reply, requestIds, error, {
    effectiveStatus: isServiceRefusal(error.code) ? 400 : 500,
    codeIfUnknown: 'ErrorInAnswer',
  });

/** The status and the code that stand for an error of the service. */
interface ErrorClass {
  /** The status that decides on the advice, and whether the change may have happened. It is the answer's own status unless that is 2xx. */
  readonly effectiveStatus: number;
  /** This server's code for the error, if there is no advice on the service's code. */
  readonly codeIfUnknown: string;
}

/**
 * The failure because of an error of the service, with the service's words and our advice. An error has two codes: the service's, which may be
 * any text, and this server's own.
 */
function serviceFailure(
  call: SentToEndpoint,
  reply: AnsweredReply,
  requestIds: RequestIds,
  error: ServiceError,
  { effectiveStatus, codeIfUnknown }: ErrorClass,
): Failure {
  const { response, attempts, keyId } = reply;
  const { status, headers, bodyFailure } = response;
  const { operation, accountName, endpoint } = call;
  const remedy = remedyFor(effectiveStatus, operation.errors, {
    api: operation.api,
    endpoint,
    takesRegion: Object.hasOwn(operation.input().shape, 'region'),
    // If accounts have no names, the advice names the access key.
    account: accountName ?? keyId,
    retryAfterSeconds: secondsOf(headers['retry-after']),
    error,
  });
  const ownCode = remedy.code ?? codeIfUnknown;

  const statusText = say`HTTP status ${status}`;
  const cause = error.code === undefined ? statusText : say`${codeText(error.code, ownCode)} (${statusText})`;
  const { requestId: idInError, serverTime, ...errorWithoutId } = error;
  // A lost body was read as empty, so `error` has no message that would replace the message of `lostBody`.
  const lostBody = bodyFailure && { message: `(the body was lost: ${bodyFailure.code})` };
  const serviceSays = { ...lostBody, ...errorWithoutId };

  // Some services repeat a request ID from the headers in the error. It is then reported once.
  const isNewId = idInError !== undefined && !Object.values(requestIds).includes(idInError);
  const mayHaveHappened = effectiveStatus >= 500 || mayFollowSuccess.includes(effectiveStatus);
  return failureOf(call, {
    mayHaveHappened,
    problem: say`the cloud ${verbOf(effectiveStatus)} ${cause}`,
    code: ownCode,
    problems: ownCode === 'RequestTimeTooSkewed' ? [clocksText(reply, serverTime)] : [],
    status,
    ...(Object.keys(serviceSays).length > 0 && { serviceSays }),
    requestIds: isNewId ? { ...requestIds, RequestId: idInError } : requestIds,
    attempts,
    next: remedy.next,
  });
}

/** The times of this machine and of the cloud when the reply came. */
function clocksText({ response, endedAt }: AnsweredReply, serverTime = response.headers.date): SafeText {
  const theirs = serverTime === undefined ? words('not given') : quoted(serverTime, 60);
  return say`this machine's clock: ${defined(endedAt.toUTCString())}; the cloud's: ${theirs}`;
}

function verbOf(status: number): SafeText {
  if (status >= 500) return words('failed with');
  return words(status >= 400 ? 'refused it with' : 'answered with a redirect,');
}

/** The service's error code. Quoted unless it is equal to this server's own code for the error, because it may be any text. */
const codeText = (code: string, ownCode: string) => (code === ownCode ? own(code) : quoted(code, 100));

const secondsOf = (retryAfter = '') => (/^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined);

/**
 * Statuses below 500 of requests that may have been carried out. A gateway may answer with 408 after it forwarded the request. 499 (nginx, gRPC
 * gateways), 444 (nginx) and 460 (load balancers of AWS) report a request that was cancelled while it ran. 303, or the 302 that many servers
 * send instead, may follow a request that was carried out (RFC 9110, section 15.4.4). Any other status below 500, such as 421, 425 or 429,
 * means that the request was not carried out.
 */
const mayFollowSuccess: readonly number[] = [302, 303, 408, 444, 460, 499];

/** The failure if an answer with a successful status cannot be read as an answer of the API. */
export const unreadableAnswer = (
  call: FailedCall,
  problem: SafeText,
  exchange: Exchange,
  isTooLarge = false,
): Failure =>
  failureOf(call, {
    mayHaveHappened: true,
    problem: say`the answer cannot be read, because ${problem}`,
    code: isTooLarge ? 'ResponseTooLarge' : 'UnreadableAnswer',
    ...exchange,
    next: isTooLarge
      ? httpFailureRemedies.ResponseTooLarge
      : operatorMust('check that the endpoint (CLOUDOPS_…_URL) is the right API and not a proxy or a sign-in page'),
  });

/** The failure if every entry of a change failed. */
export function allFailed(call: FailedCall, failed: FailedEntries, exchange: Exchange): Failure {
  const [code] = failed.codes;
  const serviceSays = { ...(code !== undefined && { code }), ...shortenServiceError({ message: failed.message }) };
  const ask = forReader({ agent: 'Tell the user what the cloud says, and ask', person: 'Find out' });
  return failureOf(call, {
    mayHaveHappened: !failed.areRefused,
    problem: words('every entry failed'),
    problems: [failedSentence(failed)],
    code: 'AllEntriesFailed',
    ...(Object.keys(serviceSays).length > 0 && { serviceSays }),
    ...exchange,
    next: next('user', 'ask', say`${ask} what is wrong before another try.`),
  });
}

/** Facts of an unexpected error for the log. Only a fault of an operation of a model has a text for the log. */
export function faultFacts({ name }: Operation, error: unknown) {
  const fault = operationFaultIn(error);
  return { tool: name, error: errorName(error), ...(fault !== undefined && { fault: fault.message }) };
}

/** Finds the fault of an operation of a model in an error or its causes. */
function operationFaultIn(error: unknown): OperationFault | undefined {
  if (!(error instanceof Error)) return undefined;
  return isOperationFault(error) ? error : operationFaultIn(error.cause);
}

/** Compares the name, because the class is loaded only for operations of models. */
const isOperationFault = (error: Error): error is OperationFault =>
  error.name === 'OperationFault' && 'functionName' in error;

/** Says whose mistake an unexpected error is, as a clause. */
export function mistakeText(error: unknown): SafeText {
  const fault = operationFaultIn(error);
  if (fault === undefined) return words('this server made a mistake');
  return say`the operation file (CLOUDOPS_OPERATIONS) has a mistake in ${quoted(fault.functionName, 200)}`;
}

const stepAfterMistake = (error: unknown): Next =>
  operationFaultIn(error) === undefined ? reportMistake : correctOperationFile;

const correctOperationFile = operatorMust(
  say`correct the operation file; ${forReader({ agent: 'its', person: 'its', operator: 'the' })} log says what the function did`,
);

/** The refusal of a call because of an unexpected error before anything was sent. */
export const mistakeRefusal = (error: unknown): Refusal =>
  new Refusal('InternalError', [], { reason: mistakeText(error), next: stepAfterMistake(error) });

/** The failure because of an unexpected error, possibly after the request was sent. */
export const serverFault = (call: FailedCall, error: unknown): Failure =>
  failureOf(call, {
    mayHaveHappened: true,
    problem: mistakeText(error),
    code: 'InternalError',
    next: stepAfterMistake(error),
  });

/** The failure of a read for which other reads have left no memory. */
export const tooManyReads = (call: FailedCall): Failure =>
  failureOf(call, {
    mayHaveHappened: false,
    problem: say`this server is reading as much as it can hold for other calls`,
    code: 'TooManyReads',
    next: next('agent', 'wait', say`${callAgainFirst} in about 10 s.`),
  });

/** The fields of a failure that its cause determines. */
interface Cause extends Pick<Failure, 'code' | 'next'>, Partial<Omit<Failure, 'code' | 'next'>> {
  /** True if the service may have carried out the request. Irrelevant for a read, which changes nothing. */
  readonly mayHaveHappened: boolean;
  /** The end of the summary's sentence. */
  readonly problem: SafeText;
}

/** The summary of a failed call. People get it without the tool's name, because a view shows them the change and not the tool. */
function failedBecause({ name }: Operation, problem: SafeText): SafeText {
  const full = say`${own(name)} failed: ${problem}.`;
  return forReader({ agent: full, person: sentence(say`${problem}.`), operator: full });
}

/** Makes the failure of a call. If a change may have been made, the call's advice `ifUnknown` replaces the advice `next` of the cause. */
function failureOf(
  { operation, ifUnknown }: FailedCall,
  { mayHaveHappened, problem, code, next: nextAfterCause, attempts = [], ...otherFields }: Cause,
): Failure {
  const isChange = operation.effect !== 'read';
  const isUnknown = isChange && mayHaveHappened;
  const unknownOutcome = say`${own(operation.name)} has an unknown outcome: ${problem}.`;
  return {
    summary: isUnknown ? unknownOutcome : failedBecause(operation, problem),
    code,
    problems: [],
    requestIds: {},
    ...otherFields,
    ...(isChange && { mayHaveHappened }),
    next: isUnknown && ifUnknown !== undefined ? ifUnknown : nextAfterCause,
    ...(attempts.length > 1 && { attempts }),
  };
}
