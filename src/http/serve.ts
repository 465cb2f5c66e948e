import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createMetrics, type Metrics, type ProcessState } from '../observe/metrics.js';
import { errorName, type Log } from '../util/log.js';
import type { SafeText } from '../util/safe-text.js';
import { isMetadataPath, resourceMetadata } from './auth.js';
import { createDecisions, type DecisionsOptions, isDecisionsPath } from './decisions.js';
import {
  type Address,
  checkHostAndOrigin,
  checkMetricsHost,
  close,
  HttpError,
  listen,
  sendJson,
  unavailable,
} from './http-helpers.js';
import { createConcurrencyLimiter, type HttpLimits } from './limits.js';
import { createRequestLimiter, limitConnections } from './limits-by-address.js';
import { createMcpEndpoint, type McpEndpointOptions } from './mcp-endpoint.js';

export interface HttpOptions extends McpEndpointOptions {
  readonly listen: Address;
  /** The address for `GET /metrics`, and for probes without limits by address. Undefined if there is none. */
  readonly metricsAt: Address | undefined;
  /** Host names without port. Clients reach the server by these names, and browsers may call it from pages of these hosts. */
  readonly hosts: readonly string[];
  /** The page on which people decide on changes. Undefined if there is none. */
  readonly decisions?: DecisionsOptions | undefined;
  /** Time limit for a call, in milliseconds. */
  readonly timeoutMs: number;
  /** True if the journal allows this server to take requests. */
  readonly isReady: () => boolean;
  /** Problem and warnings of the journal, which `/readyz` shows. */
  readonly journalNotes?: () => readonly SafeText[];
  /** The state of the process for the metrics. */
  readonly state: Omit<ProcessState, 'concurrentCalls'>;
}

/** Time limit for answers that clients have not read when the server closes, in milliseconds. */
const flushMs = 1000;

/**
 * Serves MCP at `/mcp`, the page for decisions, and the probes `/healthz` and `/readyz`.
 * @throws NodeJS.ErrnoException if an address cannot be listened on
 */
export async function serveHttp(options: HttpOptions) {
  const { limits, log, hosts } = options;
  const concurrency = createConcurrencyLimiter(limits);
  const metrics = metricsOf(options, () => concurrency.running);
  let isStopping = false;
  const readiness = () => {
    if (isStopping) return 'stopping';
    return options.isReady() ? 'ready' : 'waiting for the journal';
  };
  const handleProbe = createProbeHandler(readiness, options.journalNotes ?? (() => []));
  const serveMcp = createMcpEndpoint(options, metrics, concurrency);
  const route = createRouter(options, serveMcp, handleProbe, () => isStopping);
  const answerError = createErrorAnswer(metrics, log);
  const runningRequests = new Set<Promise<void>>();
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const served = route(request, response).catch((error: unknown) => answerError(request, response, error));
    runningRequests.add(served);
    void served.finally(() => runningRequests.delete(served));
  };
  const server = createMainServer(options, onRequest, () => metrics.refused('connections'));
  const metricsServer = createMetricsServer(metrics, handleProbe, hosts, limits);
  const closeAll = () => Promise.all([close(server, flushMs), close(metricsServer, flushMs)]);
  try {
    return {
      metricsPort: options.metricsAt && (await listen(metricsServer, options.metricsAt)),
      port: await listen(server, options.listen),
      /** Refuses new requests, waits at most `graceMs` for running calls, then closes everything. */
      stop: async (graceMs: number): Promise<void> => {
        isStopping = true;
        await Promise.race([Promise.allSettled(runningRequests), delay(graceMs, undefined, { ref: false })]);
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function metricsOf({ state, server: { accounts, operations } }: HttpOptions, concurrentCalls: () => number): Metrics {
  const accountNames = accounts.areNamed ? accounts.all.map(({ name }) => name) : [];
  const changes = operations.filter(({ effect }) => effect !== 'read').map(({ name }) => name);
  return createMetrics({ ...state, concurrentCalls }, accountNames, changes);
}

/** Node's server with its limits on time and connections. It does not listen yet. */
function createMainServer(
  { limits, timeoutMs }: HttpOptions,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
  onRefusedConnection: () => void,
): Server {
  const timeLimits = {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(limits.headersMs, 1000),
  };
  const server = createServer(timeLimits, onRequest);
  server.maxConnections = limits.connections;
  // A client that reads nothing for longer than any call takes is gone.
  server.timeout = timeoutMs + 60_000;
  // Each request of a connection adds a listener for its end.
  server.on('connection', (socket) => socket.setMaxListeners(0));
  server.on('drop', onRefusedConnection);
  limitConnections(server, limits, onRefusedConnection);
  return server;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Routes requests by path. @throws HttpError if the request is refused */
function createRouter(
  { hosts, resource, limits, decisions }: HttpOptions,
  serveMcp: Handler,
  handleProbe: ProbeHandler,
  isStopping: () => boolean,
): Handler {
  const enter = createRequestLimiter(limits);
  const serveDecisions = decisions && createDecisions(decisions);
  const handlerOf = (path: string) => {
    if (path === '/mcp') return serveMcp;
    return isDecisionsPath(path) ? serveDecisions : undefined;
  };
  return async (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const isGet = request.method === 'GET';
    if (handleProbe(request, response)) return;
    checkHostAndOrigin(request, hosts);
    if (isGet && resource !== undefined && isMetadataPath(path))
      return sendJson(response, 200, resourceMetadata(resource));
    const serve = handlerOf(path);
    if (serve === undefined) throw new HttpError(404, 'path', 'MCP is served at /mcp.');
    if (isStopping()) throw unavailable('stopping', 'This server is stopping.', 1);
    const leave = enter(request);
    await serve(request, response).finally(leave);
  };
}

/** Answers a request that failed, and reports it to the metrics or the log. */
const createErrorAnswer =
  (metrics: Metrics, log: Log) =>
  (request: IncomingMessage, response: ServerResponse, error: unknown): void => {
    if (error instanceof HttpError) {
      metrics.refused(error.reason);
      log('debug', 'refused', { reason: error.reason, status: error.status });
      refuse(request, response, error);
      return;
    }
    const isConnectionLost = request.socket.destroyed;
    // The message is left out, because it may quote anything.
    if (!isConnectionLost) log('error', 'http', { error: errorName(error) });
    if (response.headersSent || isConnectionLost) response.destroy();
    else refuse(request, response, new HttpError(500, 'error', 'This server made a mistake.'));
  };

function refuse(request: IncomingMessage, response: ServerResponse, { status, message, headers }: HttpError): void {
  // Reads and drops the rest of the body, until the time limit of the request.
  request.resume();
  // An error of JSON-RPC. The ID is null, because no message was read.
  sendJson(response, status, { jsonrpc: '2.0', error: { code: -32000, message }, id: null }, headers);
}

/** The state of the server for its orchestrator. Without a journal, the server accepts no calls yet. */
type Readiness = 'ready' | 'waiting for the journal' | 'stopping';

/** Answers a probe. Returns false for any other request. */
type ProbeHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Answers `GET /healthz`, always with 200, and `GET /readyz`, with the notes about the journal. */
const createProbeHandler =
  (readiness: () => Readiness, journalNotes: () => readonly SafeText[]): ProbeHandler =>
  ({ method, url = '' }, response) => {
    const [path] = url.split('?');
    if (method !== 'GET' || (path !== '/healthz' && path !== '/readyz')) return false;
    if (path === '/healthz') sendJson(response, 200, { status: 'alive' });
    else {
      const status = readiness();
      const journal = journalNotes().map(({ text }) => text);
      sendJson(response, status === 'ready' ? 200 : 503, { status, ...(journal.length > 0 && { journal }) });
    }
    return true;
  };

/** A server for probes and `GET /metrics` only. It does not listen yet. */
function createMetricsServer(
  metrics: Metrics,
  handleProbe: ProbeHandler,
  hosts: readonly string[],
  { headersMs, metricsConnections }: HttpLimits,
): Server {
  const timeLimits = {
    headersTimeout: headersMs,
    requestTimeout: headersMs,
    connectionsCheckingInterval: Math.min(headersMs, 1000),
  };
  const server = createServer(timeLimits, (request, response) => {
    const answer = async () => {
      if (handleProbe(request, response)) return;
      checkMetricsHost(request, hosts);
      if (request.method !== 'GET' || request.url !== '/metrics')
        throw new HttpError(404, 'path', 'Metrics are at /metrics.');
      const text = await metrics.text();
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
    };
    answer().catch((error: unknown) => response.writeHead(error instanceof HttpError ? error.status : 500).end());
  });
  server.maxConnections = metricsConnections;
  // Also ends the connection of a client that reads nothing.
  server.timeout = headersMs;
  return server;
}
