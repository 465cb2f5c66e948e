import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import type { CallOutcome, CallTool } from '../calls/context.js';
import type { Principal } from '../calls/policy.js';
import type { Wait } from '../consent/elicitor.js';
import { createToolCatalog } from '../mcp/tool-catalog.js';
import type { Metrics } from '../observe/metrics.js';
import { createServer, type ServerDependencies } from '../server.js';
import type { Log } from '../util/log.js';
import { createTurns } from '../util/turns.js';
import { type Authenticate, authenticateRequest, checkScope, type ProtectedResource } from './auth.js';
import { type ClientReply, type Correspondent, createInbox, maximumReply, replyIn } from './client-replies.js';
import { createBodyReader, HttpError, unavailable } from './http-helpers.js';
import { createLimitedLog } from './limited-log.js';
import { type ConcurrencyLimiter, createRateLimiter, type HttpLimits } from './limits.js';
import { createMcpSessions, type McpSession } from './mcp-sessions.js';
import { parseMessage } from './parse-message.js';
import type { SharedMessages } from './replica-messages.js';
import type { Conversation } from './serve-legacy-request.js';
import { serveMessage } from './serve-message.js';

export interface McpEndpointOptions {
  /** Undefined if callers are not authenticated, so that everybody who can reach this server is served. */
  readonly authenticate?: Authenticate | undefined;
  readonly resource?: ProtectedResource | undefined;
  readonly limits: HttpLimits;
  /** Requests per second of each caller. */
  readonly rate: number;
  readonly server: ServerDependencies;
  /** Messages between replicas. Undefined if there are no other replicas. */
  readonly shared?: SharedMessages | undefined;
  /** Checks the journal at once. Undefined if this server needs no journal. */
  readonly checkJournal?: (() => void) | undefined;
  /** Returns a new ID that cannot be guessed. */
  readonly newId: () => string;
  readonly log: Log;
  readonly now: () => Date;
}

/** A request to `/mcp` whose body was received. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal | undefined;
  readonly session: McpSession | undefined;
  /** The session's functions for a call. Only protocol versions before 2026-07-28 use them. */
  readonly conversation: Conversation;
  /** Parses the body, or returns the message if the body is already parsed. @throws HttpError */
  readonly readMessage: () => Promise<object>;
}

/**
 * Serves requests to `/mcp`. The state of a session is in its ID, so this process keeps no sessions. The token is checked first, because each
 * caller has limits of their own. The other checks run from cheap to expensive: `checkHead`, the limits on messages that are being received and
 * on calls, JSON, and the scope. Then the SDK answers.
 */
export function createMcpEndpoint(options: McpEndpointOptions, metrics: Metrics, concurrency: ConcurrencyLimiter) {
  const { authenticate, resource, limits, newId, log, now } = options;
  const { stateKeys } = options.server;
  const onFailedLogin = createLimitedLog(now, log, 'login failed');
  const secondsUntilAllowed = createRateLimiter(options.rate, now);
  const readBody = createBodyReader(limits.bodyBytes, limits.bodiesBytes);
  const sessions = createMcpSessions(stateKeys, newId);
  const inbox = createInbox({ shared: options.shared, stateKeys, log });
  const serveCall = createCallServer(options, metrics, concurrency);
  // Parsing a large body blocks the event loop for milliseconds, so large bodies take turns with other work.
  const takeTurn = createTurns();

  /** Runs the checks that need no body. `principal` is undefined if callers are not authenticated. @throws HttpError */
  const checkHead = (request: IncomingMessage, principal: Principal | undefined): void => {
    if (request.method !== 'POST') throw new HttpError(405, 'method', 'Only POST is served here.', { allow: 'POST' });
    const retryAfterSeconds = secondsUntilAllowed(principal?.name);
    if (retryAfterSeconds > 0)
      throw new HttpError(429, 'rate', 'Too many requests.', { 'retry-after': String(retryAfterSeconds) });
    if (!isJsonContentType(request.headers['content-type'] ?? null))
      throw new HttpError(415, 'content type', 'The content type must be application/json.');
  };

  /** Passes a reply on to the call that waits for it. @throws HttpError */
  const serveReply = async (response: ServerResponse, reply: ClientReply, from: Correspondent): Promise<void> => {
    await inbox.deliver(from, reply).catch(() => {
      throw unavailable('reply', 'The reply cannot be passed on now.', { retryAfterSeconds: 1 });
    });
    response.writeHead(202).end();
  };

  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Promise<void> => {
    checkHead(request, principal);
    const endReceiving = concurrency.receive(principal?.name);
    const body = await readBody(request).finally(endReceiving);
    // In sessions and replies, the empty name stands for all callers that are not authenticated.
    const caller = principal?.name ?? '';
    const session = sessions.find(caller, request.headers['mcp-session-id']?.toString());

    // A short message is parsed before it waits for one of the places for calls, because it may be a client's reply to a question.
    const shortMessage = body.length <= maximumReply ? parseMessage(body) : undefined;
    const reply = replyIn(shortMessage);
    // A reply needs no place. Otherwise, if calls had all places, the reply would be refused, and the user's answer would be lost. But without a
    // session, no call can wait for a reply, so the SDK gets the reply, like any message.
    if (session !== undefined && reply !== undefined)
      return serveReply(response, reply, { caller, session: session.id });

    const conversation: Conversation = {
      newId,
      begin: (client) => sessions.begin(caller, client),
      // Undefined without a session, because then no reply of the client can reach the call.
      expectReply:
        session && ((expected, receive) => inbox.expectReply({ caller, session: session.id }, expected, receive)),
    };
    const readMessage = async () => shortMessage ?? takeTurn(() => parseMessage(body));
    await serveCall({ request, response, principal, session, conversation, readMessage });
  };

  /** @throws HttpError if the request is refused */
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const principal = authenticate && (await authenticateRequest(request, authenticate, resource, onFailedLogin));
    try {
      await serve(request, response, principal);
    } catch (error) {
      if (error instanceof HttpError) error.caller = principal?.name;
      throw error;
    }
  };
}

/** Serves all messages except replies in a session, within the limits on concurrent calls. Each message gets its own SDK server. */
function createCallServer(options: McpEndpointOptions, metrics: Metrics, concurrency: ConcurrencyLimiter) {
  const { resource, server: serverOptions, log } = options;
  const catalog = createToolCatalog(serverOptions.operations, serverOptions.accounts);
  const reportedCall = reportCalls(serverOptions.call, metrics, options);

  return async ({ request, response, principal, session, conversation, readMessage }: Exchange): Promise<void> => {
    const place = await concurrency.take(principal?.name);
    const { call, allEnded } = trackCalls(reportedCall);
    const createSdkServer = (cancellableWait: Wait) => {
      // While a call waits for a person, it gives up its place, and the client can cancel it.
      const waitForPerson: Wait = (work) => place.waitOutside(() => cancellableWait(work));
      // In an old protocol, the client declares its capabilities only when its session begins.
      const sessionClient = session?.client;
      return createServer(
        { ...serverOptions, principal, call, sessionClient, listLifeMs, wait: waitForPerson },
        catalog,
      );
    };

    try {
      // The client may close the connection while its request waits for a place or for `readMessage`. `serveMessage` must then not be called,
      // because it would wait forever for a close event that has already happened.
      const isGone = () => response.destroyed || request.socket.destroyed;
      if (isGone()) return;
      const message = await readMessage();
      if (isGone()) return;
      if (principal !== undefined) checkScope(message, principal, serverOptions.operations, resource);
      await serveMessage(createSdkServer, message, request, response, { log, conversation });
    } finally {
      // If the client has gone, its call is cancelled, but a change that was sent still runs, and keeps its place until it ends.
      await allEnded();
      place.leave();
    }
  };
}

/** Clients may cache lists for this time (milliseconds). It is short, because lists depend on scopes, and the caller's next token may lack some. */
const listLifeMs = 5 * 60_000;

/**
 * Wraps `callTool`, so that each call is reported to the metrics. If a call could not use the journal, checks the journal, so that readiness and
 * metrics show the fault at once.
 */
export const reportCalls =
  (
    callTool: CallTool,
    metrics: Metrics,
    { now, checkJournal }: Pick<McpEndpointOptions, 'now' | 'checkJournal'>,
  ): CallTool =>
  (operation, args, context) => {
    const startedAt = now().getTime();
    const report = (outcome: CallOutcome | undefined) => {
      // A look at a plan is not counted, because an unknown outcome would be counted again with each look.
      if (context.lookAt === undefined) metrics.called(operation.name, outcome, now().getTime() - startedAt);
      if (outcome?.kind === 'failed' && journalFailures.includes(outcome.failure.code)) checkJournal?.();
    };
    const outcome = callTool(operation, args, context);
    void outcome.then(report, () => report(undefined));
    return outcome;
  };

/** Codes of failures due to the journal, or to the plans that are stored with it. */
const journalFailures: readonly string[] = ['JournalUnavailable', 'StateUnavailable'];

/** Wraps `callTool` for one HTTP request. `allEnded` resolves when all calls of the request have ended. */
function trackCalls(callTool: CallTool) {
  const calls: Promise<unknown>[] = [];
  const call: CallTool = (...given) => {
    const outcome = callTool(...given);
    calls.push(outcome);
    return outcome;
  };
  return { call, allEnded: () => Promise.allSettled(calls) };
}
