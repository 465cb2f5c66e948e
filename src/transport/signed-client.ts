import { type Credentials, sign } from '../signing/sign.js';
import type { Log } from '../util/log.js';
import { timeLimit } from '../util/time-limit.js';
import type { Attributes, Span } from '../util/trace.js';
import type { ByteLimit, HttpClient } from './http-client.js';
import { createRedactor, type Redactor } from './redact.js';
import type { Endpoint, WireRequest } from './request.js';
import { type AttemptReply, clockOffset, describeReply, refusesKeys, replyOf, retryDelay } from './retry.js';

/** The outcome of one attempt, and the pause that followed. */
export interface Attempt {
  readonly result: string;
  readonly waitedMs?: number;
}

/** The last reply, without secrets. */
export type FinalReply = AttemptReply & {
  readonly attempts: readonly Attempt[];
  /** By this machine's clock. */
  readonly endedAt: Date;
  readonly keyId: string;
};

export type AnsweredReply = FinalReply & { readonly kind: 'answered' };

/** Sends the requests of one call within one time limit. */
export interface SignedClient extends Disposable {
  /**
   * Signs and sends a request, and repeats it if that is safe and useful.
   * @throws NotSent if the request could not be signed. After other errors, it may have been sent
   */
  send(request: WireRequest): Promise<FinalReply>;
}

/** A failure before the first byte was sent. */
export class NotSent extends Error {}

export type OpenClient = (endpoint: Endpoint, options: SignedClientOptions) => SignedClient;

export interface SignedClientOptions {
  /** True if a request may be carried out twice. */
  readonly repeatable: boolean;
  /** Removed from answers, as the credentials are. */
  readonly secretArguments: readonly (string | undefined)[];
  /** True if the request may hold private values, so that it is not logged. */
  readonly isPrivate?: boolean;
  readonly signal: AbortSignal;
  readonly span?: Span | undefined;
  readonly onRetry?: ((attempts: readonly Attempt[]) => void) | undefined;
  readonly byteLimit?: ByteLimit;
}

export interface SignedClientDependencies {
  readonly httpClient: HttpClient;
  readonly now: () => Date;
  /** Ends early, without an error, if the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly log: Log;
  readonly timeoutMs: number;
  readonly maximumAttempts: number;
}

interface SignedAttempt {
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: Credentials;
}

const secretsOf = ({ secretAccessKey, sessionToken }: Credentials) => [secretAccessKey, sessionToken];

/** The client of a call must be disposed of. */
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
  { repeatable, secretArguments, isPrivate = false, signal, span, onRetry, byteLimit }: SignedClientOptions,
  { httpClient, now, sleep, random, log, timeoutMs, maximumAttempts }: SignedClientDependencies,
  redactorOfCredentials: (credentials: Credentials) => Redactor,
): SignedClient {
  const { origin, keys } = endpoint;
  const limit = timeLimit(timeoutMs, signal);
  const deadline = now().getTime() + timeoutMs;
  const redactorWith = createCallRedactors(secretArguments, redactorOfCredentials);

  /** The service's time minus this machine's time. */
  let offsetMs = 0;
  const signAttempt = async (request: WireRequest): Promise<SignedAttempt> => {
    const credentials = await keys.current();
    const { clean } = redactorWith(credentials);
    const { host } = new URL(origin);
    const date = new Date(now().getTime() + offsetMs);
    const signed = await sign({ ...request, host }, { ...endpoint, credentials, date });
    const { headers, canonicalRequest, stringToSign } = signed;
    const { sessionToken } = credentials;
    // The redactor would remove the whole line of the token.
    const withoutToken =
      sessionToken === undefined ? canonicalRequest : canonicalRequest.replaceAll(sessionToken, '***');
    // Single lines, so that the log lacks only lines with a secret.
    if (!isPrivate)
      log('debug', 'signed', { canonicalRequest: clean(withoutToken.split('\n')).join('\n'), stringToSign });
    return { headers, credentials };
  };

  /** If the clocks differ, signs by the service's time from now on. */
  const adoptServiceTime = (reply: AttemptReply): boolean => {
    if (offsetMs !== 0) return false;
    const newOffset = clockOffset(reply, now());
    offsetMs = newOffset ?? 0;
    return newOffset !== undefined;
  };

  const sendOnce = async (
    request: WireRequest,
    { headers, credentials }: SignedAttempt,
    attemptsBefore: number,
  ): Promise<AttemptReply> => {
    const { method, target, body } = request;
    const newConnection = !repeatable;
    const signed = { method, origin, path: target, headers, newConnection, byteLimit, ...(body && { body }) };
    const attemptSpan = span?.child(method, requestAttributes(endpoint, request, attemptsBefore));
    const result = await httpClient.send(signed, limit.signal);
    // After parsing, because an XML comment may split a secret.
    const reply = withoutSecrets(replyOf(result), redactorWith(credentials));
    if (attemptSpan !== undefined) endSpan(attemptSpan, reply);
    return reply;
  };

  let hasRenewed = false;
  /** True if the service refused the keys, and there are others now. */
  const renewKeys = async (reply: AttemptReply, refused: Credentials): Promise<boolean> => {
    if (hasRenewed || limit.signal.aborted || !refusesKeys(reply)) return false;
    hasRenewed = true;
    const renewed = await keys.renewed(refused).catch(() => undefined);
    return renewed !== undefined;
  };

  /** In milliseconds. */
  const pauseAfter = (reply: AttemptReply, attemptsBefore: number): number | undefined => {
    if (attemptsBefore + 1 >= maximumAttempts || limit.signal.aborted) return undefined;
    const pauseMs = adoptServiceTime(reply) ? 0 : retryDelay(reply, repeatable, attemptsBefore, now(), random);
    return pauseMs !== undefined && now().getTime() + pauseMs < deadline ? pauseMs : undefined;
  };

  const attemptOnce = async (request: WireRequest, attempts: Attempt[]) => {
    const signed = await signAttempt(request).catch((cause: unknown) => {
      throw new NotSent('the request could not be signed', { cause });
    });
    const { credentials } = signed;
    const attemptReply = await sendOnce(request, signed, attempts.length);
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
      // This process may have been suspended, and a late attempt might repeat a change that somebody has made since.
      if (now().getTime() >= deadline) return last.reply;
      try {
        last = await attemptOnce(request, attempts);
      } catch (error) {
        // This attempt was not sent.
        if (error instanceof NotSent) return last.reply;
        throw error;
      }
    }
    return last.reply;
  };

  return { send, [Symbol.dispose]: limit[Symbol.dispose] };
}

type RedactorWith = (credentials: Credentials) => Redactor;

function createCallRedactors(
  secretArguments: SignedClientOptions['secretArguments'],
  redactorOfCredentials: (credentials: Credentials) => Redactor,
): RedactorWith {
  /** A service may repeat a secret of an earlier attempt. */
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

/** OpenTelemetry's conventions, without path and query, which name the user's resources. */
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
