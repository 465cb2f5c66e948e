import type { SigningProfile } from '../signing/profiles.js';
import { type Credentials, encodeQuery, sign } from '../signing/sign.js';
import type { Log } from '../util/log.js';
import { type Attributes, noSpan, type Span } from '../util/trace.js';
import { type Body, parseBody } from './body.js';
import { withDeadline } from './deadline.js';
import { type HttpClient, type HttpFailure, type HttpResponse, isFailure } from './http-client.js';

/** Where requests of one API go, and how they are signed. */
export interface Endpoint {
  /** Scheme, host and port, without a slash at the end. */
  readonly origin: string;
  /** Comes before every path; empty or `/…` without a slash at the end. Percent-encoded. */
  readonly pathPrefix: string;
  readonly region: string;
  readonly service: string;
  readonly profile: SigningProfile;
  readonly credentials: Credentials;
}

/** A request to sign and send. */
export interface SendRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** One try: what came of it, and how long was waited before the next (milliseconds). */
export interface Attempt {
  readonly result: string;
  readonly waitedMs?: number;
}

/** An answer, whatever its status, or the reason there is none. */
export type Outcome =
  | { readonly kind: 'answered'; readonly response: HttpResponse; readonly body: Body }
  | { readonly kind: 'failed'; readonly failure: HttpFailure };

/** What came of a request in the end, and of each try. `endedAt` is by the clock of this machine. */
export type Sent = Outcome & { readonly attempts: readonly Attempt[]; readonly endedAt: Date };

export interface SendOptions {
  /** Whether sending it twice is harmless. If not, it is sent again only where it provably never arrived. */
  readonly repeatable: boolean;
  /** Path of the element that an XML answer repeats up to thousands of times: see `decode`. */
  readonly rows?: string | undefined;
  readonly signal: AbortSignal;
  /** What the attempts are part of. */
  readonly span?: Span | undefined;
}

export interface SenderDependencies {
  readonly httpClient: HttpClient;
  readonly now: () => Date;
  /** Waits, and ends early, without rejecting, when the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  readonly log: Log;
  readonly timeoutMs: number;
  readonly maximumAttempts: number;
}

/** Does the exchanges of one call with one API. All of them together have the time of a call. */
export type Sender = <Result>(
  target: Endpoint,
  options: SendOptions,
  work: (send: (request: SendRequest) => Promise<Sent>) => Promise<Result>,
) => Promise<Result>;

/** Signs and sends requests, repeating them where that is safe and useful. Sending never rejects. */
export function createSender(dependencies: SenderDependencies): Sender {
  const { httpClient, now, sleep, random, log, timeoutMs, maximumAttempts } = dependencies;
  return (target, { repeatable, rows, signal: callerSignal, span = noSpan }, work) => {
    const deadline = now().getTime() + timeoutMs;
    // Once a service has told its time, every later request of the call is signed for it.
    let clockOffsetMs = 0;

    return withDeadline(timeoutMs, callerSignal, (signal) =>
      work(async (request) => {
        const attempts: Attempt[] = [];
        for (;;) {
          const date = new Date(now().getTime() + clockOffsetMs);
          const attemptSpan = span.child(request.method, requestAttributes(target, request, attempts.length));
          const outcome = interpret(await attempt(httpClient, target, request, date, signal, log), rows);
          endSpan(attemptSpan, outcome);
          const result = describeAttempt(outcome);
          const skew = clockOffsetMs === 0 ? clockSkew(outcome, now()) : undefined;
          const wait = skew !== undefined ? 0 : pause(outcome, repeatable, attempts.length, now(), random);
          const more = attempts.length + 1 < maximumAttempts && !signal.aborted;
          const again = wait !== undefined && more && now().getTime() + wait < deadline;
          attempts.push(again ? { result, waitedMs: wait } : { result });
          const { method } = request;
          log('info', 'attempt', { origin: target.origin, method, attempt: attempts.length, ...attempts.at(-1) });
          if (!again) return { ...outcome, attempts, endedAt: now() };
          if (skew !== undefined) clockOffsetMs = skew;
          await sleep(wait, signal);
        }
      }),
    );
  };
}

async function attempt(
  httpClient: HttpClient,
  target: Endpoint,
  request: SendRequest,
  date: Date,
  signal: AbortSignal,
  log: Log,
): Promise<HttpResponse | HttpFailure> {
  const path = target.pathPrefix + request.path;
  const body = request.body === undefined ? undefined : JSON.stringify(request.body);
  const { headers, canonicalRequest, stringToSign } = await sign(
    {
      method: request.method,
      host: new URL(target.origin).host,
      path,
      query: request.query,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      ...(body !== undefined && { body }),
    },
    { ...target, date },
  );
  const { sessionToken } = target.credentials;
  log('debug', 'signed', {
    canonicalRequest: sessionToken === undefined ? canonicalRequest : canonicalRequest.replaceAll(sessionToken, '***'),
    stringToSign,
  });
  const query = encodeQuery(request.query);
  return httpClient.exchange(
    {
      method: request.method,
      origin: target.origin,
      path: query === '' ? path : `${path}?${query}`,
      headers,
      ...(body !== undefined && { body }),
    },
    signal,
  );
}

const interpret = (result: HttpResponse | HttpFailure, rows: string | undefined): Outcome =>
  isFailure(result)
    ? { kind: 'failed', failure: result }
    : { kind: 'answered', response: result, body: parseBody(result.body, rows) };

/** By OpenTelemetry's conventions for HTTP clients, but without the path and query, which hold what the user works on. */
function requestAttributes({ origin }: Endpoint, { method }: SendRequest, resendCount: number): Attributes {
  const { hostname, port, protocol } = new URL(origin);
  return {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'http.request.resend_count': resendCount === 0 ? undefined : resendCount,
  };
}

function endSpan(span: Span, outcome: Outcome): void {
  if (outcome.kind === 'failed') span.end({}, outcome.failure.code);
  else {
    const { status, bodyFailure } = outcome.response;
    span.end({ 'http.response.status_code': status }, status >= 400 ? String(status) : bodyFailure?.code);
  }
}

function describeAttempt(sent: Outcome): string {
  if (sent.kind === 'failed') return sent.failure.code;
  const { status, bodyFailure } = sent.response;
  return bodyFailure === undefined ? String(status) : `${status} then ${bodyFailure.code}`;
}

const repeatableStatuses: readonly number[] = [429, 500, 502, 503, 504, 509];

/** Milliseconds to wait before the next attempt, or undefined if there should be none. */
function pause(
  sent: Outcome,
  repeatable: boolean,
  failures: number,
  now: Date,
  random: () => number,
): number | undefined {
  const backoff = Math.round(Math.min(5000, 200 * 2 ** failures) * (0.5 + random() / 2));
  if (sent.kind === 'failed') {
    const { code, mayHaveArrived } = sent.failure;
    if (code === 'Cancelled' || code === 'CallTimeout' || code === 'ResponseTooLarge') return undefined;
    return repeatable || !mayHaveArrived ? backoff : undefined;
  }
  const { status, headers, bodyFailure } = sent.response;
  if (status === 429 || (repeatable && repeatableStatuses.includes(status))) return retryAfter(headers, now) ?? backoff;
  const incomplete = bodyFailure !== undefined && bodyFailure.code !== 'ResponseTooLarge';
  return repeatable && incomplete && status < 300 ? backoff : undefined;
}

/** The `Retry-After` header in milliseconds: seconds or a date. */
function retryAfter(headers: Readonly<Record<string, string>>, now: Date): number | undefined {
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}

/** How far the service's clock is ahead, if that is why it refused the request (milliseconds). */
function clockSkew(sent: Outcome, now: Date): number | undefined {
  if (sent.kind === 'failed' || sent.response.status !== 403) return undefined;
  if (!sent.response.body.includes('RequestTimeTooSkewed')) return undefined;
  const theirs = Date.parse(sent.response.headers.date ?? '');
  return Number.isNaN(theirs) ? undefined : theirs - now.getTime();
}
