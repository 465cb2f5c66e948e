import type { Operation } from '../tools/define-operation.js';
import type { FailureCode, HttpFailure } from '../transport/http-client.js';
import type { Attempt, Sent } from '../transport/signed-client.js';
import { quote, quoteName } from '../util/quote.js';
import { remedy } from './remedies.js';
import { readServiceError } from './service-error.js';

/** Why a call did not succeed, in the one shape that every error has. */
export interface Failure {
  /** What failed and why, one sentence. */
  readonly summary: string;
  /** Particulars, one a line. */
  readonly details?: readonly string[];
  readonly code: string;
  readonly status?: number;
  /** The service's own words. */
  readonly message?: string;
  readonly requestIds: Readonly<Record<string, string>>;
  /** Whether the cloud may have acted on it. */
  readonly mayHaveHappened: boolean;
  readonly attempts: readonly Attempt[];
  readonly next: string;
  /** What has to be said of earlier calls. */
  readonly notes?: readonly string[];
}

/** Writes a failure as the text of a tool error. The service's words are quoted: they are data. */
export function failureText(failure: Failure): string {
  const { summary, details = [], code, status, message, requestIds, mayHaveHappened, attempts, next } = failure;
  return [
    summary,
    ...(details.length === 0 ? [] : ['', ...details.map((detail) => `- ${detail}`)]),
    '',
    `code: ${quoteName(code)}`,
    ...(status === undefined ? [] : [`status: ${status}`]),
    ...(message === undefined ? [] : [`service says: ${quote(message, 500)}`]),
    ...(Object.keys(requestIds).length === 0 ? [] : [`requestIds: ${idsText(requestIds)}`]),
    `mayHaveHappened: ${mayHaveHappened ? 'yes' : 'no'}`,
    ...(attempts.length > 1 ? [`attempts: ${attemptsText(attempts)}`] : []),
    `next: ${next}`,
  ].join('\n');
}

/** `x-ext-request-id "…", x-ext-id-2 "…"` */
export const idsText = (requestIds: Readonly<Record<string, string>>) =>
  Object.entries(requestIds)
    .map(([name, id]) => `${name} ${quote(id, 200)}`)
    .join(', ') || 'none';

/** `503 (waited 210 ms), 200` */
export const attemptsText = (attempts: readonly Attempt[]) =>
  attempts
    .map(({ result, waitedMs }) => (waitedMs === undefined ? result : `${result} (waited ${waitedMs} ms)`))
    .join(', ');

const doNotRepeat = 'Do not repeat it: look in the console whether it happened, and decide then.';

/** A call that was stopped before anything was sent. */
export function refusal(tool: string, code: RefusalCode, details: readonly string[]): Failure {
  const { reason, next } = refusals[code];
  return {
    summary: `${tool} was not sent: ${reason}.`,
    details,
    code,
    requestIds: {},
    mayHaveHappened: false,
    attempts: [],
    next,
  };
}

const refusals = {
  InvalidArguments: {
    reason: 'its arguments need correcting',
    next: 'Correct what is listed and call again.',
  },
  Usage: {
    reason: 'the command line or the configuration is not right',
    next: 'Correct what is listed; cloudops-mcp --help lists commands and settings.',
  },
  NotAllowed: {
    reason: 'this server is configured not to offer it',
    next: 'Only the person who runs this server can change that. Do not look for another way.',
  },
  NotConfigured: {
    reason: 'this server is not configured for it yet',
    next: 'Ask the person who runs this server to set what is missing, or CLOUDOPS_SANDBOX=1 to try it without an account.',
  },
  Declined: {
    reason: 'there is no consent',
    next: 'Do not try again unless the user asks for it. If your client never shows questions, the person who runs this server can set CLOUDOPS_CONFIRM=plan.',
  },
  NeedsHuman: {
    reason: 'only a person can agree to it',
    next: 'Use a client that can ask its user (elicitation). The setting is CLOUDOPS_CONFIRM; only the person who runs this server can change it.',
  },
  Repeated: {
    reason: 'the very same was sent in the last 10 minutes and was accepted, or its outcome is not known',
    next: 'Look in the console first. Only if the user wants it a second time, call again with allowRepeat: true.',
  },
  SenderUnavailable: {
    reason: 'a part of this server cannot be loaded',
    next: 'The person who runs this server has to start it again, or install it again if its files are gone.',
  },
  JournalUnavailable: {
    reason: 'the journal of changes cannot be written, and nothing is changed without it',
    next: 'The person who runs this server has to make the journal that CLOUDOPS_JOURNAL names reachable and writable.',
  },
  PlanRefused: {
    reason: 'its plan does not hold',
    next: 'Call without planId to get a new plan, show it to the user, and then call with exactly its arguments.',
  },
} as const;

export type RefusalCode = keyof typeof refusals;

type Ids = Readonly<Record<string, string>>;

/** No answer, or only the beginning of one. */
export function explainExchange(
  { name, effect }: Pick<Operation, 'name' | 'effect'>,
  failure: HttpFailure,
  requestIds: Ids,
  attempts: readonly Attempt[],
  origin: string,
): Failure {
  const { code, mayHaveArrived } = failure;
  const mayHaveHappened = effect !== 'read' && mayHaveArrived;
  return {
    summary: `${name} ${mayHaveHappened ? 'has an unknown outcome' : 'failed'}: ${exchangeProblem(failure, origin)}.`,
    code,
    requestIds,
    mayHaveHappened,
    attempts,
    next: mayHaveHappened ? doNotRepeat : exchangeNext[code],
  };
}

/** An answer whose status is not a success. */
export function explainStatus(
  { name, effect }: Operation,
  { response: { status, headers, bodyFailure }, body, attempts, endedAt }: Sent & { kind: 'answered' },
  requestIds: Ids,
): Failure {
  const error = readServiceError(body);
  const message = error.message ?? (bodyFailure === undefined ? undefined : `(the body was lost: ${bodyFailure.code})`);
  const clocks = `this machine's clock: ${endedAt.toUTCString()}; the service's: ${quote(headers.date ?? 'not given', 60)}`;
  // A gateway's 408 may come after the request went on to the service behind it.
  const mayHaveHappened = effect !== 'read' && (status >= 500 || status === 408);
  const cause = error.code === undefined ? `HTTP status ${status}` : `${quoteName(error.code)} (HTTP status ${status})`;
  const known = error.requestId === undefined || Object.values(requestIds).includes(error.requestId);
  return {
    summary: mayHaveHappened
      ? `${name} has an unknown outcome: the service answered ${cause} and may have acted all the same.`
      : `${name} failed: the service ${status >= 500 ? 'failed with' : 'refused it with'} ${cause}.`,
    ...(error.code === 'RequestTimeTooSkewed' && { details: [clocks] }),
    code: error.code ?? `Http${status}`,
    status,
    ...(message !== undefined && { message }),
    requestIds: known ? requestIds : { ...requestIds, RequestId: error.requestId ?? '' },
    mayHaveHappened,
    attempts,
    next: mayHaveHappened ? doNotRepeat : remedy(error.code, status),
  };
}

/** A success that is no answer of the API. */
export function explainUnreadable(
  { name, effect }: Operation,
  status: number,
  problem: string,
  requestIds: Ids,
  attempts: readonly Attempt[],
): Failure {
  const mayHaveHappened = effect !== 'read';
  const lookAt = 'Check that the endpoint in the configuration is the right API and not a proxy or a sign-in page';
  return {
    summary: `${name} ${mayHaveHappened ? 'has an unknown outcome' : 'failed'}: the answer cannot be read, because ${problem}.`,
    code: 'UnreadableAnswer',
    status,
    requestIds,
    mayHaveHappened,
    attempts,
    next: mayHaveHappened ? `${doNotRepeat} ${lookAt}.` : `${lookAt}, then try again.`,
  };
}

/** A fault of this server, after the request may have been sent. */
export function explainUnexpected({ name, effect }: Operation): Failure {
  const mayHaveHappened = effect !== 'read';
  return {
    summary: `${name} ${mayHaveHappened ? 'has an unknown outcome' : 'failed'}: this server made a mistake.`,
    code: 'InternalError',
    requestIds: {},
    mayHaveHappened,
    attempts: [],
    next: mayHaveHappened ? doNotRepeat : 'Look in the log of this server, and report the mistake.',
  };
}

/** Pages that would not end, or cannot be trusted to be the whole list. */
export function explainEndless(
  { name }: Operation,
  problem: string,
  requestIds: Ids,
  attempts: readonly Attempt[],
): Failure {
  return {
    summary: `${name} failed: the pages of the answer do not fit together, because ${problem}.`,
    code: 'InconsistentPages',
    requestIds,
    mayHaveHappened: false,
    attempts,
    next: 'Try again. If it goes on, look at single pages (view "parts") and tell the support of the service.',
  };
}

function exchangeProblem({ code, detail }: HttpFailure, origin: string): string {
  const problem: Record<FailureCode, string> = {
    NameNotResolved: `the host name of ${origin} cannot be resolved`,
    ConnectionRefused: `${origin} refused the connection`,
    ConnectTimeout: `${origin} did not accept a connection in time`,
    TlsFailed: `no secure connection to ${origin} could be made`,
    ConnectFailed: `no connection to ${origin} could be made`,
    ConnectionLost: `the connection to ${origin} was lost before the whole answer came`,
    ResponseTimeout: `${origin} did not answer in time`,
    BodyTimeout: `the answer of ${origin} stopped midway`,
    CallTimeout: 'the time for the whole call (CLOUDOPS_TIMEOUT_MS) ran out',
    Cancelled: 'the client cancelled the call',
    MalformedResponse: `the answer of ${origin} is not proper HTTP`,
    ResponseTooLarge: `the answer of ${origin} is larger than this server reads`,
    BodyIncomplete: `the answer of ${origin} is incomplete`,
  };
  const ownWords: readonly FailureCode[] = ['CallTimeout', 'Cancelled', 'ResponseTooLarge'];
  return ownWords.includes(code) ? problem[code] : `${problem[code]} (${quote(detail, 200)})`;
}

const tryAgain = 'Try again in a minute. If it goes on, check the network and whether the service is up.';

const exchangeNext: Record<FailureCode, string> = {
  NameNotResolved: 'Check the endpoint in the configuration (CLOUDOPS_…_URL) and the name resolution of this machine.',
  ConnectionRefused:
    'Check the endpoint and its port in the configuration (CLOUDOPS_…_URL), and whether the service is up.',
  ConnectTimeout: 'Check the endpoint, the network and HTTPS_PROXY, then try again.',
  TlsFailed:
    'Check that the endpoint speaks https and that its certificate is trusted (NODE_EXTRA_CA_CERTS adds a CA).',
  ConnectFailed: 'Check the endpoint, the network and HTTPS_PROXY, then try again.',
  ConnectionLost: tryAgain,
  ResponseTimeout: tryAgain,
  BodyTimeout: tryAgain,
  CallTimeout: 'Try again, or raise CLOUDOPS_TIMEOUT_MS.',
  Cancelled: 'Nothing needs to be done.',
  MalformedResponse: 'Check that the endpoint in the configuration is the right one, then try again.',
  ResponseTooLarge: 'Ask for less at once, for example with a smaller maxParts.',
  BodyIncomplete: tryAgain,
};
