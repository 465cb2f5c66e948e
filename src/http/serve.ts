import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createMetrics, metricsServer } from '../observe/metrics.js';
import type { ServerDependencies } from '../server.js';
import type { Log } from '../util/log.js';
import { createRequestLimiter, limitConnections } from './addresses.js';
import { type Authenticate, isMetadataPath, type ProtectedResource, resourceMetadata } from './auth.js';
import { createConcurrencyLimiter, type HttpLimits } from './limits.js';
import { createMcpEndpoint } from './mcp-endpoint.js';
import { type Address, checkHostAndOrigin, close, HttpError, listen, sendJson, unavailable } from './server.js';

export interface HttpOptions {
  readonly listen: Address;
  /** Where to answer `GET /metrics`; nowhere if undefined. */
  readonly metricsAt: Address | undefined;
  /** Host names without port by which clients may reach the server, and from whose pages browsers may. */
  readonly hosts: readonly string[];
  /** Absent only where callers are not authenticated: everybody who reaches the server is served. */
  readonly authenticate?: Authenticate | undefined;
  readonly resource?: ProtectedResource | undefined;
  readonly limits: HttpLimits;
  /** Calls a second for each caller. */
  readonly rate: number;
  /** The longest that a call takes, in milliseconds. */
  readonly timeoutMs: number;
  readonly server: ServerDependencies;
  readonly log: Log;
  readonly now: () => Date;
}

/** Time for the last answers to leave. */
const flushMs = 1000;

/**
 * Serves MCP at `/mcp`, with nothing kept between requests, and `/healthz` and `/readyz` beside it.
 * @throws NodeJS.ErrnoException if an address cannot be listened on
 */
export async function serveHttp(options: HttpOptions) {
  const { limits, resource, log, timeoutMs } = options;
  const concurrency = createConcurrencyLimiter(limits);
  const metrics = createMetrics(() => concurrency.running);
  const serveMcp = createMcpEndpoint(options, metrics, concurrency);
  const enter = createRequestLimiter(limits);
  const running = new Set<Promise<void>>();
  let stopping = false;

  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [path = ''] = (request.url ?? '').split('?');
    const reads = request.method === 'GET';
    if (reads && path === '/healthz') return sendJson(response, 200, { status: 'alive' });
    if (reads && path === '/readyz')
      return sendJson(response, stopping ? 503 : 200, { status: stopping ? 'stopping' : 'ready' });
    checkHostAndOrigin(request, options.hosts);
    if (reads && resource !== undefined && isMetadataPath(path))
      return sendJson(response, 200, resourceMetadata(resource));
    if (path !== '/mcp') throw new HttpError(404, 'path', 'MCP is served at /mcp.');
    if (stopping) throw unavailable('stopping', 'This server is stopping.', 1);
    const leave = enter(request);
    await serveMcp(request, response).finally(leave);
  };

  const fail = (request: IncomingMessage, response: ServerResponse, error: unknown): void => {
    if (error instanceof HttpError) {
      metrics.refused(error.reason);
      log('debug', 'refused', { reason: error.reason, status: error.status });
      // The rest of the body is read and dropped, until the request's time is up.
      request.resume();
      // As JSON-RPC has it; no request is named, because none was read.
      const body = { jsonrpc: '2.0', error: { code: -32000, message: error.message }, id: null };
      sendJson(response, error.status, body, error.headers);
      return;
    }
    // Without its message, which may quote anything. A lost connection is no error of ours.
    if (!request.socket.destroyed)
      log('error', 'http', { error: error instanceof Error ? error.name : 'not an error' });
    response.destroy();
  };

  const server = createHttpServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(limits.headersMs, 1000),
    },
    (request, response) => {
      const served = route(request, response).catch((error: unknown) => fail(request, response, error));
      running.add(served);
      void served.finally(() => running.delete(served));
    },
  );
  server.maxConnections = limits.connections;
  // A client that takes no data for longer than any call lasts is gone.
  server.timeout = timeoutMs + 60_000;
  // Each request of a connection waits for its end.
  server.on('connection', (socket) => socket.setMaxListeners(0));
  const refuseConnection = () => metrics.refused('connections');
  server.on('drop', refuseConnection);
  limitConnections(server, limits, refuseConnection);
  const forMetrics = metricsServer(metrics, options.hosts, limits);
  const closeAll = () => Promise.all([server, forMetrics].map((each) => close(each, flushMs)));
  try {
    return {
      metricsPort: options.metricsAt && (await listen(forMetrics, options.metricsAt)),
      port: await listen(server, options.listen),
      /** Refuses new requests, waits for so long until running calls have ended, then closes everything. */
      stop: async (graceMs: number): Promise<void> => {
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
