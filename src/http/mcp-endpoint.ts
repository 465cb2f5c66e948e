import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import type { CallTool } from '../calls/context.js';
import type { Principal } from '../calls/policy.js';
import type { Metrics } from '../observe/metrics.js';
import { createServer, makeTools, type ServerDependencies } from '../server.js';
import type { Log } from '../util/log.js';
import { createFailedLogins } from './addresses.js';
import { type Authenticate, authenticateRequest, checkScope, type ProtectedResource } from './auth.js';
import { type ConcurrencyLimiter, createRateLimiter, type HttpLimits } from './limits.js';
import { createBodyReader, HttpError } from './server.js';
import { serveMessage } from './transport.js';

export interface McpEndpointOptions {
  /** Absent only where callers are not authenticated: everybody who reaches the server is served. */
  readonly authenticate?: Authenticate | undefined;
  readonly resource?: ProtectedResource | undefined;
  readonly limits: HttpLimits;
  /** Calls a second for each caller. */
  readonly rate: number;
  readonly server: ServerDependencies;
  readonly log: Log;
  readonly now: () => Date;
}

/**
 * Serves requests to `/mcp`, with nothing kept after each. Checks from cheap to expensive: token, method, rate, type, calls of
 * the caller, size, calls of all, JSON, scope; then the SDK answers.
 */
export function createMcpEndpoint(options: McpEndpointOptions, metrics: Metrics, concurrency: ConcurrencyLimiter) {
  const { authenticate, resource, server, log, now } = options;
  const tools = makeTools(server.operations);
  const readBody = createBodyReader(options.limits.bodyBytes, options.limits.bodiesBytes);
  const onFailedLogin = createFailedLogins(now, log);
  const checkRate = createRateLimiter(options.rate, now);

  const receive = async (request: IncomingMessage, response: ServerResponse, principal: Principal | undefined) => {
    const body = await readBody(request);
    const release = await concurrency.acquire();
    const running: Promise<unknown>[] = [];
    try {
      // The client may have gone while its request waited.
      if (response.destroyed || request.socket.destroyed) return;
      const message = parseMessage(body);
      if (principal !== undefined) checkScope(message, principal, server.operations, resource);
      const call = observed(server.call, metrics, now, running);
      await serveMessage(() => createServer({ ...server, principal, call }, tools), message, request, response, log);
    } finally {
      // A change outlives its client, and keeps its place until it ends.
      await Promise.allSettled(running);
      release();
    }
  };

  /** @throws HttpError if the request is not served */
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const principal = authenticate && (await authenticateRequest(request, authenticate, resource, onFailedLogin));
    if (request.method !== 'POST') throw new HttpError(405, 'method', 'Only POST is served here.', { allow: 'POST' });
    const seconds = checkRate(principal?.name ?? '');
    if (seconds > 0) throw new HttpError(429, 'rate', 'Too many requests.', { 'retry-after': String(seconds) });
    if (!isJsonContentType(request.headers['content-type'] ?? null))
      throw new HttpError(415, 'content type', 'The content type must be application/json.');
    const leave = concurrency.enter(principal?.name);
    await receive(request, response, principal).finally(leave);
  };
}

/** The one message of a body: batches exist only in a protocol version that is not supported. */
function parseMessage(body: Buffer): unknown {
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
