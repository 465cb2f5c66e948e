import { type Credentials, sign } from '../signing/sign.js';
import type { Log } from '../util/log.js';
import { timeLimit } from '../util/time-limit.js';
import type { Attributes, Span } from '../util/trace.js';
import type { ByteLimit, HttpClient } from './http-client.js';
import { createRedactor, type Redactor } from './redact.js';
import { type AttemptReply, describeReply, replyOf } from './reply.js';
import type { Endpoint, WireRequest } from './request.js';
import { clockOffset, refusesKeys, retryDelay } from './retry.js';

/** One attempt: its result, and the milliseconds until the next one. */
export interface Attempt {
  readonly result: string;
  readonly waitedMs?: number;
}

/** The last reply to a request, without secrets, and its attempts. `endedAt` is by the clock of this machine. */
export type FinalReply = AttemptReply & {
  readonly attempts: readonly Attempt[];
  readonly endedAt: Date;
  /** ID of the key that signed the last attempt. */
  readonly keyId: string;
};

/** Sends the requests of one call. All of them together have the time of a call. */
export interface SignedClient extends Disposable {
  /**
   * Signs and sends a request, again where that is safe and useful.
   * @throws NotSent if it could not be signed; its cause may be `KeysUnavailable`. After any other error it may have been sent
   */
  send(request: WireRequest): Promise<FinalReply>;
}

/** A fault of this program, before the first byte was sent. */
export class NotSent extends Error {}

/** Makes the client of a call. */
export type OpenClient = (endpoint: Endpoint, options: SignedClientOptions) => SignedClient;

export interface SignedClientOptions {
  /** True if a request may be sent twice. Otherwise it is sent again only if it provably never arrived. */
  readonly repeatable: boolean;
  /** Further texts to remove from answers, beside the credentials. */
  readonly secrets: readonly (string | undefined)[];
  /** Aborts when the caller gives up. */
  readonly signal: AbortSignal;
  /** The span of the call, if calls are traced. */
  readonly span?: Span | undefined;
  /** Limits the bodies of all answers together. */
  readonly byteLimit?: ByteLimit;
}

export interface SignedClientDependencies {
  readonly httpClient: HttpClient;
  readonly now: () => Date;
  /** Waits, and ends early, without rejecting, when the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  readonly log: Log;
  /** Time limit for all requests of a call together. */
  readonly timeoutMs: number;
  readonly maximumAttempts: number;
}

/** Makes the clients of calls, each of which has to be disposed of. The redactors of credentials are kept between calls. */
export function createSignedClients(dependencies: SignedClientDependencies): OpenClient {
  const kept = new WeakMap<Credentials, Redactor>();
  const redactorOf = (credentials: Credentials): Redactor => {
    const { secretAccessKey, sessionToken } = credentials;
    const redactor = kept.get(credentials) ?? createRedactor([secretAccessKey, sessionToken]);
    kept.set(credentials, redactor);
    return redactor;
  };
  return (endpoint, options) => createSignedClient(endpoint, options, dependencies, redactorOf);
}

/** A reply, and the credentials that its request was signed with. */
interface Signed {
  readonly reply: AttemptReply;
  readonly credentials: Credentials;
}

function createSignedClient(
  endpoint: Endpoint,
  { repeatable, secrets, signal: callerSignal, span, byteLimit }: SignedClientOptions,
  { httpClient, now, sleep, random, log, timeoutMs, maximumAttempts }: SignedClientDependencies,
  redactorOf: (credentials: Credentials) => Redactor,
): SignedClient {
  const deadline = now().getTime() + timeoutMs;
  const { signal, ...limit } = timeLimit(timeoutMs, callerSignal);
  /** Difference to the service's clock, known once the service has given its time. Later requests of the call are signed for it. */
  let offsetMs = 0;
  /** Credentials are looked for again once a call. */
  let renewed = false;
  const redactors = new Set(secrets.length === 0 ? [] : [createRedactor(secrets)]);

  const attempt = async (request: WireRequest, number: number, fresh: Credentials | undefined): Promise<Signed> => {
    const attemptSpan = span?.child(request.method, requestAttributes(endpoint, request, number));
    const { headers, credentials } = await signRequest(
      endpoint,
      request,
      fresh,
      new Date(now().getTime() + offsetMs),
      log,
    ).catch((cause: unknown) => {
      throw new NotSent('the request could not be signed', { cause });
    });
    redactors.add(redactorOf(credentials));
    const { method, target, body } = request;
    const { origin } = endpoint;
    const newConnection = !repeatable;
    const signed = { method, origin, path: target, headers, newConnection, byteLimit, ...(body && { body }) };
    const result = await httpClient.send(signed, signal);
    // Secrets are removed after parsing, because a comment or anything else that parsers drop may stand inside a secret.
    // A service may repeat those of an earlier attempt too.
    let reply = replyOf(result);
    for (const { clean } of redactors) reply = clean(reply);
    if (attemptSpan !== undefined) endSpan(attemptSpan, reply);
    return { reply, credentials };
  };

  /** Milliseconds until the next attempt; undefined if there is none. */
  const waitAfter = (reply: AttemptReply, failures: number): number | undefined => {
    if (failures + 1 >= maximumAttempts || signal.aborted) return undefined;
    const offset = offsetMs === 0 ? clockOffset(reply, now()) : undefined;
    offsetMs = offset ?? offsetMs;
    const wait = offset === undefined ? retryDelay(reply, repeatable, failures, now(), random) : 0;
    return wait !== undefined && now().getTime() + wait < deadline ? wait : undefined;
  };

  /** Other credentials than those that were refused, if that was for their age: then the request was not carried out. */
  const renew = async ({ reply, credentials }: Signed): Promise<Credentials | undefined> => {
    if (renewed || signal.aborted || !refusesKeys(reply)) return undefined;
    renewed = true;
    return endpoint.keys.renewed(credentials).catch(() => undefined);
  };

  return {
    [Symbol.dispose]: limit[Symbol.dispose],
    send: async (request) => {
      const { origin } = endpoint;
      const attempts: Attempt[] = [];
      let fresh: Credentials | undefined;
      for (;;) {
        const signed = await attempt(request, attempts.length, fresh);
        const { reply, credentials } = signed;
        fresh = await renew(signed);
        const result = describeReply(reply);
        const waitedMs = fresh === undefined ? waitAfter(reply, attempts.length) : 0;
        const made = waitedMs === undefined ? { result } : { result, waitedMs };
        attempts.push(made);
        log('info', 'attempt', { origin, method: request.method, attempt: attempts.length, ...made });
        if (waitedMs === undefined) return { ...reply, attempts, endedAt: now(), keyId: credentials.accessKeyId };
        await sleep(waitedMs, signal);
      }
    },
  };
}

/** The headers of a request with its signature, and the credentials that signed it. Each attempt has its own signature. */
async function signRequest(
  endpoint: Endpoint,
  request: WireRequest,
  fresh: Credentials | undefined,
  date: Date,
  log: Log,
) {
  const credentials = fresh ?? (await endpoint.keys.current());
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

/** Attributes by OpenTelemetry's conventions for HTTP clients, without path and query: those name the user's resources. */
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
