import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import type { CallTool, ChangeTools } from '../call-stack.js';
import type { CallOutcome } from '../calls/outcome.js';
import type { Principal } from '../calls/policy.js';
import { refusedChange } from '../calls/refusal.js';
import type { Client } from '../mcp/client.js';
import { createToolCatalog } from '../mcp/tool-catalog.js';
import type { Metrics } from '../observe/metrics.js';
import { createServer, type ServerDependencies } from '../server.js';
import type { Log } from '../util/log.js';
import { createTurns } from '../util/queue.js';
import type { SealingKeys } from '../util/seal.js';
import { type Authenticate, authenticateRequest, checkScope, type ProtectedResource } from './auth.js';
import { createBodyReader, HttpError } from './http-helpers.js';
import { createLimitedLog } from './limited-log.js';
import { type ConcurrencyLimiter, createRateLimiter, type HttpLimits } from './limits.js';
import { createMcpSessions } from './mcp-sessions.js';
import { parseMessage } from './parse-message.js';
import { serveMessage } from './serve-message.js';

export interface McpEndpointOptions {
  /** Undefined if everybody who can reach this server is served. */
  readonly authenticate?: Authenticate | undefined;
  readonly resource?: ProtectedResource | undefined;
  readonly limits: HttpLimits;
  /** Requests per second of each caller. */
  readonly rate: number;
  readonly server: ServerDependencies;
  readonly stateKeys: SealingKeys;
  readonly checkJournal?: (() => void) | undefined;
  readonly log: Log;
  readonly now: () => Date;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal | undefined;
  readonly body: Buffer;
}

/** Serves requests to `/mcp`. Checks the token first, because limits are per caller. */
export function createMcpEndpoint(options: McpEndpointOptions, metrics: Metrics, concurrency: ConcurrencyLimiter) {
  const { authenticate, resource, limits, log, now } = options;
  const onFailedLogin = createLimitedLog(now, log, 'login failed');
  const secondsUntilAllowed = createRateLimiter(options.rate, now);
  const readBody = createBodyReader(limits.bodyBytes, limits.bodiesBytes);
  const serveCall = createCallServer(options, metrics, concurrency);

  const checkHead = (request: IncomingMessage, principal: Principal | undefined): void => {
    if (request.method !== 'POST') throw new HttpError(405, 'method', 'Only POST is served here.', { allow: 'POST' });
    const retryAfterSeconds = secondsUntilAllowed(principal?.name);
    if (retryAfterSeconds > 0)
      throw new HttpError(429, 'rate', 'Too many requests.', { 'retry-after': String(retryAfterSeconds) });
    if (!isJsonContentType(request.headers['content-type'] ?? null))
      throw new HttpError(415, 'content type', 'The content type must be application/json.');
  };

  /** @throws HttpError */
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const principal = authenticate && (await authenticateRequest(request, authenticate, resource, onFailedLogin));
    try {
      checkHead(request, principal);
      const endReceiving = concurrency.receive(principal?.name);
      const body = await readBody(request).finally(endReceiving);
      await serveCall({ request, response, principal, body });
    } catch (error) {
      if (error instanceof HttpError) error.caller = principal?.name;
      throw error;
    }
  };
}

/** Larger bodies are parsed in turns (bytes). */
const shortBody = 16 * 1024;

function createCallServer(options: McpEndpointOptions, metrics: Metrics, concurrency: ConcurrencyLimiter) {
  const { resource, server: serverOptions, log } = options;
  const catalog = createToolCatalog(serverOptions.operations, serverOptions.accounts);
  const reported = reportCalls(serverOptions, metrics, options);
  const sessions = createMcpSessions(options.stateKeys);
  // Parsing a large body blocks the event loop for milliseconds.
  const takeTurn = createTurns();

  return async ({ request, response, principal, body }: Exchange): Promise<void> => {
    // The empty name stands for all callers that are not authenticated.
    const caller = principal?.name ?? '';
    const sessionClient = sessions.find(caller, request.headers['mcp-session-id']?.toString());
    const beginSession = (client: Client) => sessions.begin(caller, client);

    const place = await concurrency.take(principal?.name);
    const { call, changes, allEnded } = trackCalls(reported);
    const ofRequest = { principal, call, changes, sessionClient, wait: place.waitOutside };
    const createSdkServer = () =>
      createServer({ ...serverOptions, ...ofRequest, listLifeMs, protocolVersions }, catalog);

    try {
      // If the client has gone, `serveMessage` would wait forever for a close event.
      const isGone = () => response.destroyed || request.socket.destroyed;
      if (isGone()) return;
      const message = body.length > shortBody ? await takeTurn(() => parseMessage(body)) : parseMessage(body);
      if (isGone()) return;
      if (principal !== undefined) checkScope(message, principal, serverOptions.operations, resource);
      await serveMessage(createSdkServer, message, request, response, { log, beginSession });
    } finally {
      // A change that was sent keeps its place until it ends.
      await allEnded();
      place.leave();
    }
  };
}

/** Without 2025-03-26, whose clients may send batches, because limits count messages. */
const protocolVersions = SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version !== '2025-03-26');

/** Short, because lists depend on scopes, which the next token may lack. */
const listLifeMs = 5 * 60_000;

type Calls = Pick<ServerDependencies, 'call' | 'changes'>;

/** Reports each call, click and confirmation to the metrics, and checks the journal after its failures. */
export function reportCalls(
  { call, changes }: Calls,
  metrics: Metrics,
  { now, checkJournal }: Pick<McpEndpointOptions, 'now' | 'checkJournal'>,
): Calls {
  /** `outcomeOf` returns undefined if an earlier decision stands. */
  const report = <Result>(
    tool: string,
    result: Promise<Result>,
    outcomeOf: (result: Result) => CallOutcome | undefined,
  ): Promise<Result> => {
    const startedAt = now().getTime();
    const count = (outcome: CallOutcome | undefined) => {
      metrics.called(tool, outcome, now().getTime() - startedAt);
      if (outcome?.kind === 'failed' && journalFailures.includes(outcome.failure.code)) checkJournal?.();
    };
    const countIfAny = (outcome: CallOutcome | undefined) => outcome !== undefined && count(outcome);
    void result.then(
      (value) => countIfAny(outcomeOf(value)),
      () => count(undefined),
    );
    return result;
  };

  return {
    call: (operation, args, context) => report(operation.name, call(operation, args, context), (outcome) => outcome),
    changes: {
      ...changes,
      confirm: (...given) => report('confirm_change', changes.confirm(...given), (outcome) => outcome),
      click: (change, ...given) =>
        report(change.tool, changes.click(change, ...given), (decided) => {
          if (decided.kind === 'refused') return refusedChange(change.tool, decided);
          return decided.kind === 'decided' ? decided.outcome : undefined;
        }),
    },
  };
}

const journalFailures: readonly string[] = ['JournalUnavailable', 'StateUnavailable'];

/** `allEnded` resolves when everything has ended that may send a change. */
function trackCalls({ call, changes }: Calls) {
  const running: Promise<unknown>[] = [];
  const track =
    <Given extends unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
    (...given: Given): Promise<Result> => {
      const result = work(...given);
      running.push(result);
      return result;
    };
  const trackedChanges: ChangeTools = { ...changes, confirm: track(changes.confirm), click: track(changes.click) };
  const trackedCall: CallTool = track(call);
  return { call: trackedCall, changes: trackedChanges, allEnded: () => Promise.allSettled(running) };
}
