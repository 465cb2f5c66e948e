import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  isJsonContentType,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Caller } from '../calls/call-tool.js';
import { type Principal, readScope, scopeOf, writeScope } from '../calls/principal.js';
import { createServer, makeOffer, type Offer, type ServerDependencies } from '../server.js';
import type { Log } from '../util/log.js';
import type { Authenticate } from './auth.js';
import { createBodyReader, createGate, createRateLimiter, type HttpLimits } from './limits.js';
import { createMetrics, metricsServer } from './metrics.js';

export interface HttpOptions {
  readonly listen: Address;
  /** Where to answer `GET /metrics`; nowhere if undefined. */
  readonly metricsAt: Address | undefined;
  /** Host names without port by which clients may reach the server, and from whose pages browsers may. */
  readonly hosts: readonly string[];
  /** Absent only where whoever reaches the server may enter. */
  readonly authenticate?: Authenticate | undefined;
  /** The URL that tokens of an OAuth issuer are for, and the issuer. */
  readonly resource?: { readonly url: string; readonly issuer: string } | undefined;
  readonly limits: HttpLimits;
  /** Calls a second for each caller. */
  readonly rate: number;
  /** The longest that a call takes, in milliseconds. */
  readonly timeoutMs: number;
  readonly server: ServerDependencies;
  readonly log: Log;
  readonly now: () => Date;
}

/** Host and port; port 0 takes any that is free. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface HttpHandle {
  readonly port: number;
  readonly metricsPort: number | undefined;
  /** Refuses what comes from now on, lets calls that run end for so long, then closes everything. */
  stop(graceMs: number): Promise<void>;
}

/** Why a request is not served. The reason is a label of the metrics. */
class Refused extends Error {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, reason: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.headers = headers;
  }
}

const metadataPath = '/.well-known/oauth-protected-resource';

/**
 * Serves MCP at `/mcp`, with nothing kept between requests, and `/healthz` and `/readyz` beside it.
 * @throws NodeJS.ErrnoException if an address cannot be listened on
 */
export async function serveHttp(options: HttpOptions): Promise<HttpHandle> {
  const { limits, resource, log, timeoutMs } = options;
  const gate = createGate(limits);
  const metrics = createMetrics(() => gate.size);
  const context = {
    ...options,
    gate,
    metrics,
    offer: makeOffer(options.server.operations),
    readBody: createBodyReader(limits),
    waitFor: createRateLimiter(options.rate, options.now),
  };
  const running = new Set<Promise<void>>();
  let stopping = false;

  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '').split('?')[0];
    const reads = request.method === 'GET';
    if (reads && path === '/healthz') return sendJson(response, 200, { status: 'alive' });
    if (reads && path === '/readyz')
      return sendJson(response, stopping ? 503 : 200, { status: stopping ? 'stopping' : 'ready' });
    checkOrigin(request, options.hosts);
    if (reads && resource !== undefined && (path === metadataPath || path === `${metadataPath}/mcp`))
      return sendJson(response, 200, {
        resource: resource.url,
        authorization_servers: [resource.issuer],
        scopes_supported: [readScope, writeScope],
        bearer_methods_supported: ['header'],
        resource_name: 'cloudops-mcp',
      });
    if (path !== '/mcp') throw new Refused(404, 'path', 'MCP is served at /mcp.');
    if (stopping) throw new Refused(503, 'stopping', 'This server is stopping.', { 'retry-after': '1' });
    await serveMcp(request, response, context);
  };

  const server = createHttpServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(limits.headersMs, 1000),
    },
    (request, response) => {
      const served = route(request, response).catch((error: unknown) => {
        if (!(error instanceof Refused)) {
          // Without its message, which may quote anything. A client that went away has no error to be told.
          if (!request.socket.destroyed)
            log('error', 'http', { error: error instanceof Error ? error.name : 'not an error' });
          response.destroy();
          return;
        }
        metrics.refused(error.reason);
        log('debug', 'refused', { reason: error.reason, status: error.status });
        // What is left of a body is read and forgotten, until the request's time is up.
        request.resume();
        for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
        sendJson(response, error.status, { jsonrpc: '2.0', error: { code: -32000, message: error.message }, id: null });
      });
      running.add(served);
      void served.finally(() => running.delete(served));
    },
  );
  server.maxConnections = limits.connections;
  // A client that takes no data for longer than any call lasts is gone.
  server.timeout = timeoutMs + 60_000;
  server.on('drop', () => metrics.refused('connections'));
  const forMetrics = metricsServer(metrics);
  const closeAll = () => Promise.all([server, forMetrics].map(close));
  try {
    return {
      metricsPort: options.metricsAt && (await listen(forMetrics, options.metricsAt)),
      port: await listen(server, options.listen),
      stop: async (graceMs) => {
        stopping = true;
        await Promise.race([Promise.allSettled(running), delay(graceMs, undefined, { ref: false })]);
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

interface Context extends HttpOptions {
  readonly gate: ReturnType<typeof createGate>;
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly offer: Offer;
  readonly readBody: ReturnType<typeof createBodyReader>;
  readonly waitFor: ReturnType<typeof createRateLimiter>;
}

/** One request to `/mcp`: who it is from, whether there is room for it, what it says, and then the SDK's answer. */
async function serveMcp(request: IncomingMessage, response: ServerResponse, context: Context): Promise<void> {
  const { gate, server, offer, limits, waitFor, readBody } = context;
  const principal = await admit(request, context);
  if (request.method !== 'POST') throw new Refused(405, 'method', 'Only POST is served here.', { allow: 'POST' });
  const wait = waitFor(principal?.name ?? '');
  if (wait > 0) throw new Refused(429, 'rate', 'Too many requests.', { 'retry-after': String(wait) });
  if (!isJsonContentType(request.headers['content-type'] ?? null))
    throw new Refused(415, 'content type', 'The content type must be application/json.');
  const body = await readBody(request);
  if (body === 'too large') throw new Refused(413, 'body', `A request has ${limits.bodyBytes} bytes at most.`);
  const leave = body === 'too many' ? undefined : await gate.enter(principal?.name);
  if (body === 'too many' || leave === undefined)
    throw new Refused(503, 'busy', 'Too many calls are running.', { 'retry-after': '1' });
  // Nobody waits any more: nothing is begun for them.
  if (response.destroyed || request.socket.destroyed) return leave();

  const running: Promise<unknown>[] = [];
  try {
    const message = parse(body);
    checkScope(message, principal, context);
    const call = observed(server.call, context, running);
    const handler = createMcpHandler(() => createServer({ ...server, principal, call }, offer), {
      // Nothing ever changes that a client could wait for.
      maxSubscriptions: 0,
      onerror: ({ name }) => context.log('debug', 'http', { error: name }),
    });
    await toNodeHandler(handler)(Object.assign(request, { method: 'POST', url: '/mcp' }), response, message);
  } finally {
    // A change goes on without its client, and has its place until it ends.
    await Promise.allSettled(running);
    leave();
  }
}

/** A browser must not be talked into reaching a server that its user can reach (DNS rebinding). */
function checkOrigin({ headers }: IncomingMessage, hosts: readonly string[]): void {
  if (!validateHostHeader(headers.host, [...hosts]).ok)
    throw new Refused(403, 'host', 'The Host header names a host that is not allowed here.');
  if (!validateOriginHeader(headers.origin, [...hosts]).ok)
    throw new Refused(403, 'origin', 'The Origin header names a site that is not allowed here.');
}

/** Who the request is from; undefined where nobody is asked. */
async function admit(request: IncomingMessage, context: Context): Promise<Principal | undefined> {
  const { authenticate } = context;
  if (authenticate === undefined) return undefined;
  const [, token] = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (token === undefined) throw challenge(context, 401, 'token', 'A bearer token is needed.');
  const principal = await authenticate(token);
  if (principal === 'unavailable')
    throw new Refused(503, 'issuer', 'The token cannot be verified now.', { 'retry-after': '5' });
  if (principal === 'invalid')
    throw challenge(context, 401, 'token', 'The token is not valid here.', { error: 'invalid_token' });
  if (!principal.scopes.some((scope) => scope === readScope || scope === writeScope))
    throw challenge(context, 403, 'scope', 'The token has no scope of this server.', insufficient(readScope));
  return principal;
}

const toolCall = z.object({ method: z.literal('tools/call'), params: z.object({ name: z.string() }) });

/** A tool that the caller's scopes leave out is not listed. Who calls it all the same is told which scope is missing. */
function checkScope(message: unknown, principal: Principal | undefined, context: Context): void {
  const { data } = toolCall.safeParse(message);
  const operation = context.server.operations.find(({ name }) => name === data?.params.name);
  if (operation === undefined || principal === undefined || principal.scopes.includes(scopeOf(operation))) return;
  const scope = scopeOf(operation);
  throw challenge(context, 403, 'scope', `${operation.name} needs the scope ${scope}.`, insufficient(scope));
}

const insufficient = (scope: string) => ({ error: 'insufficient_scope', scope });

/** A refusal that tells the client how to do better (RFC 6750, section 3; RFC 9728, section 5.1). */
function challenge(
  { resource }: Context,
  status: number,
  reason: string,
  message: string,
  fields: Readonly<Record<string, string>> = {},
): Refused {
  const metadata = resource && { resource_metadata: `${new URL(resource.url).origin}${metadataPath}/mcp` };
  const given = Object.entries({ ...fields, ...(fields.error && { error_description: message }), ...metadata });
  const header = `Bearer ${given.map(([name, value]) => `${name}="${value}"`).join(', ')}`.trim();
  return new Refused(status, reason, message, { 'www-authenticate': header });
}

/** The one message of a body: batches are of a protocol version that nobody speaks any more. */
function parse(body: Buffer): unknown {
  let message: unknown;
  try {
    message = JSON.parse(body.toString('utf8'));
  } catch {
    throw new Refused(400, 'json', 'The body is not JSON.');
  }
  if (Array.isArray(message)) throw new Refused(400, 'batch', 'Batches are not served: send one message.');
  if (typeof message !== 'object' || message === null) throw new Refused(400, 'json', 'The body is not a message.');
  return message;
}

/** Counts calls, and keeps those that run. */
const observed =
  (call: Caller, { metrics, now }: Context, running: Promise<unknown>[]): Caller =>
  async (operation, args, options) => {
    const start = now().getTime();
    const called = call(operation, args, options);
    running.push(called);
    const result = await called.catch(() => undefined);
    metrics.called(operation.name, result, now().getTime() - start);
    return called;
  };

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

const listen = (server: Server, { host, port }: Address): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });

/** Time for the last answers to leave. */
const flushMs = 1000;

const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), flushMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
  });
