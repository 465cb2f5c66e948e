import type { Operation, OperationFault } from '../tools/define-operation.js';
import type { Next } from '../tools/next.js';
import type { HttpFailure } from '../transport/http-client.js';
import type { Endpoint } from '../transport/request.js';
import {
  detailText,
  errorFieldsIn,
  isServiceRefusal,
  readServiceError,
  type ServiceError,
  shortenServiceError,
} from '../transport/service-error.js';
import type { AnsweredReply, Attempt } from '../transport/signed-client.js';
import { errorName, type Log } from '../util/log.js';
import { defined, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { type FailedEntries, failedSentence } from './failed-entries.js';
import type { Failure, RequestIds } from './outcome.js';
import { nextOf, Refusal, refusalAfter, refusals, summaryOf } from './refusal.js';
import { httpFailureText, remedyFor, stepAfterFailure, stepNamed } from './remedies.js';

export interface FailedCall {
  readonly operation: Pick<Operation, 'name' | 'effect'>;
  readonly ifUnknown?: Next;
}

export interface SentToEndpoint extends FailedCall {
  readonly operation: Operation;
  readonly accountName?: string | undefined;
  readonly endpoint: Endpoint;
}

export interface Exchange {
  readonly status: number;
  readonly requestIds: RequestIds;
  readonly attempts: readonly Attempt[];
}

/** The failure if no answer came, or only a part. */
export function noAnswer(call: SentToEndpoint, failure: HttpFailure, exchange: Partial<Exchange>): Failure {
  const { code, mayHaveArrived } = failure;
  const problem = httpFailureText(failure, call.endpoint.origin);
  const mayHaveHappened = mayHaveArrived;
  return failureOf(call, { mayHaveHappened, problem, code, ...exchange, next: stepAfterFailure(code) });
}

/**
 * The failure if the status of the answer is not 2xx, or if a successful answer holds an error.
 * @param errorInSuccess a refusal counts as status 400, any other error as 500
 */
export function serviceFailure(
  call: SentToEndpoint,
  reply: AnsweredReply,
  requestIds: RequestIds,
  errorInSuccess?: ServiceError,
): Failure {
  const { response, attempts, keyId } = reply;
  const { status, headers, bodyFailure } = response;
  const error = errorInSuccess ?? readServiceError(reply.body, headers);
  const statusOfError = isServiceRefusal(error.code) ? 400 : 500;
  const effectiveStatus = errorInSuccess === undefined ? status : statusOfError;
  const { operation, accountName, endpoint } = call;
  const { 'retry-after': retryAfter = '' } = headers;
  const remedy = remedyFor(effectiveStatus, operation.errors, {
    api: operation.api,
    endpoint,
    takesRegion: Object.hasOwn(operation.input().shape, 'region'),
    account: accountName ?? keyId,
    retryAfterSeconds: /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined,
    error,
  });
  const ownCode = remedy.code ?? (errorInSuccess === undefined ? `Http${status}` : 'ErrorInAnswer');

  const { requestId: idInError, serverTime, ...errorWithoutId } = error;
  // A lost body was read as empty, so `error` has no message.
  const lostBody = bodyFailure && { message: `(the body was lost: ${bodyFailure.code})` };
  const details =
    error.code === undefined ? undefined : operation.errorDetails?.(error.code, errorFieldsIn(reply.body));
  const otherDetails = Object.entries(details ?? {}).filter(([name]) => !Object.hasOwn(errorWithoutId, name));
  const detailTexts = otherDetails.slice(0, 10).map(([name, value]) => [name, detailText(value)]);
  const serviceSays = { ...lostBody, ...errorWithoutId, ...Object.fromEntries(detailTexts) };

  // Some services repeat a request ID in the error.
  const isNewId = idInError !== undefined && !Object.values(requestIds).includes(idInError);
  // A gateway may answer with 408 after it forwarded the request. 444, 460 and 499 report a request that was cancelled while it ran. 302 and
  // 303 may follow a success (RFC 9110, section 15.4.4).
  const mayHaveHappened = effectiveStatus >= 500 || [302, 303, 408, 444, 460, 499].includes(effectiveStatus);
  return failureOf(call, {
    mayHaveHappened,
    problem: problemOf(effectiveStatus, status, error.code, ownCode),
    code: ownCode,
    problems: ownCode === 'RequestTimeTooSkewed' ? [clocksText(reply, serverTime)] : [],
    status,
    ...(Object.keys(serviceSays).length > 0 && { serviceSays }),
    requestIds: isNewId ? { ...requestIds, RequestId: idInError } : requestIds,
    attempts,
    next: remedy.next,
  });
}

function clocksText({ response, endedAt }: AnsweredReply, serverTime = response.headers.date): SafeText {
  const theirs = serverTime === undefined ? words('not given') : quoted(serverTime, 60);
  return say`this machine's clock: ${defined(endedAt.toUTCString())}; the cloud's: ${theirs}`;
}

function problemOf(effectiveStatus: number, status: number, code: string | undefined, ownCode: string): SafeText {
  const statusText = say`HTTP status ${status}`;
  if (code === undefined && effectiveStatus !== status) return say`the answer says that it failed (${statusText})`;
  // Quoted unless it is this server's own code, because it may be any text.
  const codeText = code === undefined || code === ownCode ? own(ownCode) : quoted(code, 100);
  const verbBelow500 = words(effectiveStatus >= 400 ? 'refused it with' : 'answered with a redirect,');
  const verb = effectiveStatus >= 500 ? words('failed with') : verbBelow500;
  return say`the cloud ${verb} ${code === undefined ? statusText : say`${codeText} (${statusText})`}`;
}

/** The failure if a successful answer cannot be read as an answer of the API. */
export const unreadableAnswer = (
  call: FailedCall,
  problem: SafeText,
  exchange: Exchange,
  malformed?: { readonly isTooLarge: boolean },
): Failure =>
  failureOf(call, {
    mayHaveHappened: true,
    problem: say`the answer cannot be read, because ${problem}`,
    code: malformed?.isTooLarge ? 'ResponseTooLarge' : 'UnreadableAnswer',
    ...exchange,
    next: malformed?.isTooLarge
      ? stepAfterFailure('ResponseTooLarge')
      : stepNamed(malformed === undefined ? 'unreadable' : 'brokenAnswer'),
  });

export function allFailed(call: FailedCall, failed: FailedEntries, exchange: Exchange): Failure {
  const [code] = failed.codes;
  const serviceSays = { ...(code !== undefined && { code }), ...shortenServiceError({ message: failed.message }) };
  return failureOf(call, {
    mayHaveHappened: !failed.areRefused,
    problem: words('every entry failed'),
    problems: [failedSentence(failed)],
    code: 'AllEntriesFailed',
    ...(Object.keys(serviceSays).length > 0 && { serviceSays }),
    ...exchange,
    next: stepNamed('allFailed'),
  });
}

/** Facts of an unexpected error for the log, with text only for a fault of a model's operation. */
export function faultFacts({ name: tool }: Pick<Operation, 'name'>, error: unknown) {
  const fault = operationFaultIn(error);
  return { tool, error: errorName(error), ...(fault !== undefined && { fault: fault.message }) };
}

function operationFaultIn(error: unknown): OperationFault | undefined {
  // Compares the name, because the class is loaded only for operations of models.
  const isFault = (cause: Error): cause is OperationFault => cause.name === 'OperationFault' && 'functionName' in cause;
  if (!(error instanceof Error)) return undefined;
  return isFault(error) ? error : operationFaultIn(error.cause);
}

/** Says whose mistake an unexpected error is, as a clause. */
export function mistakeText(error: unknown): SafeText {
  const fault = operationFaultIn(error);
  if (fault === undefined) return words('this server made a mistake');
  return say`the operation file (CLOUDOPS_OPERATIONS) has a mistake in ${quoted(fault.functionName, 200)}`;
}

const stepAfterMistake = (error: unknown): Next =>
  operationFaultIn(error) === undefined ? nextOf(refusals.InternalError) : stepNamed('operationFile');

/** The refusal because of an error before anything was sent. An unexpected error is logged. */
export function refusalOfError(error: unknown, tool: Pick<Operation, 'name'>, log: Log): Refusal {
  const refusal = refusalAfter(error);
  if (refusal !== undefined) return refusal;
  log('error', 'unexpected', faultFacts(tool, error));
  return new Refusal('InternalError', [], { reason: mistakeText(error), next: stepAfterMistake(error) });
}

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
    next: stepNamed('tooManyReads'),
  });

interface Cause extends Pick<Failure, 'code' | 'next'>, Partial<Omit<Failure, 'code' | 'next'>> {
  readonly mayHaveHappened: boolean;
  readonly problem: SafeText;
}

/** If a change may have been made, `ifUnknown` replaces the advice of the cause. */
function failureOf(
  { operation, ifUnknown }: FailedCall,
  { mayHaveHappened, problem, code, next: nextAfterCause, attempts = [], ...otherFields }: Cause,
): Failure {
  const isChange = operation.effect !== 'read';
  const isUnknown = isChange && mayHaveHappened;
  const unknownOutcome = say`${own(operation.name)} has an unknown outcome: ${problem}.`;
  return {
    summary: isUnknown ? unknownOutcome : summaryOf(own(operation.name), words('failed'), problem),
    code,
    problems: [],
    requestIds: {},
    ...otherFields,
    ...(isChange && { mayHaveHappened }),
    next: isUnknown && ifUnknown !== undefined ? ifUnknown : nextAfterCause,
    ...(attempts.length > 1 && { attempts }),
  };
}
