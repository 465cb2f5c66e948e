import { createServer, type Server } from 'node:http';
import type { Metrics } from '../observe/metrics.js';
import { checkMetricsHost, HttpError } from './http-helpers.js';
import type { HttpLimits } from './limits.js';
import type { Probes } from './probes.js';

/** A server that answers probes, `GET /metrics` and nothing else; not listening yet. */
export function createMetricsServer(
  metrics: Metrics,
  probes: Probes,
  hosts: readonly string[],
  { headersMs, metricsConnections }: HttpLimits,
): Server {
  const times = {
    headersTimeout: headersMs,
    requestTimeout: headersMs,
    connectionsCheckingInterval: Math.min(headersMs, 1000),
  };
  const server = createServer(times, (request, response) => {
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
  // Also for a client that takes no data.
  server.timeout = headersMs;
  return server;
}
