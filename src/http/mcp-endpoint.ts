import type { IncomingMessage, ServerResponse } from 'node:http';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { CallOutcome } from '../calls/outcome.js';
import type { Principal } from '../calls/policy.js';
import { refusedChange } from '../calls/refusal.js';
import type { Client } from '../mcp/client.js';
import { maximumValues, readMessage } from '../mcp/messages.js';
import { serviceTools } from '../mcp/server-tools.js';
import type { Metrics } from '../observe/metrics.js';
import { createServer, type ServerDependencies } from '../server.js';
import type { Log } from '../util/log.js';
import { countValues, lazy, parseJson } from '../util/objects.js';
import { createTurns } from '../util/queue.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import { type Authenticate, authenticateRequest, checkScope, type ProtectedResource } from './auth.js';
import { checkIsJson, createBodyReader, HttpError } from './http-helpers.js';
import { type createConcurrencyLimiter, createLimitedLog, createRateLimiter, type HttpLimits } from './limits.js';
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

/** Serves requests to `/mcp`. Checks the token first, because limits are per caller. */
export function createMcpEndpoint(
  options: McpEndpointOptions,
  report: Watch,
  concurrency: ReturnType<typeof createConcurrencyLimiter>,
) {
  const { authenticate, resource, limits, log, now, server: serverOptions } = options;
  const { operations } = serverOptions;
  const onFailedLogin = createLimitedLog(now, log, 'login failed');
  const secondsUntilAllowed = createRateLimiter(options.rate, now);
  const readBody = createBodyReader(limits.bodyBytes, limits.bodiesBytes);
  const takeTurn = createTurns();

  const serveCall = async (
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
    principal: Principal | undefined,
  ): Promise<void> => {
    const session = createMcpSession(options.stateKeys, principal?.name);
    const sessionClient = session.find(request.headers['mcp-session-id']?.toString());

    const place = await concurrency.take();
    const running: Promise<unknown>[] = [];
    const calls = watchCalls(serverOptions, (tool, ended) => {
      report(tool, ended);
      running.push(ended.catch(() => undefined));
    });
    const ofRequest = {
      ...serverOptions,
      ...calls,
      principal,
      sessionClient,
      wait: place.waitOutside,
      // Short, because lists depend on scopes, which the next token may lack.
      listLifeMs: 5 * 60_000,
      // Without 2025-03-26, whose clients may send batches, because limits count messages.
      protocolVersions: SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version !== '2025-03-26'),
    };

    try {
      // If the client has gone, `serveMessage` would wait forever for a close event.
      const isGone = () => response.destroyed || request.socket.destroyed;
      if (isGone()) return;
      // Parsing a large body blocks the event loop for milliseconds.
      const message = body.length > 16 * 1024 ? await takeTurn(() => parseMessage(body)) : parseMessage(body);
      if (isGone()) return;
      if (principal !== undefined) checkScope(message, principal, [...operations, ...serviceTools], resource);
      const createSdkServer = () => createServer(ofRequest);
      await serveMessage(createSdkServer, message, request, response, { log, beginSession: session.begin });
    } finally {
      // A change that was sent keeps its place until it ends.
      await Promise.all(running);
      place.leave();
    }
  };

  /** @throws HttpError */
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const principal = authenticate && (await authenticateRequest(request, authenticate, resource, onFailedLogin));
    let uncount = () => {};
    try {
      if (request.method !== 'POST') throw new HttpError(405, 'method', 'Only POST is served here.', { allow: 'POST' });
      const retryAfterSeconds = secondsUntilAllowed(principal?.name);
      if (retryAfterSeconds > 0)
        throw new HttpError(429, 'rate', 'Too many requests.', { 'retry-after': String(retryAfterSeconds) });
      checkIsJson(request);
      uncount = concurrency.count(principal?.name);
      await serveCall(request, response, await readBody(request), principal);
    } catch (error) {
      if (error instanceof HttpError) error.caller = principal?.name;
      throw error;
    } finally {
      uncount();
    }
  };
}

type Calls = Pick<ServerDependencies, 'call' | 'changes'>;

/** The outcome is undefined if an earlier decision stands. */
type Watch = (tool: string, ended: Promise<CallOutcome | undefined>) => void;

/** Passes each call, click and confirmation to `watch` when it begins. */
export function watchCalls({ call, changes }: Calls, watch: Watch): Calls {
  const watched = <Result extends Promise<CallOutcome>>(tool: string, outcome: Result): Result => {
    watch(tool, outcome);
    return outcome;
  };
  return {
    call: (operation, ...given) => watched(operation.name, call(operation, ...given)),
    changes: {
      ...changes,
      confirm: (...given) => watched('confirm_change', changes.confirm(...given)),
      click: (change, ...given) => {
        const decided = changes.click(change, ...given);
        const outcome = decided.then((result) => {
          if (result.kind === 'refused') return refusedChange(change.tool, result);
          return result.kind === 'decided' ? result.outcome : undefined;
        });
        watch(change.tool, outcome);
        return decided;
      },
    },
  };
}

/** Reports calls to the metrics, and checks the journal after its failures. */
export const createReport =
  (metrics: Metrics, { now, checkJournal }: Pick<McpEndpointOptions, 'now' | 'checkJournal'>): Watch =>
  (tool, ended) => {
    const startedAt = now().getTime();
    const count = (outcome?: CallOutcome) => metrics.called(tool, outcome, now().getTime() - startedAt);
    void ended.then(
      (outcome) => {
        if (outcome === undefined) return;
        count(outcome);
        const isOfJournal =
          outcome.kind === 'failed' && ['JournalUnavailable', 'StateUnavailable'].includes(outcome.failure.code);
        if (isOfJournal) checkJournal?.();
      },
      () => count(),
    );
  };

const clientSchema = lazy(() =>
  z.object({ name: z.string(), form: z.boolean(), url: z.boolean(), views: z.boolean() }),
);

/**
 * Issues session IDs: clients, sealed for their caller. IDs never expire, because clients keep a refused ID
 * (https://github.com/modelcontextprotocol/typescript-sdk/issues/1708). All callers that are not authenticated are one.
 */
function createMcpSession(stateKeys: SealingKeys, caller = '') {
  const { seal, open } = createSeal(stateKeys, {
    purpose: 'cloudops session',
    associatedData: caller,
    longest: 2048,
  });
  return {
    begin: (client: Client): string => seal(JSON.stringify(client)),
    /** Undefined if the ID was issued to another caller or with another key. */
    find(sealedId: string | undefined): Client | undefined {
      const text = sealedId === undefined ? undefined : open(sealedId);
      return text === undefined ? undefined : clientSchema().safeParse(JSON.parse(text)).data;
    },
  };
}

/** Parses a body with one message. Values are counted first, because each costs memory. @throws HttpError */
function parseMessage(body: Buffer): object {
  const text = body.toString('utf8');
  if (countValues(text, maximumValues) > maximumValues)
    throw new HttpError(413, 'values', `A message has ${maximumValues} values at most.`);
  const value = parseJson(text);
  if (value === undefined) throw new HttpError(400, 'json', 'The body is not JSON.');
  if (Array.isArray(value)) throw new HttpError(400, 'batch', 'Batches are not served: send one message.');
  const read = readMessage(value);
  if (read.kind === 'read') return read.message;
  throw new HttpError(400, 'json', read.answer.error.message, {}, read.answer);
}
