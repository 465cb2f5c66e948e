import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';

/** Shared by the HTTP servers of this process: for MCP, for metrics, and for the page of a view. */

/** A request that is not served: an HTTP status, a reason for the metrics, and a sentence for the client. */
export class HttpError extends Error {
  readonly status: number;
  /** A label of the metrics: a fixed word, never text of a client. */
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, reason: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.reason = reason;
    this.headers = headers;
  }
}

/** Status 503, with the seconds after which the client may come back. */
export const unavailable = (reason: string, message: string, retryAfterSeconds: number) =>
  new HttpError(503, reason, message, { 'retry-after': String(retryAfterSeconds) });

export const busy = () => unavailable('busy', 'Too many calls are running.', 1);

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    // Without it, Node would send the text in chunks.
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

/** Host and port; port 0 takes any that is free. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Resolves with the port.
 * @throws NodeJS.ErrnoException if the address cannot be listened on
 */
export async function listen(server: Server, { host, port }: Address): Promise<number> {
  // Node would drop headers beyond the 2,000th without a word, a Host or an Origin among them. Their size is limited anyway.
  server.maxHeadersCount = 0;
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Closes a server, and after some milliseconds the connections that are left. */
export async function close(server: Server, graceMs: number): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(timer);
}

/**
 * Refuses requests of web pages that use the browser of a user who can reach this server (DNS rebinding).
 * @throws HttpError
 */
export function checkHostAndOrigin(request: IncomingMessage, hosts: readonly string[]): void {
  if (!validateHostHeader(oneHost(request), [...hosts]).ok) throw wrongHost();
  if (!validateOriginHeader(request.headers.origin, [...hosts]).ok)
    throw new HttpError(403, 'origin', 'The Origin header names a site that is not allowed here.');
}

/**
 * Collectors of metrics use the address of a process, so any IP address is allowed: no DNS record can point it elsewhere.
 * @throws HttpError
 */
export function checkMetricsHost(request: IncomingMessage, hosts: readonly string[]): void {
  const result = validateHostHeader(oneHost(request), [...hosts, 'localhost']);
  if (!result.ok && isIP((result.hostname ?? '').replace(/^\[|\]$/g, '')) === 0) throw wrongHost();
}

/** The Host header. With two of them, a proxy before this server might use the other one. */
function oneHost({ headers, headersDistinct }: IncomingMessage): string | undefined {
  if ((headersDistinct.host?.length ?? 0) > 1) throw new HttpError(400, 'host', 'There is more than one Host header.');
  return headers.host;
}

const wrongHost = () => new HttpError(403, 'host', 'The Host header names a host that is not allowed here.');

/**
 * Reads the bodies of requests. Rejects if the client closes the connection.
 * @param bodiesBytes for all bodies that are being received, together
 */
export function createBodyReader(bodyBytes: number, bodiesBytes: number) {
  const tooLarge = () => new HttpError(413, 'body', `A request has ${bodyBytes} bytes at most.`);
  let held = 0;
  /** @throws HttpError if the body is too large, or if all bodies together are */
  return async (request: IncomingMessage): Promise<Buffer> => {
    if (Number(request.headers['content-length'] ?? 0) > bodyBytes) throw tooLarge();
    let bytes = Buffer.alloc(0);
    let size = 0;
    try {
      // A destroyed request would take the socket of its answer along.
      for await (const chunk of request.iterator({ destroyOnReturn: false })) {
        size += chunk.length;
        held += chunk.length;
        if (size > bodyBytes) throw tooLarge();
        if (held > bodiesBytes) throw busy();
        // Copied, because Node keeps hundreds of bytes for a chunk of one byte.
        if (size > bytes.length) bytes = Buffer.concat([bytes], Math.min(2 * size, bodyBytes));
        bytes.set(chunk, size - chunk.length);
      }
      return bytes.subarray(0, size);
    } finally {
      held -= size;
    }
  };
}
