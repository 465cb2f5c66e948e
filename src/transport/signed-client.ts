import { type Credentials, sign } from '../signing/sign.js';
import type { Log } from '../util/log.js';
import { timeLimit } from '../util/time-limit.js';
import type { Attributes, Span } from '../util/trace.js';
import type { ByteLimit, HttpClient } from './http-client.js';
import { createRedactor, type Redactor } from './redact.js';
import { type AttemptReply, describeReply, type ReadText, replyOf } from './reply.js';
import type { Endpoint, WireRequest } from './request.js';
import { clockOffset, refusesKeys, retryDelay } from './retry.js';

/** The result of one attempt, and the pause before the next one. */
export interface Attempt {
  readonly result: string;
  readonly waitedMs?: number;
}

/** The last reply to a request, without secrets, with all attempts. `endedAt` is this machine's time. */
export type FinalReply = AttemptReply & {
  readonly attempts: readonly Attempt[];
  readonly endedAt: Date;
  /** ID of the key that signed the last attempt. */
  readonly keyId: string;
};

/** Sends the requests of one call. They share the call's time limit. */
export interface SignedClient extends Disposable {
  /**
   * Signs and sends a request, and repeats it if that is safe and useful. If a repetition cannot be signed, the reply before it is the last.
   * @throws NotSent if the request could not be signed, with `KeysUnavailable` as a possible cause. After any other error, it may have
   * been sent
   */
  send(request: WireRequest): Promise<FinalReply>;
}

/** A failure before the first byte was sent. */
export class NotSent extends Error {}

/** Creates the client of a call. */
export type OpenClient = (endpoint: Endpoint, options: SignedClientOptions) => SignedClient;

export interface SignedClientOptions {
  /** True if a request may be sent twice. Otherwise it is repeated only if it provably never arrived. */
  readonly repeatable: boolean;
  /** Texts to remove from answers, besides the credentials. */
  readonly secrets: readonly (string | undefined)[];
  /** Aborts when the caller gives up. */
  readonly signal: AbortSignal;
  /** The span of the call, if calls are traced. */
  readonly span?: Span | undefined;
  /** Called after each attempt that is followed by another one. */
  readonly onRetry?: ((attempts: readonly Attempt[]) => void) | undefined;
  /** Limits the bodies of all answers of the call together. */
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

/** Creates the clients of calls. Each client must be disposed of. The redactors of credentials are cached between calls. */
export function createSignedClients(dependencies: SignedClientDependencies): OpenClient {
  const redactors = new WeakMap<Credentials, Redactor>();
  const redactorOf = (credentials: Credentials): Redactor => {
    const { secretAccessKey, sessionToken } = credentials;
    const redactor = redactors.get(credentials) ?? createRedactor([secretAccessKey, sessionToken]);
    redactors.set(credentials, redactor);
    return redactor;
  };
  return (endpoint, options) => createSignedClient(endpoint, options, dependencies, redactorOf);
}

/** A reply, and the credentials that signed its request. */
interface Signed {
  readonly reply: AttemptReply;
  readonly credentials: Credentials;
}

function createSignedClient(
  endpoint: Endpoint,
  { repeatable, secrets, signal: callerSignal, span, onRetry, byteLimit }: SignedClientOptions,
  { httpClient, now, sleep, random, log, timeoutMs, maximumAttempts }: SignedClientDependencies,
  redactorOf: (credentials: Credentials) => Redactor,
): SignedClient {
  const deadline = now().getTime() + timeoutMs;
  const { signal, ...limit } = timeLimit(timeoutMs, callerSignal);
  /** Offset to the service's clock, once the service has sent its time. Later requests of the call are signed with it. */
  let offsetMs = 0;
  /** True once the keys were read again, which a call does at most once. */
  let hasRenewed = false;
  const callSecrets = secrets.length === 0 ? undefined : createRedactor(secrets);
  const redactors = new Set(callSecrets === undefined ? [] : [callSecrets]);
  /** Logs what was signed, without the lines that hold a secret of the call, such as a query. */
  const logSigned: Log = (level, event, { canonicalRequest, ...fields } = {}) => {
    const lines = callSecrets?.clean(String(canonicalRequest).split('\n'));
    log(level, event, { canonicalRequest: lines?.join('\n') ?? canonicalRequest, ...fields });
  };

  const attempt = async (request: WireRequest, number: number, renewed: Credentials | undefined): Promise<Signed> => {
    const attemptSpan = span?.child(request.method, requestAttributes(endpoint, request, number));
    const { headers, credentials } = await signRequest(
      endpoint,
      request,
      renewed,
      new Date(now().getTime() + offsetMs),
      logSigned,
    ).catch((cause: unknown) => {
      throw new NotSent('the request could not be signed', { cause });
    });
    redactors.add(redactorOf(credentials));
    const { method, target, body } = request;
    const { origin } = endpoint;
    const newConnection = !repeatable;
    const signed = { method, origin, path: target, headers, newConnection, byteLimit, ...(body && { body }) };
    const result = await httpClient.send(signed, signal);
    // Secrets are removed after parsing, because parsers drop comments and other text that may interrupt a secret.
    // A service may also repeat the secrets of an earlier attempt.
    const clean = <Data>(data: Data) => [...redactors].reduce((cleaned, redactor) => redactor.clean(cleaned), data);
    const parsed = replyOf(result);
    const reply = clean(
      parsed.kind === 'failed'
        ? parsed
        : { ...parsed, readText: async (read: Parameters<ReadText>[0]) => clean(await parsed.readText(read)) },
    );
    if (attemptSpan !== undefined) endSpan(attemptSpan, reply);
    return { reply, credentials };
  };

  /** Returns the pause before the next attempt in milliseconds; undefined without another attempt. */
  const waitAfter = (reply: AttemptReply, failures: number): number | undefined => {
    if (failures + 1 >= maximumAttempts || signal.aborted) return undefined;
    const offset = offsetMs === 0 ? clockOffset(reply, now()) : undefined;
    offsetMs = offset ?? offsetMs;
    const wait = offset === undefined ? retryDelay(reply, repeatable, failures, now(), random) : 0;
    return wait !== undefined && now().getTime() + wait < deadline ? wait : undefined;
  };

  /** Returns new credentials if the service refused the old ones as expired or unknown. Such a request was not carried out. */
  const renew = async ({ reply, credentials }: Signed): Promise<Credentials | undefined> => {
    if (hasRenewed || signal.aborted || !refusesKeys(reply)) return undefined;
    hasRenewed = true;
    return endpoint.keys.renewed(credentials).catch(() => undefined);
  };

  return {
    [Symbol.dispose]: limit[Symbol.dispose],
    send: async (request) => {
      const { origin } = endpoint;
      const attempts: Attempt[] = [];
      let renewed: Credentials | undefined;
      let last: FinalReply | undefined;
      for (;;) {
        const signed = await attempt(request, attempts.length, renewed).catch((error: unknown): FinalReply => {
          // An earlier attempt was sent, so its reply counts.
          if (error instanceof NotSent && last !== undefined) return last;
          throw error;
        });
        if ('attempts' in signed) return signed;
        const { reply, credentials } = signed;
        renewed = await renew(signed);
        const result = describeReply(reply);
        const waitedMs = renewed === undefined ? waitAfter(reply, attempts.length) : 0;
        const finished: Attempt = waitedMs === undefined ? { result } : { result, waitedMs };
        attempts.push(finished);
        log('info', 'attempt', { origin, method: request.method, attempt: attempts.length, ...finished });
        last = { ...reply, attempts, endedAt: now(), keyId: credentials.accessKeyId };
        if (waitedMs === undefined) return last;
        onRetry?.(attempts);
        await sleep(waitedMs, signal);
      }
    },
  };
}

/** Signs a request. Each attempt has its own signature. */
async function signRequest(
  endpoint: Endpoint,
  request: WireRequest,
  renewed: Credentials | undefined,
  date: Date,
  log: Log,
) {
  const credentials = renewed ?? (await endpoint.keys.current());
  const { host } = new URL(endpoint.origin);
  const { headers, canonicalRequest, stringToSign } = await sign(
    { ...request, host },
    { ...endpoint, credentials, date },
  );
  const { sessionToken } = credentials;
  log('debug', 'signed', {
    canonicalRequest: sessionToken === undefined ? canonicalRequest : canonicalRequest.replaceAll(sessionToken, '***'),
    stringToSign,
  });
  return { headers, credentials };
}

/**
 * Span attributes by OpenTelemetry's conventions for HTTP clients. Path and query are omitted, because they name the user's resources.
 */
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
