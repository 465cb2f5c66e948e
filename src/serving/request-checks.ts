import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import { HttpError } from './http-error.js';

/**
 * A browser must not be talked into reaching a server that its user can reach (DNS rebinding).
 * @throws HttpError
 */
export function checkHostAndOrigin(request: IncomingMessage, hosts: readonly string[]): void {
  if (!validateHostHeader(oneHost(request), [...hosts]).ok) throw wrongHost();
  if (!validateOriginHeader(request.headers.origin, [...hosts]).ok)
    throw new HttpError(403, 'origin', 'The Origin header names a site that is not allowed here.');
}

/**
 * What collects metrics calls a process by its address. That is no name that a stranger's DNS could point here.
 * @throws HttpError
 */
export function checkMetricsHost(request: IncomingMessage, hosts: readonly string[]): void {
  const result = validateHostHeader(oneHost(request), [...hosts, 'localhost']);
  if (!result.ok && isIP((result.hostname ?? '').replace(/^\[|\]$/g, '')) === 0) throw wrongHost();
}

/** What stands before us may go by another Host header than we would. */
function oneHost({ headers, headersDistinct }: IncomingMessage): string | undefined {
  if ((headersDistinct.host?.length ?? 0) > 1) throw new HttpError(400, 'host', 'There is more than one Host header.');
  return headers.host;
}

const wrongHost = () => new HttpError(403, 'host', 'The Host header names a host that is not allowed here.');
