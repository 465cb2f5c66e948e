import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import type { CallTool } from '../calls/context.js';
import type { Principal } from '../calls/policy.js';
import type { Wait } from '../consent/elicitor.js';
import { createToolCatalog } from '../mcp/tool-catalog.js';
import type { Metrics } from '../observe/metrics.js';
import { createServer, type ServerDependencies } from '../server.js';
import type { Log } from '../util/log.js';
import { createTurns } from '../util/turns.js';
import { type Authenticate, authenticateRequest, checkScope, type ProtectedResource } from './auth.js';
import { createInbox, type Inbox, maximumReply, replyIn } from './client-replies.js';
import { createBodyReader, HttpError, unavailable } from './http-helpers.js';
import { type ConcurrencyLimiter, createRateLimiter, type HttpLimits } from './limits.js';
import { createFailedLogins } from './limits-by-address.js';
import { createMcpSessions, type McpSession, type McpSessions } from './mcp-sessions.js';
import type { SharedMessages } from './replica-messages.js';
import type { Conversation } from './serve-legacy-request.js';
import { serveMessage } from './serve-message.js';

export interface McpEndpointOptions {
  /** Undefined if callers are not authenticated, so that everybody who reaches the server is served. */
  readonly authenticate?: Authenticate | undefined;
  readonly resource?: ProtectedResource | undefined;
  readonly limits: HttpLimits;
  /** Requests per second of each caller. */
  readonly rate: number;
  readonly server: ServerDependencies;
  /** Undefined if there are no other replicas. */
  readonly shared?: SharedMessages | undefined;
  /** Returns a new ID that cannot be guessed. */
  readonly newId: () => string;
  readonly log: Log;
  readonly now: () => Date;
}

/** A request to `/mcp` that has passed the first checks. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The caller's name; empty if callers are not authenticated. */
  readonly caller: string;
  readonly principal: Principal | undefined;
  readonly session: McpSession | undefined;
}

/**
 * Serves requests to `/mcp`, and keeps nothing between them. The checks run from cheap to expensive: token, method, rate, content type,
 * messages of the caller that are being received, size, calls of the caller, calls of all, JSON, scope. Then the SDK answers.
 */
export function createMcpEndpoint(options: McpEndpointOptions, metrics: Metrics, concurrency: ConcurrencyLimiter) {
  const { authenticate, resource, limits, server, newId, log, now } = options;
  const onFailedLogin = createFailedLogins(now, log);
  const checkRate = createRateLimiter(options.rate, now);
  const readBody = createBodyReader(limits.bodyBytes, limits.bodiesBytes);
  const sessions = createMcpSessions(server.stateKeys, newId);
  const inbox = createInbox({ shared: options.shared, stateKeys: server.stateKeys, log });
  const serveCall = createCallServer(options, metrics, concurrency, { sessions, inbox });

  const receive = async (request: IncomingMessage, principal: Principal | undefined): Promise<Buffer> => {
    const arrived = concurrency.receive(principal?.name);
    return readBody(request).finally(arrived);
  };

  /** @throws HttpError if the request is refused */
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const principal = authenticate && (await authenticateRequest(request, authenticate, resource, onFailedLogin));
    const caller = principal?.name ?? '';
    checkMethod(request);
    refuseIfTooFast(checkRate(caller));
    checkContentType(request);
    const body = await receive(request, principal);
    const session = sessions.find(caller, request.headers['mcp-session-id']?.toString());
    const shortMessage = body.length <= maximumReply ? parseMessage(body) : undefined;
    const reply = replyIn(shortMessage);
    if (session === undefined || reply === undefined)
      return serveCall({ request, response, caller, principal, session }, body, shortMessage);
    // A reply takes no place among the calls. Otherwise, calls that wait for replies could keep them out.
    await inbox.deliver({ caller, session: session.id }, reply).catch(() => {
      throw unavailable('reply', 'The reply cannot be passed on now.', 1);
    });
    response.writeHead(202).end();
  };
}

function checkMethod({ method }: IncomingMessage): void {
  if (method !== 'POST') throw new HttpError(405, 'method', 'Only POST is served here.', { allow: 'POST' });
}

function refuseIfTooFast(retryAfterSeconds: number): void {
  if (retryAfterSeconds > 0)
    throw new HttpError(429, 'rate', 'Too many requests.', { 'retry-after': String(retryAfterSeconds) });
}

function checkContentType({ headers }: IncomingMessage): void {
  if (!isJsonContentType(headers['content-type'] ?? null))
    throw new HttpError(415, 'content type', 'The content type must be application/json.');
}

/** Serves all messages but replies. Each gets an SDK server of its own, within the limits on concurrent calls. */
function createCallServer(
  { resource, server, newId, log, now }: McpEndpointOptions,
  metrics: Metrics,
  concurrency: ConcurrencyLimiter,
  { sessions, inbox }: { readonly sessions: McpSessions; readonly inbox: Inbox },
) {
  const catalog = createToolCatalog(server.operations, server.accounts);
  // Parsing a large body takes milliseconds, in which the event loop does nothing else.
  const takeTurn = createTurns();

  const conversationOf = ({ caller, session }: Exchange): Conversation => ({
    newId,
    begin: (client) => sessions.begin(caller, client),
    expect: session && ((reply, receive) => inbox.expect({ caller, session: session.id }, reply, receive)),
  });

  return async (exchange: Exchange, body: Buffer, shortMessage: object | undefined): Promise<void> => {
    const { request, response, principal, session } = exchange;
    const place = await concurrency.take(principal?.name);
    const runningCalls: Promise<unknown>[] = [];
    const call: CallTool = (operation, args, context) => {
      const running = observeCall(() => server.call(operation, args, context), operation.name, metrics, now);
      runningCalls.push(running);
      return running;
    };
    try {
      // The client may have gone while its request waited.
      if (response.destroyed || request.socket.destroyed) return;
      const message = shortMessage ?? (await takeTurn(() => parseMessage(body)));
      if (principal !== undefined) checkScope(message, principal, server.operations, resource);
      const createWith = (wait: Wait) =>
        createServer(
          {
            ...server,
            principal,
            call,
            session: session?.client,
            listLifeMs,
            wait: (work) => place.waitOutside(() => wait(work)),
          },
          catalog,
        );
      await serveMessage(createWith, message, request, response, { log, conversation: conversationOf(exchange) });
    } finally {
      // A change continues without its client, and keeps its place until it ends.
      await Promise.allSettled(runningCalls);
      place.leave();
    }
  };
}

/** Clients keep lists for five minutes only, because lists follow the scopes of a token. */
const listLifeMs = 5 * 60_000;

/** Reports the result and the duration of a call to the metrics. */
async function observeCall(
  call: () => ReturnType<CallTool>,
  operation: string,
  metrics: Metrics,
  now: () => Date,
): ReturnType<CallTool> {
  const startedAt = now().getTime();
  const report = (result: Awaited<ReturnType<CallTool>> | undefined) =>
    metrics.called(operation, result, now().getTime() - startedAt);
  try {
    const result = await call();
    report(result);
    return result;
  } catch (error) {
    report(undefined);
    throw error;
  }
}

/** More than any call has. Each value costs memory and time from here on, even if it has few bytes. */
const maximumValues = 5_000;

/**
 * Parses the one message of a body. Batches exist only in a protocol version that is not supported.
 * @throws HttpError
 */
export function parseMessage(body: Buffer): object {
  if (hasMoreValuesThan(maximumValues, body))
    throw new HttpError(413, 'values', `A message has ${maximumValues} values at most.`);
  let message: unknown;
  try {
    message = JSON.parse(body.toString('utf8'));
  } catch {
    throw new HttpError(400, 'json', 'The body is not JSON.');
  }
  if (Array.isArray(message)) throw new HttpError(400, 'batch', 'Batches are not served: send one message.');
  if (typeof message !== 'object' || message === null) throw new HttpError(400, 'json', 'The body is not a message.');
  return message;
}

const [quote, backslash, comma, bracket, brace] = Buffer.from('"\\,[{');

/**
 * True if JSON has more than `maximum` values. Counts the commas and opening brackets outside of strings, because a comma or bracket
 * stands before each value. For text that is not JSON, the result means nothing, because parsing will refuse it.
 */
export function hasMoreValuesThan(maximum: number, json: Buffer): boolean {
  let count = 0;
  let isString = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (isString && byte === backslash) at += 1;
    else if (byte === quote) isString = !isString;
    else if (!isString && (byte === comma || byte === bracket || byte === brace)) count += 1;
    if (count > maximum) return true;
  }
  return false;
}
