import { type Credentials, sign } from '../signing/sign.js';
import type { Log } from '../util/log.js';
import { timeLimit } from '../util/time-limit.js';
import type { Attributes, Span } from '../util/trace.js';
import type { ByteLimit, HttpClient } from './http-client.js';
import { createRedactor, type Redactor } from './redact.js';
import { type AttemptReply, describeReply, replyOf } from './reply.js';
import type { Endpoint, WireRequest } from './request.js';
import { clockOffset, refusesKeys, retryDelay } from './retry.js';

/** One attempt: its HTTP status or failure code, and the pause before the next attempt, if there was one. */
export interface Attempt {
  readonly result: string;
  readonly waitedMs?: number;
}

/** The last reply to a request, without secrets, and all attempts. */
export type FinalReply = AttemptReply & {
  readonly attempts: readonly Attempt[];
  /** When the reply came, by this machine's clock. */
  readonly endedAt: Date;
  /** ID of the access key that signed the last attempt. */
  readonly keyId: string;
};

/** A final reply that is an answer with any status. */
export type AnsweredReply = FinalReply & { readonly kind: 'answered' };

/** Sends the requests of one call. They share the call's time limit. */
export interface SignedClient extends Disposable {
  /**
   * Signs and sends a request, and repeats it if that is safe and useful.
   * @throws NotSent if the request could not be signed, with `KeysUnavailable` as a possible cause. After any other error, the request may
   * have been sent
   */
  send(request: WireRequest): Promise<FinalReply>;
}

/** A failure before the first byte was sent. */
export class NotSent extends Error {}

/** Creates the client of a call. */
export type OpenClient = (endpoint: Endpoint, options: SignedClientOptions) => SignedClient;

export interface SignedClientOptions {
  /** True if a request may be carried out twice, such as a read. Otherwise it is repeated only if the service did not carry it out. */
  readonly repeatable: boolean;
  /** The secrets in the arguments of the call. They are removed from answers, as the credentials are. */
  readonly secretArguments: readonly (string | undefined)[];
  /** Aborts when the caller gives up. */
  readonly signal: AbortSignal;
  /** The span of the call, if calls are traced. */
  readonly span?: Span | undefined;
  /** Called after each attempt that is followed by another one. */
  readonly onRetry?: ((attempts: readonly Attempt[]) => void) | undefined;
  /** Limits the total size of the bodies of all answers to the call. */
  readonly byteLimit?: ByteLimit;
}

export interface SignedClientDependencies {
  readonly httpClient: HttpClient;
  readonly now: () => Date;
  /** Waits. Ends early, without an error, if the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
  readonly log: Log;
  /** Time limit for all requests of a call together, in milliseconds. */
  readonly timeoutMs: number;
  readonly maximumAttempts: number;
}

/** A request signed for one attempt. */
interface SignedAttempt {
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: Credentials;
}

const secretsOf = ({ secretAccessKey, sessionToken }: Credentials) => [secretAccessKey, sessionToken];

/** Returns a function that creates the client of a call, which must be disposed of. Calls without secret arguments share redactors. */
export function createSignedClients(dependencies: SignedClientDependencies): OpenClient {
  const redactors = new WeakMap<Credentials, Redactor>();
  const redactorOfCredentials = (credentials: Credentials): Redactor => {
    const redactor = redactors.get(credentials) ?? createRedactor(secretsOf(credentials));
    redactors.set(credentials, redactor);
    return redactor;
  };
  return (endpoint, options) => createCallClient(endpoint, options, dependencies, redactorOfCredentials);
}

function createCallClient(
  endpoint: Endpoint,
  { repeatable, secretArguments, signal, span, onRetry, byteLimit }: SignedClientOptions,
  { httpClient, now, sleep, random, log, timeoutMs, maximumAttempts }: SignedClientDependencies,
  redactorOfCredentials: (credentials: Credentials) => Redactor,
): SignedClient {
  const { origin, keys } = endpoint;
  // The limit aborts requests. The deadline, which is the same time, shows if a pause before a retry would end too late.
  const limit = timeLimit(timeoutMs, signal);
  const deadline = now().getTime() + timeoutMs;
  const redactorWith = createCallRedactors(secretArguments, redactorOfCredentials);

  /** The service's time minus this machine's time. 0 until `adoptServiceTime` finds a difference. */
  let offsetMs = 0;
  /** Signs a request for one attempt, and logs the texts that were signed. */
  const signAttempt = async (request: WireRequest): Promise<SignedAttempt> => {
    const credentials = await keys.current();
    const { clean } = redactorWith(credentials);
    const { host } = new URL(origin);
    const date = new Date(now().getTime() + offsetMs);
    const signed = await sign({ ...request, host }, { ...endpoint, credentials, date });
    const { headers, canonicalRequest, stringToSign } = signed;
    const { sessionToken } = credentials;
    // Only the token is removed here, because the redactor would remove its whole line, which every request with a token has.
    const withoutToken =
      sessionToken === undefined ? canonicalRequest : canonicalRequest.replaceAll(sessionToken, '***');
    // The redactor gets single lines, so that the log lacks only lines with a secret, such as a query with a secret argument.
    log('debug', 'signed', { canonicalRequest: clean(withoutToken.split('\n')).join('\n'), stringToSign });
    return { headers, credentials };
  };

  /** If the service refused a request because of the time, signs by the service's time from now on, and returns true. At most once in a call. */
  const adoptServiceTime = (reply: AttemptReply): boolean => {
    if (offsetMs !== 0) return false;
    const newOffset = clockOffset(reply, now());
    offsetMs = newOffset ?? 0;
    return newOffset !== undefined;
  };

  /** Sends a signed request once. Returns the reply without secrets. */
  const sendOnce = async (
    request: WireRequest,
    { headers, credentials }: SignedAttempt,
    attemptsBefore: number,
  ): Promise<AttemptReply> => {
    const { method, target, body } = request;
    // A request that must not be repeated gets a new connection. The service may just be closing a kept one, and then nobody would know
    // whether the request arrived.
    const newConnection = !repeatable;
    // In `HttpRequest`, `path` includes the query, as `target` does. `request.path` does not.
    const signed = { method, origin, path: target, headers, newConnection, byteLimit, ...(body && { body }) };
    const attemptSpan = span?.child(method, requestAttributes(endpoint, request, attemptsBefore));
    const result = await httpClient.send(signed, limit.signal);
    // Secrets are removed after parsing, because an XML comment, which the parser drops, may split a secret.
    const reply = withoutSecrets(replyOf(result), redactorWith(credentials));
    if (attemptSpan !== undefined) endSpan(attemptSpan, reply);
    return reply;
  };

  /** True after the keys were renewed, which a call does at most once. */
  let hasRenewed = false;
  /**
   * Resolves with true if the service refused the keys as expired or unknown, so that the request was not carried out, and there are other
   * keys now.
   */
  const renewKeys = async (reply: AttemptReply, refused: Credentials): Promise<boolean> => {
    if (hasRenewed || limit.signal.aborted || !refusesKeys(reply)) return false;
    hasRenewed = true;
    const renewed = await keys.renewed(refused).catch(() => undefined);
    return renewed !== undefined;
  };

  /** Returns the pause before the next attempt in milliseconds; undefined if there is no next attempt. */
  const pauseAfter = (reply: AttemptReply, attemptsBefore: number): number | undefined => {
    if (attemptsBefore + 1 >= maximumAttempts || limit.signal.aborted) return undefined;
    // After a change to the service's time, the request is repeated at once.
    const pauseMs = adoptServiceTime(reply) ? 0 : retryDelay(reply, repeatable, attemptsBefore, now(), random);
    return pauseMs !== undefined && now().getTime() + pauseMs < deadline ? pauseMs : undefined;
  };

  /**
   * Signs and sends a request once, and adds the attempt to `attempts`.
   * @returns the reply, and the pause before the next attempt (milliseconds), which is undefined if there is no next attempt
   * @throws NotSent if the request could not be signed
   */
  const attemptOnce = async (request: WireRequest, attempts: Attempt[]) => {
    const signed = await signAttempt(request).catch((cause: unknown) => {
      throw new NotSent('the request could not be signed', { cause });
    });
    const { credentials } = signed;
    const attemptReply = await sendOnce(request, signed, attempts.length);
    // With new keys, the request is repeated at once.
    const hasNewKeys = await renewKeys(attemptReply, credentials);
    const pauseMs = hasNewKeys ? 0 : pauseAfter(attemptReply, attempts.length);

    const result = describeReply(attemptReply);
    const attempt: Attempt = pauseMs === undefined ? { result } : { result, waitedMs: pauseMs };
    attempts.push(attempt);
    log('info', 'attempt', { origin, method: request.method, attempt: attempts.length, ...attempt });
    const reply: FinalReply = { ...attemptReply, attempts, endedAt: now(), keyId: credentials.accessKeyId };
    return { reply, pauseMs };
  };

  const send = async (request: WireRequest): Promise<FinalReply> => {
    const attempts: Attempt[] = [];
    let last = await attemptOnce(request, attempts);
    while (last.pauseMs !== undefined) {
      onRetry?.(attempts);
      await sleep(last.pauseMs, limit.signal);
      // The pause may have been longer, because timers do not count the time while this process is suspended. A late attempt might repeat a
      // change that somebody has made since.
      if (now().getTime() >= deadline) return last.reply;
      try {
        last = await attemptOnce(request, attempts);
      } catch (error) {
        // This attempt was not sent, so the reply to the attempt before it is the last.
        if (error instanceof NotSent) return last.reply;
        throw error;
      }
    }
    return last.reply;
  };

  return { send, [Symbol.dispose]: limit[Symbol.dispose] };
}

/** Returns the redactor of a call, which removes the secrets of these credentials and of all that the call used before. */
type RedactorWith = (credentials: Credentials) => Redactor;

/** Creates the redactors of a call. Each removes all secrets of the call, so that an answer is searched only once. */
function createCallRedactors(
  secretArguments: SignedClientOptions['secretArguments'],
  redactorOfCredentials: (credentials: Credentials) => Redactor,
): RedactorWith {
  /** All credentials used so far, because a service may repeat a secret of an earlier attempt. */
  const usedCredentials = new Set<Credentials>();
  let redactor: Redactor | undefined;
  return (credentials) => {
    if (redactor !== undefined && usedCredentials.has(credentials)) return redactor;
    usedCredentials.add(credentials);
    const hasOtherSecrets = secretArguments.length > 0 || usedCredentials.size > 1;
    redactor = hasOtherSecrets
      ? createRedactor([...secretArguments, ...[...usedCredentials].flatMap(secretsOf)])
      : redactorOfCredentials(credentials);
    return redactor;
  };
}

function withoutSecrets(reply: AttemptReply, { clean }: Redactor): AttemptReply {
  if (reply.kind === 'failed') return clean(reply);
  const { readText, ...answer } = reply;
  return { ...clean(answer), readText: async (read) => clean(await readText(read)) };
}

/** Span attributes by OpenTelemetry's conventions for HTTP clients. Path and query are left out, because they name the user's resources. */
function requestAttributes({ origin }: Endpoint, { method }: WireRequest, resendCount: number): Attributes {
  const { hostname, port, protocol } = new URL(origin);
  return {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'http.request.resend_count': resendCount === 0 ? undefined : resendCount,
  };
}

function endSpan(span: Span, reply: AttemptReply): void {
  if (reply.kind === 'failed') span.end({}, reply.failure.code);
  else {
    const { status, bodyFailure } = reply.response;
    span.end({ 'http.response.status_code': status }, status >= 400 ? String(status) : bodyFailure?.code);
  }
}
