import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { errorAnswer } from '../mcp/read-message.js';
import { createMetrics, type Metrics, type ProcessState } from '../observe/metrics.js';
import { errorName } from '../util/log.js';
import { type SafeText, words } from '../util/safe-text.js';
import { isMetadataPath, resourceMetadata } from './auth.js';
import { createDecisions, type DecisionsOptions, isDecisionsPath } from './decisions.js';
import {
  type Address,
  busy,
  checkHostAndOrigin,
  checkMetricsHost,
  close,
  HttpError,
  listen,
  type NoteRefusal,
  sendJson,
  unavailable,
} from './http-helpers.js';
import { createLimitedLog } from './limited-log.js';
import { createConcurrencyLimiter, createCounter, createRateLimiter, type HttpLimits } from './limits.js';
import { createMcpEndpoint, type McpEndpointOptions, reportCalls } from './mcp-endpoint.js';

export interface HttpOptions extends McpEndpointOptions {
  readonly listen: Address;
  /** A second address, for `GET /metrics` and for probes, with connections of its own. Undefined if there is none. */
  readonly metricsAt: Address | undefined;
  /** The host names (without port) by which clients reach this server. Pages of these hosts may also call it from a browser. */
  readonly hosts: readonly string[];
  /** The page on which people decide on changes. Undefined if there is none. */
  readonly decisions?: Pick<DecisionsOptions, 'publicUrl' | 'signIn' | 'store' | 'callerOf' | 'log'> | undefined;
  /** Time limit for a call, in milliseconds. */
  readonly timeoutMs: number;
  /** The part without which this server cannot take requests now. Undefined if it can take requests. */
  readonly missingPart: () => NeededPart | undefined;
  /** The problem and the warnings of the journal, which `/readyz` shows. */
  readonly journalNotes?: () => readonly SafeText[];
  /** The state of the process, which the metrics show. */
  readonly state: Omit<ProcessState, 'concurrentCalls'>;
}

/** A part without which a server is not ready. */
export type NeededPart = 'the journal' | 'the keys of the issuer' | 'the tokens file';

/** Time that clients have to read the rest of their answers when this server closes (milliseconds). */
const flushMs = 1000;

/**
 * Serves MCP at `/mcp`, the pages for decisions, the probes `/healthz` and `/readyz`, and the metrics at their own address.
 * @throws NodeJS.ErrnoException if an address cannot be listened on
 */
export async function serveHttp(options: HttpOptions) {
  const { limits, log, hosts, stateKeys, now } = options;
  const { accounts, operations } = options.server;
  const concurrency = createConcurrencyLimiter(limits);
  const accountNames = accounts.areNamed ? accounts.all.map(({ name }) => name) : [];
  const namesOfChanges = operations.filter(({ effect }) => effect !== 'read').map(({ name }) => name);
  const metrics = createMetrics(
    { ...options.state, concurrentCalls: concurrency.running },
    accountNames,
    namesOfChanges,
  );
  let isStopping = false;
  const readiness = (): Readiness => {
    if (isStopping) return 'stopping';
    const missingPart = options.missingPart();
    return missingPart === undefined ? 'ready' : `waiting for ${missingPart}`;
  };

  const handleProbe = createProbeHandler(readiness, options.journalNotes ?? (() => []));
  const serveMcp = createMcpEndpoint(options, metrics, concurrency);
  const noteRefusal = createRefusalNotes(metrics, options);
  // Clicks are reported like the calls of `/mcp`.
  const { changes } = reportCalls(options.server, metrics, options);
  const serveDecisions =
    options.decisions &&
    createDecisions({ ...options.decisions, changes, accounts, operations, stateKeys, now }, noteRefusal);
  const handlerOf = (path: string) => {
    if (path === '/mcp') return serveMcp;
    return isDecisionsPath(path) ? serveDecisions : undefined;
  };
  const route = createRouter(options, handlerOf, handleProbe, () => isStopping);
  /** Answers a failed request. A refusal is noted, and any other error goes to the log. */
  const answerError = (request: IncomingMessage, response: ServerResponse, error: unknown): void => {
    if (error instanceof HttpError) {
      noteRefusal(request, error);
      refuse(request, response, error);
      return;
    }
    const isConnectionLost = request.socket.destroyed;
    // The log has only the name of the error, because its message may quote secrets of the request.
    if (!isConnectionLost) log('error', 'http', { error: errorName(error) });
    if (response.headersSent || isConnectionLost) response.destroy();
    else refuse(request, response, new HttpError(500, 'error', 'This server made a mistake.'));
  };

  const runningRequests = new Set<Promise<void>>();
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const served = route(request, response).catch((error: unknown) => answerError(request, response, error));
    runningRequests.add(served);
    void served.finally(() => runningRequests.delete(served));
  };

  const server = createMainServer(options, onRequest, () => metrics.refused('connections'));
  const metricsServer = createMetricsServer(metrics, handleProbe, hosts, limits);
  const closeAll = () => Promise.all([server, metricsServer].map((each) => close(each, { graceMs: flushMs })));
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

/** Creates Node's server with its limits on time and connections. It does not listen yet. */
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
  // The limit for all clients together. Node closes further connections at once, and emits `drop`.
  server.maxConnections = limits.connections;
  server.on('drop', onRefusedConnection);
  // Closes a connection on which nothing moves for longer than any call takes, because its client must have gone.
  server.timeout = timeoutMs + 60_000;
  // There is no limit on listeners, because each request adds a listener to its connection, and a connection may have many requests.
  server.on('connection', (socket) => socket.setMaxListeners(0));
  return server;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Creates the handler of all requests, which routes them by path. The handler throws HttpError to refuse a request. */
function createRouter(
  { hosts, resource, limits }: HttpOptions,
  handlerOf: (path: string) => Handler | undefined,
  handleProbe: ProbeHandler,
  isStopping: () => boolean,
): Handler {
  // A limit on connections is not enough, because a client can send any number of requests on one without waiting for the answers.
  const enter = createCounter(limits.requests);

  return async (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    // Probes are answered before the checks, because an orchestrator sends them to the IP address, and also while this server stops.
    if (handleProbe(request, response)) return;
    checkHostAndOrigin(request, hosts);
    if (request.method === 'GET' && resource !== undefined && isMetadataPath(path))
      return sendJson(response, 200, resourceMetadata(resource));

    const serve = handlerOf(path);
    if (serve === undefined) throw new HttpError(404, 'path', 'MCP is served at /mcp.');
    if (isStopping()) throw unavailable('stopping', 'This server is stopping.', { retryAfterSeconds: 1 });
    const leave = enter();
    if (leave === undefined) throw busy();
    await serve(request, response).finally(leave);
  };
}

/** Seconds between two warnings of a refused Host header. */
const hostWarningSeconds = 600;

/**
 * Creates the function that counts refusals and logs them at level `debug`. Two kinds are logged as warnings, with limits. The refusal of a Host
 * header may mean a wrong setting that refuses everybody, or only a scanner. After a refusal of too many requests, operators look for the caller.
 */
function createRefusalNotes(metrics: Metrics, { log, now }: Pick<HttpOptions, 'log' | 'now'>): NoteRefusal {
  const secondsUntilWarning = createRateLimiter(1 / hostWarningSeconds, now, { burst: 1 });
  const logTooMany = createLimitedLog(now, log, 'refused');
  return (request, { reason, status, caller }) => {
    metrics.refused(reason);
    if (reason === 'host' && secondsUntilWarning() === 0)
      log('warn', 'refused', { reason, status, host: request.headers.host, message: hostNotAllowed });
    else if (reason === 'rate' || reason === 'busy') logTooMany(request, reason, { status, caller });
    else log('debug', 'refused', { reason, status });
  };
}

const hostNotAllowed = words(
  'A request was refused for its Host header. If clients use this host, name it in CLOUDOPS_HTTP_ALLOWED_HOSTS.',
);

/** JSON-RPC's code for errors of a server's own. */
const refusedRequest = -32000;

function refuse(request: IncomingMessage, response: ServerResponse, refusal: HttpError): void {
  const { status, message, headers, answer = errorAnswer(null, refusedRequest, message) } = refusal;
  // Reads and drops the rest of the body, because some clients read no answer before they have sent the whole body.
  request.resume();
  sendJson(response, status, answer, headers);
}

/** The state of this server, for an orchestrator such as Kubernetes, which sends requests only to a server that is ready. */
type Readiness = 'ready' | `waiting for ${NeededPart}` | 'stopping';

/** Answers a probe and returns true. For any other request, does nothing and returns false. */
type ProbeHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Creates the handler of `GET /healthz`, which is always 200, and of `GET /readyz`, which also shows the notes about the journal. */
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

/** Creates a server for probes and `GET /metrics` only. It does not listen yet. */
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
  // The other time limits do not end the connection of a client that does not read its answer.
  server.timeout = headersMs;
  return server;
}
