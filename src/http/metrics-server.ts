import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Metrics } from '../observe/metrics.js';
import type { SafeText } from '../util/safe-text.js';
import { checkMetricsHost, HttpError, sendJson } from './http-helpers.js';
import type { HttpLimits } from './limits.js';

/** The state of the server for its orchestrator. Without a journal, the server accepts no calls yet. */
type Readiness = 'ready' | 'waiting for the journal' | 'stopping';

/** Answers a probe. Returns false for any other request. */
export type Probes = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Answers `GET /healthz`, always with 200, and `GET /readyz`, with the notes about the journal. */
export const createProbes =
  (readiness: () => Readiness, journalNotes: () => readonly SafeText[]): Probes =>
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
export function createMetricsServer(
  metrics: Metrics,
  probes: Probes,
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
      if (probes(request, response)) return;
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
