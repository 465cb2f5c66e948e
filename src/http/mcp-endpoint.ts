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
import { createInbox, maximumReply, replyIn } from './client-replies.js';
import { createBodyReader, HttpError, unavailable } from './http-helpers.js';
import { type ConcurrencyLimiter, createRateLimiter, type HttpLimits } from './limits.js';
import { createFailedLogins } from './limits-by-address.js';
import { createMcpSessions, type McpSession } from './mcp-sessions.js';
import { parseMessage } from './parse-message.js';
import type { SharedMessages } from './replica-messages.js';
import type { Conversation } from './serve-legacy-request.js';
import { serveMessage } from './transport.js';

export interface McpEndpointOptions {
  /** Absent only where callers are not authenticated: everybody who reaches the server is served. */
  readonly authenticate?: Authenticate | undefined;
  readonly resource?: ProtectedResource | undefined;
  readonly limits: HttpLimits;
  /** Calls a second for each caller. */
  readonly rate: number;
  readonly server: ServerDependencies;
  /** Absent where no other process serves the same callers. */
  readonly shared?: SharedMessages | undefined;
  /** A new text that nobody can guess. */
  readonly newId: () => string;
  readonly log: Log;
  readonly now: () => Date;
}

/**
 * Serves requests to `/mcp`, with nothing kept after each. Checks from cheap to expensive: token, method, rate, type, messages of
 * the caller, size, calls of the caller and of all, JSON, scope; then the SDK answers. Replies to questions need no place among the
 * calls, or calls that wait for them could keep them out.
 */
export function createMcpEndpoint(options: McpEndpointOptions, metrics: Metrics, concurrency: ConcurrencyLimiter) {
  const { authenticate, resource, server, newId, log, now } = options;
  const offers = createToolCatalog(server.operations, server.accounts);
  const readBody = createBodyReader(options.limits.bodyBytes, options.limits.bodiesBytes);
  const takeTurn = createTurns();
  const onFailedLogin = createFailedLogins(now, log);
  const checkRate = createRateLimiter(options.rate, now);

  const sessions = createMcpSessions(server.stateKeys, newId);
  const inbox = createInbox({ shared: options.shared, stateKeys: server.stateKeys, log });

  const receive = async (request: IncomingMessage, principal: Principal | undefined) => {
    const arrived = concurrency.receive(principal?.name);
    return readBody(request).finally(arrived);
  };

  const call = async (
    { request, response, principal, session }: Exchange,
    body: Buffer,
    parsed: unknown,
  ): Promise<void> => {
    const place = await concurrency.take(principal?.name);
    const running: Promise<unknown>[] = [];
    try {
      // The client may have gone while its request waited.
      if (response.destroyed || request.socket.destroyed) return;
      const parse = () => parsed ?? parseMessage(body);
      const isQuick = parsed !== undefined || body.length <= options.limits.quickBytes;
      const message = isQuick ? parse() : await takeTurn(parse);
      if (principal !== undefined) checkScope(message, principal, server.operations, resource);
      const caller = principal?.name ?? '';
      const own = {
        principal,
        call: observed(server.call, metrics, now, running),
        session: session?.client,
      };
      const create = (wait: Wait = (work) => work()) =>
        createServer({ ...server, ...own, wait: (work) => place.waitOutside(() => wait(work)) }, offers);
      const conversation: Conversation = {
        newId,
        begin: (client) => sessions.begin(caller, client),
        ...(session !== undefined && {
          expect: (reply, receive) => inbox.expect({ caller, session: session.id }, reply, receive),
        }),
      };
      await serveMessage(create, message, request, response, { log, conversation });
    } finally {
      // A change outlives its client, and keeps its place until it ends.
      await Promise.allSettled(running);
      place.leave();
    }
  };

  const checkRequest = ({ method, headers }: IncomingMessage, principal: Principal | undefined) => {
    if (method !== 'POST') throw new HttpError(405, 'method', 'Only POST is served here.', { allow: 'POST' });
    const seconds = checkRate(principal?.name ?? '');
    if (seconds > 0) throw new HttpError(429, 'rate', 'Too many requests.', { 'retry-after': String(seconds) });
    if (!isJsonContentType(headers['content-type'] ?? null))
      throw new HttpError(415, 'content type', 'The content type must be application/json.');
  };

  /** @throws HttpError if the request is not served */
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const principal = authenticate && (await authenticateRequest(request, authenticate, resource, onFailedLogin));
    checkRequest(request, principal);
    const body = await receive(request, principal);
    const caller = principal?.name ?? '';
    const session = sessions.find(caller, request.headers['mcp-session-id']?.toString());
    const message = body.length > maximumReply ? undefined : parseMessage(body);
    const reply = session && replyIn(message);
    if (session === undefined || reply === undefined)
      return call({ request, response, principal, session }, body, message);
    await inbox.deliver({ caller, session: session.id }, reply).catch(() => {
      throw unavailable('reply', 'The reply cannot be passed on now.', 1);
    });
    response.writeHead(202).end();
  };
}

/** A request on its way to its answer. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal | undefined;
  readonly session: McpSession | undefined;
}

/** Counts calls, and keeps those that run. */
const observed =
  (call: CallTool, metrics: Metrics, now: () => Date, running: Promise<unknown>[]): CallTool =>
  async (operation, args, context) => {
    const start = now().getTime();
    const called = call(operation, args, context);
    running.push(called);
    const result = await called.catch(() => undefined);
    metrics.called(operation.name, result, now().getTime() - start);
    return called;
  };
