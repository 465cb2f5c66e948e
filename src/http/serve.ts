import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { errorAnswer } from '../mcp/messages.js';
import { createMetrics, type ProcessState } from '../observe/metrics.js';
import { errorName } from '../util/log.js';
import { isMetadataPath, resourceMetadata } from './auth.js';
import { createDecisions, type DecisionsOptions } from './decisions.js';
import {
  type Address,
  busy,
  checkHostAndOrigin,
  checkMetricsHost,
  close,
  HttpError,
  listen,
  sendJson,
  unavailable,
} from './http-helpers.js';
import { createConcurrencyLimiter, createCounter, createLimitedLog } from './limits.js';
import { createMcpEndpoint, createReport, type McpEndpointOptions, watchCalls } from './mcp-endpoint.js';
import type { SignIn } from './sign-in.js';

export interface HttpOptions extends McpEndpointOptions {
  readonly listen: Address;
  /** For `GET /metrics` and for probes. */
  readonly metricsAt: Address | undefined;
  /** The host names (without port) of this server, whose pages may also call it. */
  readonly hosts: readonly string[];
  readonly decisions?:
    | (Pick<DecisionsOptions, 'publicUrl' | 'store' | 'callerOf' | 'log' | 'isSandbox' | 'language'> & {
        readonly signIn: SignIn;
      })
    | undefined;
  readonly timeoutMs: number;
  readonly missingPart: () => NeededPart | undefined;
  readonly state: Omit<ProcessState, 'concurrentCalls'>;
}

export type NeededPart = 'the journal' | 'the keys of the issuer' | 'the tokens file';

/** Serves MCP at `/mcp`, the pages for decisions, the probes and the metrics. @throws NodeJS.ErrnoException */
export async function serveHttp(options: HttpOptions) {
  const { limits, log, hosts, stateKeys, now, resource } = options;
  const { accounts, operations } = options.server;
  const concurrency = createConcurrencyLimiter(limits);
  const accountNames = accounts.areNamed ? accounts.all.map(({ name }) => name) : [];
  const namesOfChanges = operations.filter(({ effect }) => effect !== 'read').map(({ name }) => name);
  const metrics = createMetrics(
    { ...options.state, concurrentCalls: concurrency.running },
    accountNames,
    namesOfChanges,
  );
  const logTooMany = createLimitedLog(now, log, 'refused');
  const noteRefusal = (request: IncomingMessage, { reason, status, caller }: HttpError): void => {
    metrics.refused(reason);
    if (reason === 'rate' || reason === 'busy') logTooMany(request, reason, { status, caller });
    else log('debug', 'refused', { reason, status });
  };
  const report = createReport(metrics, options);
  const serveMcp = createMcpEndpoint(options, report, concurrency);
  const { changes } = watchCalls(options.server, report);
  const serveDecisions =
    options.decisions &&
    createDecisions({
      ...options.decisions,
      signIn: { way: options.decisions.signIn, stateKeys },
      changes,
      accounts,
      operations,
      now,
      noteRefusal,
    });
  let isStopping = false;

  /** Answers liveness and readiness probes. Returns false for any other request. */
  const answersProbe = (request: IncomingMessage, response: ServerResponse): boolean => {
    const [path] = (request.url ?? '').split('?');
    if (!isGet(request) || (path !== '/healthz' && path !== '/readyz')) return false;
    const missingPart = options.missingPart();
    const unready = isStopping ? 'stopping' : missingPart && `waiting for ${missingPart}`;
    if (path === '/healthz') sendJson(response, 200, { status: 'alive' });
    else sendJson(response, unready === undefined ? 200 : 503, { status: unready ?? 'ready' });
    return true;
  };

  // The paths of the public addresses. A proxy may pass its path on, or take it off.
  const abovePaths = [options.decisions?.publicUrl, resource?.url.replace(/\/mcp\/*$/, '')]
    .map((url = 'http://none') => new URL(url).pathname.replace(/\/+$/, ''))
    .filter((path) => path !== '');
  const handlers = [
    // People and some clients end an address with a slash.
    [/^\/mcp\/?$/, serveMcp],
    [/^\/decisions(\/|$)/, serveDecisions],
  ] as const;
  // A client can send any number of requests on one connection.
  const enter = createCounter(limits.requests);
  const route: Handler = async (request, response) => {
    const { path, query } = readTarget(request.url ?? '', abovePaths);
    request.url = path + query;
    // An orchestrator sends probes to the IP address, and also while this server stops.
    if (answersProbe(request, response)) return;
    checkHostAndOrigin(request, hosts);
    if (isGet(request) && resource !== undefined && isMetadataPath(path))
      return sendJson(response, 200, resourceMetadata(resource));

    const [, serve] = handlers.find(([paths]) => paths.test(path)) ?? [];
    if (serve === undefined) throw new HttpError(404, 'path', 'MCP is served at /mcp.');
    if (isStopping) throw unavailable('stopping', 'This server is stopping.', 1);
    const leave = enter();
    if (leave === undefined) throw busy();
    await serve(request, response).finally(leave);
  };
  const serveMetrics: Handler = async (request, response) => {
    if (answersProbe(request, response)) return;
    checkMetricsHost(request, hosts);
    if (!isGet(request) || request.url !== '/metrics') throw new HttpError(404, 'path', 'Metrics are at /metrics.');
    const text = await metrics.text();
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
  };

  const answerError = (request: IncomingMessage, response: ServerResponse, error: unknown): void => {
    const isConnectionLost = request.socket.destroyed;
    if (error instanceof HttpError) noteRefusal(request, error);
    // The message may quote secrets of the request.
    else if (!isConnectionLost) log('error', 'http', { error: errorName(error) });
    const refusal = error instanceof HttpError ? error : new HttpError(500, 'error', 'This server made a mistake.');
    if (refusal !== error && (response.headersSent || isConnectionLost)) {
      response.destroy();
      return;
    }
    // JSON-RPC leaves this code to servers.
    const { status, message, headers, answer = errorAnswer(null, -32000, message) } = refusal;
    request.resume();
    sendJson(response, status, answer, headers);
  };

  const runningRequests = new Set<Promise<void>>();
  const { headersMs: headersTimeout, keepAliveMs: keepAliveTimeout } = limits;
  /** `idleMs` is for a client that does not read its answer. */
  const startServer = (handle: Handler, connections: number, requestTimeout: number, idleMs: number): Server => {
    const connectionsCheckingInterval = Math.min(headersTimeout, 1000);
    const server = createServer(
      { headersTimeout, requestTimeout, connectionsCheckingInterval, keepAliveTimeout },
      (request, response) => {
        const served = handle(request, response).catch((error: unknown) => answerError(request, response, error));
        runningRequests.add(served);
        void served.finally(() => runningRequests.delete(served));
      },
    );
    server.maxConnections = connections;
    server.timeout = idleMs;
    server.on('connection', (socket) => socket.setMaxListeners(0));
    return server;
  };
  const server = startServer(route, limits.connections, limits.requestMs, options.timeoutMs + 60_000);
  server.on('drop', () => metrics.refused('connections'));
  const metricsServer = startServer(serveMetrics, limits.metricsConnections, headersTimeout, headersTimeout);
  // Clients have a second to read their answers.
  const closeAll = () => Promise.all([server, metricsServer].map((each) => close(each, { graceMs: 1000 })));
  try {
    return {
      metricsPort: options.metricsAt && (await listen(metricsServer, options.metricsAt)),
      port: await listen(server, options.listen),
      /** Waits at most `graceMs` for running calls, then closes everything. */
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

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Splits the path, below a public path and without doubled slashes, from the query. */
function readTarget(target: string, paths: readonly string[]): { readonly path: string; readonly query: string } {
  const [, given = '', query = ''] = /^([^?]*)(.*)$/s.exec(target) ?? [];
  const path = given.replaceAll(/\/{2,}/g, '/');
  const above = paths.find((each) => path.startsWith(`${each}/`)) ?? '';
  return { path: path.slice(above.length), query };
}

/** Node sends no body in answer to HEAD. */
const isGet = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD';
