import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { isJsonContentType, validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import type { ErrorAnswer } from '../mcp/messages.js';
import { sentenceCase } from '../util/human.js';
import { escapeJson } from '../util/quote.js';

/** Thrown to refuse a request. `message` is a sentence for the client. */
export class HttpError extends Error {
  readonly status: number;
  /** For the metrics and the log: fixed words, never text from a client. */
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  caller?: string | undefined;
  readonly answer: ErrorAnswer | undefined;
  constructor(
    status: number,
    reason: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    answer?: ErrorAnswer,
  ) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.reason = reason;
    this.headers = headers;
    this.answer = answer;
  }
}

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
  const text = escapeJson(JSON.stringify(body));
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

/** Port 0 takes any free port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Starts to listen. Resolves with the port. @throws NodeJS.ErrnoException */
export async function listen(server: Server, { host, port }: Address): Promise<number> {
  // Node silently drops headers beyond a limit, and they may be Host or Origin.
  server.maxHeadersCount = 0;
  server.listen(port, host.replace(/^\[(.*)\]$/, '$1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Cuts connections off after `graceMs`. */
export async function close(server: Server, { graceMs }: { readonly graceMs: number }): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(timer);
}

/** Refuses requests from foreign web pages (DNS rebinding). @throws HttpError */
export function checkHostAndOrigin(request: IncomingMessage, hosts: readonly string[]): void {
  if (!validateHostHeader(onlyHeader(request, 'host'), [...hosts]).ok) throw wrongHost();
  if (!validateOriginHeader(request.headers.origin, [...hosts]).ok)
    throw new HttpError(403, 'origin', 'The Origin header names a site that is not allowed here.');
}

/** Refuses foreign host names, but no IP addresses, because DNS rebinding needs a name. @throws HttpError */
export function checkMetricsHost(request: IncomingMessage, hosts: readonly string[]): void {
  const result = validateHostHeader(onlyHeader(request, 'host'), [...hosts, 'localhost']);
  if (!result.ok && isIP((result.hostname ?? '').replace(/^\[|\]$/g, '')) === 0) throw wrongHost();
}

/** Refuses a repeated header, because a proxy could check the other value. @throws HttpError */
export function onlyHeader(
  { headers, headersDistinct }: IncomingMessage,
  name: 'host' | 'authorization',
): string | undefined {
  if ((headersDistinct[name]?.length ?? 0) > 1)
    throw new HttpError(400, name, `There is more than one ${sentenceCase(name)} header.`);
  return headers[name];
}

/** @throws HttpError */
export function checkIsJson({ headers }: IncomingMessage): void {
  if (!isJsonContentType(headers['content-type'] ?? null))
    throw new HttpError(415, 'content type', 'The content type must be application/json.');
}

const wrongHost = () => new HttpError(403, 'host', 'The Host header names a host that is not allowed here.');

/** Creates a function that reads bodies, with limits for one and for all together (bytes). */
export function createBodyReader(maximumBody: number, maximumTotal: number) {
  const tooLarge = () => new HttpError(413, 'body', `A request has ${maximumBody} bytes at most.`);
  let receivedBytes = 0;

  /** @throws HttpError if a size limit is exceeded */
  return async (request: IncomingMessage): Promise<Buffer> => {
    if (Number(request.headers['content-length'] ?? 0) > maximumBody) throw tooLarge();

    let buffer = Buffer.alloc(0);
    let size = 0;
    try {
      // By default, leaving the loop destroys the socket, which the error needs.
      for await (const chunk of request.iterator({ destroyOnReturn: false })) {
        size += chunk.length;
        receivedBytes += chunk.length;
        if (size > maximumBody) throw tooLarge();
        if (receivedBytes > maximumTotal) throw busy();

        // Node needs hundreds of bytes to keep a chunk of one byte.
        if (size > buffer.length) buffer = Buffer.concat([buffer], Math.min(2 * size, maximumBody));
        buffer.set(chunk, size - chunk.length);
      }
      return buffer.subarray(0, size);
    } finally {
      receivedBytes -= size;
    }
  };
}

export function webHeaders({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value);
  return headers;
}
