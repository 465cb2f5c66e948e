import { type Credentials, sign } from '../signing/sign.js';
import type { Log } from '../util/log.js';
import { timeLimit } from '../util/time-limit.js';
import type { Attributes, Span } from '../util/trace.js';
import type { ByteLimit, HttpClient, HttpFailure, HttpResponse } from './http-client.js';
import { parseBody } from './parse-body.js';
import { createRedactor, type Redactor } from './redact.js';
import type { Endpoint, WireRequest } from './request.js';
import { type AttemptReply, clockOffset, describeReply, refusesKeys, retryDelay } from './retry.js';

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

/** The client of a call must be disposed of. */
export const createSignedClients =
  ({ httpClient, now, sleep, random, log, timeoutMs, maximumAttempts }: SignedClientDependencies): OpenClient =>
  (endpoint, { repeatable, secretArguments, isPrivate = false, signal, span, onRetry, byteLimit }) => {
    const { origin, keys } = endpoint;
    const limit = timeLimit(timeoutMs, signal);
    const deadline = now().getTime() + timeoutMs;
    /** A service may repeat a secret of an earlier attempt. */
    const secrets = new Set(secretArguments);

    /** The service's time minus this machine's time. */
    let offsetMs = 0;
    const signed = async (request: WireRequest) => {
      const credentials = await keys.current();
      const date = new Date(now().getTime() + offsetMs);
      const { host } = new URL(origin);
      const { headers, body, canonicalRequest, stringToSign } = await sign(
        { ...request, host },
        { ...endpoint, credentials, date },
      );
      secrets.add(credentials.secretAccessKey).add(credentials.sessionToken);
      if (!isPrivate) {
        // Single lines, so that the log lacks only lines with a secret.
        const lines = createRedactor([...secrets]).clean(canonicalRequest.split('\n'));
        log('debug', 'signed', { canonicalRequest: lines.join('\n'), stringToSign });
      }
      return { headers, credentials, body: body ?? request.body };
    };

    let hasRenewed = false;
    const renewKeys = async (reply: AttemptReply, refused: Credentials): Promise<boolean> => {
      if (hasRenewed || limit.signal.aborted || !refusesKeys(reply)) return false;
      hasRenewed = true;
      return (await keys.renewed(refused).catch(() => undefined)) !== undefined;
    };

    const pauseAfter = (reply: AttemptReply, attemptsBefore: number): number | undefined => {
      if (attemptsBefore + 1 >= maximumAttempts || limit.signal.aborted) return undefined;
      const newOffset = offsetMs === 0 ? clockOffset(reply, now()) : undefined;
      offsetMs += newOffset ?? 0;
      const pauseMs = newOffset === undefined ? retryDelay(reply, repeatable, attemptsBefore, now(), random) : 0;
      return pauseMs !== undefined && now().getTime() + pauseMs < deadline ? pauseMs : undefined;
    };

    const attemptOnce = async (request: WireRequest, attempts: Attempt[]) => {
      const { method, target } = request;
      const { headers, credentials, body } = await signed(request).catch((cause: unknown) => {
        throw new NotSent('the request could not be signed', { cause });
      });
      const attemptSpan = span?.child(method, requestAttributes(endpoint, request, attempts.length));
      const result = await httpClient.send(
        { method, origin, path: target, headers, newConnection: !repeatable, byteLimit, ...(body && { body }) },
        limit.signal,
      );
      const attemptReply = replyOf(result, createRedactor([...secrets]));
      if (attemptReply.kind === 'failed') attemptSpan?.end({}, attemptReply.failure.code);
      else {
        const { status, bodyFailure } = attemptReply.response;
        const error = status >= 400 ? String(status) : bodyFailure?.code;
        attemptSpan?.end({ 'http.response.status_code': status }, error);
      }
      const hasNewKeys = await renewKeys(attemptReply, credentials);
      const pauseMs = hasNewKeys ? 0 : pauseAfter(attemptReply, attempts.length);

      const attempt: Attempt = {
        result: describeReply(attemptReply),
        ...(pauseMs !== undefined && { waitedMs: pauseMs }),
      };
      attempts.push(attempt);
      log('info', 'attempt', { origin, method, attempt: attempts.length, ...attempt });
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
        if (now().getTime() >= deadline) break;
        const next = await attemptOnce(request, attempts).catch((error: unknown) => {
          if (error instanceof NotSent) return undefined;
          throw error;
        });
        if (next === undefined) break;
        last = next;
      }
      return last.reply;
    };

    return { send, [Symbol.dispose]: limit[Symbol.dispose] };
  };

/** Removes secrets after parsing, because an XML comment may split a secret. */
function replyOf(result: HttpResponse | HttpFailure, { clean }: Redactor): AttemptReply {
  if (result.kind === 'failure') return { kind: 'failed', failure: clean(result) };
  const { body, ...response } = result;
  const answer = clean({ response, body: parseBody(body) });
  return { kind: 'answered', ...answer, readText: async (read) => clean(await read(body)) };
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
