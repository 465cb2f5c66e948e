import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import type { ErrorAnswer } from '../mcp/read-message.js';
import { escapeJson } from '../util/quote.js';

/** Functions for the three HTTP servers of this program: for MCP and pages, for metrics, and for the page in the browser of this machine. */

/** Thrown to refuse a request, with the HTTP status. `message` is a sentence for the client. */
export class HttpError extends Error {
  readonly status: number;
  /** Label for the metrics and the log: fixed words, never text from a client. */
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The caller whose request is refused, for the log. The MCP endpoint sets it, because the checks that throw do not know the caller. */
  caller?: string | undefined;
  /** The JSON-RPC answer to a message that was read and refused. Undefined if the request was refused before that. */
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

/** Counts and logs a refused request. */
export type NoteRefusal = (request: IncomingMessage, refusal: HttpError) => void;

/** The refusal of a request that may succeed if the client tries again after `retryAfterSeconds`. */
export const unavailable = (
  reason: string,
  message: string,
  { retryAfterSeconds, headers = {} }: { readonly retryAfterSeconds: number; readonly headers?: HttpError['headers'] },
) => new HttpError(503, reason, message, { 'retry-after': String(retryAfterSeconds), ...headers });

export const busy = () => unavailable('busy', 'Too many calls are running.', { retryAfterSeconds: 1 });

/** Sends a JSON answer and ends the response. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = escapeJson(JSON.stringify(body));
  response.writeHead(status, {
    'content-type': 'application/json',
    // Without this header, Node would use chunked encoding.
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

/** Escapes invisible characters in JSON that is sent piece by piece. A piece may end inside of a character. */
export async function* escapePieces(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  for await (const piece of pieces) yield escapeJson(decoder.write(Buffer.from(piece)));
}

/** The address to listen on. Port 0 takes any free port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Starts to listen. Resolves with the port. @throws NodeJS.ErrnoException if the address cannot be listened on */
export async function listen(server: Server, { host, port }: Address): Promise<number> {
  // No limit, because Node silently drops headers beyond a limit, and they may be Host or Origin. Their total size is limited anyway.
  server.maxHeadersCount = 0;
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Closes a server. Resolves when all connections have ended. Cuts the connections off after `graceMs`. */
export async function close(server: Server, { graceMs }: { readonly graceMs: number }): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(timer);
}

/** Refuses requests that a foreign web page sends from the browser of a user who can reach this server (DNS rebinding). @throws HttpError */
export function checkHostAndOrigin(request: IncomingMessage, hosts: readonly string[]): void {
  if (!validateHostHeader(onlyHeader(request, 'host'), [...hosts]).ok) throw wrongHost();
  if (!validateOriginHeader(request.headers.origin, [...hosts]).ok)
    throw new HttpError(403, 'origin', 'The Origin header names a site that is not allowed here.');
}

/** Refuses foreign host names. Allows any IP address, because collectors of metrics use addresses, and DNS rebinding needs a name. @throws HttpError */
export function checkMetricsHost(request: IncomingMessage, hosts: readonly string[]): void {
  const result = validateHostHeader(onlyHeader(request, 'host'), [...hosts, 'localhost']);
  if (!result.ok && isIP((result.hostname ?? '').replace(/^\[|\]$/g, '')) === 0) throw wrongHost();
}

/**
 * Returns the value of a header that may come only once. With two values, a proxy could check one while this server uses the other.
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
 * Creates a function that reads the body of a request, and rejects if the client closes the connection.
 * @param maximumBody size limit of one body (bytes)
 * @param maximumTotal limit for the total size of all bodies that are being received (bytes)
 */
export function createBodyReader(maximumBody: number, maximumTotal: number) {
  const tooLarge = () => new HttpError(413, 'body', `A request has ${maximumBody} bytes at most.`);
  /** Total size of all bodies that are being received. */
  let receivedBytes = 0;

  /** @throws HttpError if one of the size limits is exceeded */
  return async (request: IncomingMessage): Promise<Buffer> => {
    if (Number(request.headers['content-length'] ?? 0) > maximumBody) throw tooLarge();

    /** The first `size` bytes are the body. The rest is free space. */
    let buffer = Buffer.alloc(0);
    let size = 0;
    try {
      // By default, leaving the loop destroys the request and its socket, on which the error has to be sent.
      for await (const chunk of request.iterator({ destroyOnReturn: false })) {
        size += chunk.length;
        receivedBytes += chunk.length;
        if (size > maximumBody) throw tooLarge();
        if (receivedBytes > maximumTotal) throw busy();

        // Chunks are copied into one buffer, because Node needs hundreds of bytes to keep a chunk of one byte.
        // `concat` copies the buffer into a larger one.
        if (size > buffer.length) buffer = Buffer.concat([buffer], Math.min(2 * size, maximumBody));
        buffer.set(chunk, size - chunk.length);
      }
      return buffer.subarray(0, size);
    } finally {
      receivedBytes -= size;
    }
  };
}

/**
 * Resolves when an answer was sent, or when the client has gone. Also listens to the socket, because a response that waits behind other
 * responses of the same connection gets no event when the connection closes.
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

/** Converts the headers of a Node request to the `Headers` of `fetch`. */
export function webHeaders({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value);
  return headers;
}

/** Makes a request to `/mcp` for the SDK, without a body, because the SDK gets the parsed message. */
export const webRequest = (headers: Headers, signal: AbortSignal): Request =>
  new Request('http://localhost/mcp', { method: 'POST', headers, signal });
