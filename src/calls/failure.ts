import type { Failure, RequestIds } from '../consent/outcome.js';
import type { Operation } from '../tools/define-operation.js';
import { callAgainFirst, forAgent, type Next, next, operatorMust, reportMistake } from '../tools/next.js';
import type { HttpFailure } from '../transport/http-client.js';
import { readServiceError, type ServiceError } from '../transport/service-error.js';
import type { FinalReply } from '../transport/signed-client.js';
import { errorName } from '../util/log.js';
import { defined, forReader, own, quoted, type SafeText, say, sentence, words } from '../util/safe-text.js';
import { isServiceRefusal } from './answered-error.js';
import { type FailedEntries, failedSentence } from './failed-entries.js';
import { httpFailureRemedies, httpFailureText, remedyFor } from './remedies.js';

/** The parts of a call that its failure names. */
export interface FailedCall {
  readonly operation: Operation;
  /** Name of the account. If accounts have no names, the key stands for it. */
  readonly accountName?: string | undefined;
  /** Advice if the outcome of a change is unknown. */
  readonly ifUnknown?: Next;
}

/** Facts about the requests and replies. */
type Exchange = Partial<Pick<Failure, 'status' | 'requestIds' | 'attempts'>>;

/** The failure if there is no answer, or an incomplete answer. */
export function noAnswer(call: FailedCall, failure: HttpFailure, origin: string, exchange: Exchange): Failure {
  const { code, mayHaveArrived } = failure;
  const problem = httpFailureText(failure, origin);
  return failureOf(call, mayHaveArrived, { problem, code, ...exchange, next: httpFailureRemedies[code] });
}

type AnsweredReply = FinalReply & { kind: 'answered' };

/** The failure if the answer's status is no success. */
export function errorAnswer(call: FailedCall, reply: AnsweredReply, requestIds: RequestIds): Failure {
  const { status, headers } = reply.response;
  const mayHaveArrived = status >= 500 || mayFollowSuccess.includes(status);
  return serviceFailure(call, reply, requestIds, readServiceError(reply.body, headers), { status, mayHaveArrived });
}

/** The failure if an answer is an error although its status is a success. Its code decides as its own status would. */
export function answeredError(
  call: FailedCall,
  reply: AnsweredReply,
  requestIds: RequestIds,
  error: ServiceError,
): Failure {
  const mayHaveArrived = !isServiceRefusal(error.code);
  const meaning = { status: mayHaveArrived ? 500 : 400, mayHaveArrived, unknownCode: 'ErrorInAnswer' };
  return serviceFailure(call, reply, requestIds, error, meaning);
}

/** The meaning of an error: the status that advice depends on, and whether the service may have acted. */
interface ErrorMeaning {
  readonly status: number;
  readonly mayHaveArrived: boolean;
  readonly unknownCode?: string;
}

/** The failure because of an error of the service, with the service's words and our advice. */
function serviceFailure(
  call: FailedCall,
  reply: AnsweredReply,
  requestIds: RequestIds,
  { requestId, ...said }: ServiceError,
  meaning: ErrorMeaning,
): Failure {
  const { response, attempts, keyId } = reply;
  const { status, headers, bodyFailure } = response;
  const { operation, accountName = keyId } = call;
  const facts = {
    api: operation.api,
    isStorage: operation.service === 'storage',
    account: accountName,
    retryAfterSeconds: secondsOf(headers['retry-after']),
    region: said.region,
  };
  const { code, next } = remedyFor(operation.errors, said.code, meaning.status, facts, meaning.unknownCode);
  const statusText = say`HTTP status ${status}`;
  const cause = said.code === undefined ? statusText : say`${codeText(said.code, code)} (${statusText})`;
  const lostBody = bodyFailure && { message: `(the body was lost: ${bodyFailure.code})` };
  const serviceSays = { ...lostBody, ...said };
  const isNewId = requestId !== undefined && !Object.values(requestIds).includes(requestId);
  return failureOf(call, meaning.mayHaveArrived, {
    problem: say`the cloud ${verbOf(meaning.status)} ${cause}`,
    code,
    problems: said.code === 'RequestTimeTooSkewed' ? [clocksText(reply)] : [],
    status,
    ...(Object.keys(serviceSays).length > 0 && { serviceSays }),
    requestIds: isNewId ? { ...requestIds, RequestId: requestId } : requestIds,
    attempts,
    next,
  });
}

/** Both clocks at the end of the exchange. */
function clocksText({ response, endedAt }: AnsweredReply): SafeText {
  const { date } = response.headers;
  const theirs = date === undefined ? words('not given') : quoted(date, 60);
  return say`this machine's clock: ${defined(endedAt.toUTCString())}; the cloud's: ${theirs}`;
}

function verbOf(status: number): SafeText {
  if (status >= 500) return words('failed with');
  return words(status >= 400 ? 'refused it with' : 'answered with a redirect,');
}

/** A code of the service. Quoted unless it is a code that this server knows. */
const codeText = (code: string, known: string) => (code === known ? own(code) : quoted(code, 100));

const secondsOf = (retryAfter = '') => (/^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined);

/**
 * A gateway may answer with 408 after it forwarded the request. 303, or the 302 that many servers send instead, may follow a request
 * that was carried out (RFC 9110, section 15.4.4).
 */
const mayFollowSuccess: readonly number[] = [302, 303, 408];

/** The failure if a success cannot be read as an answer of the API. */
export const unreadableAnswer = (call: FailedCall, problem: SafeText, exchange: Exchange): Failure =>
  failureOf(call, true, {
    problem: say`the answer cannot be read, because ${problem}`,
    code: 'UnreadableAnswer',
    ...exchange,
    next: operatorMust('check that the endpoint (CLOUDOPS_…_URL) is the right API and not a proxy or a sign-in page'),
  });

/** The failure if every entry of a change failed. */
export function allFailed(call: FailedCall, failed: FailedEntries, exchange: Exchange): Failure {
  const [code] = failed.codes;
  return failureOf(call, !failed.areRefused, {
    problem: say`all ${failed.count} entries failed`,
    problems: [failedSentence(failed)],
    code: 'AllEntriesFailed',
    ...(code !== undefined && { serviceSays: { code } }),
    ...exchange,
    next: next(
      'user',
      'ask',
      say`${forReader({ agent: 'Tell the user the codes, and ask', person: 'Find out' })} what is wrong before another try.`,
    ),
  });
}

/** Facts of an unexpected error for the log. Only a fault of a third-party operation is logged with its message. */
export function faultFacts({ name }: Operation, error: unknown) {
  const kind = errorName(error);
  // The name is compared because the class is loaded only for third-party operations.
  const fault = error instanceof Error && kind === 'OperationFault' ? { fault: error.message } : {};
  return { tool: name, error: kind, ...fault };
}

/** The failure because of a fault of this server after the request may have been sent. */
export const serverFault = (call: FailedCall): Failure =>
  failureOf(call, true, {
    problem: say`this server made a mistake`,
    code: 'InternalError',
    next: reportMistake,
  });

/** The failure if the pages do not end, or may not be the whole list. */
export const inconsistentPages = (call: FailedCall, problem: SafeText, exchange: Exchange): Failure =>
  failureOf(call, false, {
    problem: say`the pages of the answer do not fit together, because ${problem}`,
    code: 'InconsistentPages',
    ...exchange,
    next: next(
      'agent',
      'call',
      say`${callAgainFirst} once. If it happens again, ${forAgent('tell the user: ')}the support of the cloud needs the request IDs.`,
    ),
  });

/** The failure of a read because other reads use up the memory limit. */
export const tooManyReads = (call: FailedCall): Failure =>
  failureOf(call, false, {
    problem: say`this server is reading as much as it can hold for other calls`,
    code: 'TooManyReads',
    next: next('agent', 'wait', say`${callAgainFirst} in about 10 s.`),
  });

/** The cause as the end of a sentence, with further facts. */
type Cause = { readonly problem: SafeText } & Pick<Failure, 'code' | 'next'> & Partial<Failure>;

/** People in a view know the change, and not the name of a tool. */
function failedBecause({ name }: Operation, problem: SafeText): SafeText {
  const full = say`${own(name)} failed: ${problem}.`;
  return forReader({ agent: full, person: sentence(say`${problem}.`), operator: full });
}

/**
 * Makes the failure of a call. If a change may have been made, its advice replaces the advice of the cause.
 * @param mayHaveArrived whether the service may have acted on the request. Irrelevant for a read
 */
function failureOf(
  { operation, ifUnknown }: FailedCall,
  mayHaveArrived: boolean,
  { problem, code, next: nextAfterCause, attempts = [], ...otherFields }: Cause,
): Failure {
  const isChange = operation.effect !== 'read';
  const isUnknown = isChange && mayHaveArrived;
  return {
    summary: isUnknown
      ? say`${own(operation.name)} has an unknown outcome: ${problem}.`
      : failedBecause(operation, problem),
    code,
    problems: [],
    requestIds: {},
    ...otherFields,
    ...(isChange && { mayHaveHappened: mayHaveArrived }),
    next: isUnknown && ifUnknown !== undefined ? ifUnknown : nextAfterCause,
    ...(attempts.length > 1 && { attempts }),
  };
}
