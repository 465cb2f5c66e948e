import { type Credentials, sign } from '../signing/sign.js';
import type { Log } from '../util/log.js';
import { timeLimit } from '../util/time-limit.js';
import type { Attributes, Span } from '../util/trace.js';
import type { ByteLimit, HttpClient } from './http-client.js';
import { createRedactor, type Redactor } from './redact.js';
import { type AttemptReply, describeReply, replyOf } from './reply.js';
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
  return (endpoint, options) => new CallClient(endpoint, options, dependencies, redactorOf);
}

/** A reply, and the credentials that signed its request. */
interface SignedReply {
  readonly reply: AttemptReply;
  readonly credentials: Credentials;
}

class CallClient implements SignedClient {
  readonly #endpoint: Endpoint;
  readonly #options: SignedClientOptions;
  readonly #dependencies: SignedClientDependencies;
  readonly #limit: ReturnType<typeof timeLimit>;
  readonly #deadline: number;
  readonly #redactorOf: (credentials: Credentials) => Redactor;
  /** Removes the secrets of the call, besides the credentials. */
  readonly #callRedactor: Redactor | undefined;
  /** Further attempts keep the redactors of earlier credentials, because a service may repeat the secrets of an earlier attempt. */
  readonly #redactors: Set<Redactor>;
  /** Offset to the service's clock, once the service has sent its time. Later requests of the call are signed with it. */
  #offsetMs = 0;
  /** True once the keys were read again, which a call does at most once. */
  #hasRenewed = false;

  constructor(
    endpoint: Endpoint,
    options: SignedClientOptions,
    dependencies: SignedClientDependencies,
    redactorOf: (credentials: Credentials) => Redactor,
  ) {
    const { now, timeoutMs } = dependencies;
    this.#endpoint = endpoint;
    this.#options = options;
    this.#dependencies = dependencies;
    this.#limit = timeLimit(timeoutMs, options.signal);
    this.#deadline = now().getTime() + timeoutMs;
    this.#redactorOf = redactorOf;
    this.#callRedactor = options.secrets.length === 0 ? undefined : createRedactor(options.secrets);
    this.#redactors = new Set(this.#callRedactor === undefined ? [] : [this.#callRedactor]);
  }

  [Symbol.dispose](): void {
    this.#limit[Symbol.dispose]();
  }

  /** Callers pass this function on, so it is bound. */
  readonly send = async (request: WireRequest): Promise<FinalReply> => {
    const { now, log, sleep } = this.#dependencies;
    const attempts: Attempt[] = [];
    let renewed: Credentials | undefined;
    let lastReply: FinalReply | undefined;
    for (;;) {
      let signed: SignedReply;
      try {
        signed = await this.#attempt(request, attempts.length, renewed);
      } catch (error) {
        // An earlier attempt was sent, so its reply counts.
        if (error instanceof NotSent && lastReply !== undefined) return lastReply;
        throw error;
      }
      const { reply, credentials } = signed;
      renewed = await this.#renewKeys(signed);
      const result = describeReply(reply);
      const waitedMs = renewed === undefined ? this.#pauseAfter(reply, attempts.length) : 0;
      const attempt: Attempt = waitedMs === undefined ? { result } : { result, waitedMs };
      attempts.push(attempt);
      const { origin } = this.#endpoint;
      log('info', 'attempt', { origin, method: request.method, attempt: attempts.length, ...attempt });
      lastReply = { ...reply, attempts, endedAt: now(), keyId: credentials.accessKeyId };
      if (waitedMs === undefined) return lastReply;
      this.#options.onRetry?.(attempts);
      await sleep(waitedMs, this.#limit.signal);
    }
  };

  /**
   * Signs a request and sends it once. The reply is without secrets.
   * @throws NotSent
   */
  async #attempt(request: WireRequest, number: number, renewed: Credentials | undefined): Promise<SignedReply> {
    const { repeatable, span, byteLimit } = this.#options;
    const { origin } = this.#endpoint;
    const { method, target, body } = request;
    const attemptSpan = span?.child(method, requestAttributes(this.#endpoint, request, number));
    const { headers, credentials } = await this.#sign(request, renewed).catch((cause: unknown) => {
      throw new NotSent('the request could not be signed', { cause });
    });
    this.#redactors.add(this.#redactorOf(credentials));
    const newConnection = !repeatable;
    const signed = { method, origin, path: target, headers, newConnection, byteLimit, ...(body && { body }) };
    const result = await this.#dependencies.httpClient.send(signed, this.#limit.signal);
    // Secrets are removed after parsing, because parsers drop comments and other text that may interrupt a secret.
    const reply = this.#withoutSecrets(replyOf(result));
    if (attemptSpan !== undefined) endSpan(attemptSpan, reply);
    return { reply, credentials };
  }

  /** Signs a request, and logs what was signed. Each attempt has its own signature. */
  async #sign(request: WireRequest, renewed: Credentials | undefined) {
    const { now, log } = this.#dependencies;
    const credentials = renewed ?? (await this.#endpoint.keys.current());
    const { host } = new URL(this.#endpoint.origin);
    const date = new Date(now().getTime() + this.#offsetMs);
    const signed = await sign({ ...request, host }, { ...this.#endpoint, credentials, date });
    const { headers, canonicalRequest, stringToSign } = signed;
    const { sessionToken } = credentials;
    const withoutToken =
      sessionToken === undefined ? canonicalRequest : canonicalRequest.replaceAll(sessionToken, '***');
    // A line, such as the query, may hold a secret of the call.
    const lines = this.#callRedactor?.clean(withoutToken.split('\n'));
    log('debug', 'signed', { canonicalRequest: lines?.join('\n') ?? withoutToken, stringToSign });
    return { headers, credentials };
  }

  #withoutSecrets(reply: AttemptReply): AttemptReply {
    const redactors = [...this.#redactors];
    const clean = <Data>(data: Data) => redactors.reduce((cleaned, redactor) => redactor.clean(cleaned), data);
    if (reply.kind === 'failed') return clean(reply);
    const { readText, ...answer } = reply;
    return { ...clean(answer), readText: async (read) => clean(await readText(read)) };
  }

  /** Returns the pause before the next attempt in milliseconds; undefined without another attempt. */
  #pauseAfter(reply: AttemptReply, failures: number): number | undefined {
    const { now, random, maximumAttempts } = this.#dependencies;
    if (failures + 1 >= maximumAttempts || this.#limit.signal.aborted) return undefined;
    const newOffset = this.#offsetMs === 0 ? clockOffset(reply, now()) : undefined;
    if (newOffset !== undefined) {
      this.#offsetMs = newOffset;
      return now().getTime() < this.#deadline ? 0 : undefined;
    }
    const pauseMs = retryDelay(reply, this.#options.repeatable, failures, now(), random);
    return pauseMs !== undefined && now().getTime() + pauseMs < this.#deadline ? pauseMs : undefined;
  }

  /** Returns new credentials if the service refused the old ones as expired or unknown. Such a request was not carried out. */
  async #renewKeys({ reply, credentials }: SignedReply): Promise<Credentials | undefined> {
    if (this.#hasRenewed || this.#limit.signal.aborted || !refusesKeys(reply)) return undefined;
    this.#hasRenewed = true;
    return this.#endpoint.keys.renewed(credentials).catch(() => undefined);
  }
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
