import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson } from './http-helpers.js';

/** The state of a server that its orchestrator asks for. Without a journal it serves nobody yet. */
export type Readiness = 'ready' | 'waiting for the journal' | 'stopping';

/** Answers a probe. False if the request is none. */
export type Probes = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Answers `GET /healthz`, always well, and `GET /readyz`. */
export const createProbes =
  (readiness: () => Readiness): Probes =>
  ({ method, url = '' }, response) => {
    const [path] = url.split('?');
    if (method !== 'GET' || (path !== '/healthz' && path !== '/readyz')) return false;
    const status = path === '/healthz' ? 'alive' : readiness();
    sendJson(response, status === 'alive' || status === 'ready' ? 200 : 503, { status });
    return true;
  };
