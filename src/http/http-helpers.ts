import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';

/** Shared by the HTTP servers of this process: for MCP and pages, for metrics, and for the page of one view. */

/** A refused request: an HTTP status, a reason for the metrics, and a sentence for the client. */
export class HttpError extends Error {
  readonly status: number;
  /** A label of the metrics: fixed words, never text from a client. */
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

/** Status 503, with the number of seconds after which the client may try again. */
export const unavailable = (
  reason: string,
  message: string,
  retryAfterSeconds: number,
  headers: HttpError['headers'] = {},
) => new HttpError(503, reason, message, { 'retry-after': String(retryAfterSeconds), ...headers });

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
    // Without this header, Node would send the text in chunks.
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

/** Host and port; port 0 takes any free port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Starts to listen. Resolves with the port.
 * @throws NodeJS.ErrnoException if the address cannot be listened on
 */
export async function listen(server: Server, { host, port }: Address): Promise<number> {
  // By default, Node silently drops headers after the 2,000th, which may be Host or Origin. The size of headers is limited anyway.
  server.maxHeadersCount = 0;
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Closes a server, and after `graceMs` the connections that are still open. */
export async function close(server: Server, graceMs: number): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(timer);
}

/**
 * Refuses requests of foreign web pages in the browser of a user who can reach this server (DNS rebinding).
 * @throws HttpError
 */
export function checkHostAndOrigin(request: IncomingMessage, hosts: readonly string[]): void {
  if (!validateHostHeader(onlyHeader(request, 'host'), [...hosts]).ok) throw wrongHost();
  if (!validateOriginHeader(request.headers.origin, [...hosts]).ok)
    throw new HttpError(403, 'origin', 'The Origin header names a site that is not allowed here.');
}

/**
 * Allows any IP address as host, because collectors of metrics use the address of a process. DNS rebinding needs a name.
 * @throws HttpError
 */
export function checkMetricsHost(request: IncomingMessage, hosts: readonly string[]): void {
  const result = validateHostHeader(onlyHeader(request, 'host'), [...hosts, 'localhost']);
  if (!result.ok && isIP((result.hostname ?? '').replace(/^\[|\]$/g, '')) === 0) throw wrongHost();
}

/**
 * The value of a header that may come only once. If there were two, a proxy in front of this server might use the other one.
 * @throws HttpError
 */
export function onlyHeader(
  { headers, headersDistinct }: IncomingMessage,
  name: 'host' | 'authorization',
): string | undefined {
  if ((headersDistinct[name]?.length ?? 0) > 1)
    throw new HttpError(400, name, `There is more than one ${headerTitles[name]} header.`);
  return headers[name];
}

const headerTitles = { host: 'Host', authorization: 'Authorization' };

const wrongHost = () => new HttpError(403, 'host', 'The Host header names a host that is not allowed here.');

/**
 * Reads bodies of requests. Rejects if the client closes the connection.
 * @param bodyBytes size limit of one body
 * @param bodiesBytes size limit of all bodies that are being received, in total
 */
export function createBodyReader(bodyBytes: number, bodiesBytes: number) {
  const tooLarge = () => new HttpError(413, 'body', `A request has ${bodyBytes} bytes at most.`);
  /** Size of all bodies that are being received. */
  let receivedBytes = 0;
  /** @throws HttpError if one of the size limits is exceeded */
  return async (request: IncomingMessage): Promise<Buffer> => {
    if (Number(request.headers['content-length'] ?? 0) > bodyBytes) throw tooLarge();
    /** Grows ahead of the body, whose size is `size`. */
    let bytes = Buffer.alloc(0);
    let size = 0;
    try {
      // Without this option, leaving the loop would destroy the request, and with it the socket that the answer needs.
      for await (const chunk of request.iterator({ destroyOnReturn: false })) {
        size += chunk.length;
        receivedBytes += chunk.length;
        if (size > bodyBytes) throw tooLarge();
        if (receivedBytes > bodiesBytes) throw busy();
        // Chunks are copied into one buffer, because Node keeps hundreds of bytes for a chunk of one byte.
        if (size > bytes.length) bytes = Buffer.concat([bytes], Math.min(2 * size, bodyBytes));
        bytes.set(chunk, size - chunk.length);
      }
      return bytes.subarray(0, size);
    } finally {
      receivedBytes -= size;
    }
  };
}

/**
 * Resolves when an answer was sent, or its client has gone. Both are watched, because a response that waits behind others of its
 * connection gets no event when the connection closes.
 */
export const whenClosed = ({ socket }: IncomingMessage, response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      socket.off('close', end);
      response.off('close', end);
      resolve();
    };
    socket.once('close', end);
    response.once('close', end);
  });

/** The headers of a request for web APIs: all headers, or the headers in `names`. */
export function webHeaders({ headersDistinct }: IncomingMessage, names = Object.keys(headersDistinct)): Headers {
  const headers = new Headers();
  for (const name of names) for (const value of headersDistinct[name] ?? []) headers.append(name, value);
  return headers;
}

/** A request to `/mcp` as the SDK expects it, without a body. */
export const webRequest = (headers: Headers, signal?: AbortSignal): Request =>
  new Request('http://localhost/mcp', { method: 'POST', headers, ...(signal !== undefined && { signal }) });
