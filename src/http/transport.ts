import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import {
  classifyInboundRequest,
  createMcpHandler,
  type JSONRPCRequest,
  type McpHttpHandler,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
} from '@modelcontextprotocol/server';
import type { Log } from '../util/log.js';
import { sendJson } from './server.js';

/** Serves one message that was read already, with a server made for it. */
export async function serveMessage(
  create: () => Server,
  message: unknown,
  incoming: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  const onerror = ({ name }: Error) => log('debug', 'http', { error: name });
  if (isRequestBefore2026(message, incoming)) {
    const server = create();
    server.onerror = onerror;
    return serveRequest(server, message, incoming, response);
  }
  // There are no subscriptions, because the server's lists never change.
  const handler = createMcpHandler(create, { maxSubscriptions: 0, onerror });
  return serveByHandler(handler, message, incoming, response);
}

/** True for a request of a protocol before 2026-07-28 that has the headers of one. */
function isRequestBefore2026(message: unknown, { headers }: IncomingMessage): message is JSONRPCRequest {
  const { accept = '' } = headers;
  if (!accept.includes('application/json') || !accept.includes('text/event-stream')) return false;
  const protocolVersionHeader = headers['mcp-protocol-version']?.toString();
  if (protocolVersionHeader !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(protocolVersionHeader)) return false;
  const found = classifyInboundRequest({
    httpMethod: 'POST',
    body: message,
    ...(protocolVersionHeader !== undefined && { protocolVersionHeader }),
  });
  return found.kind === 'legacy' && (found.reason === 'initialize' || found.reason === 'no-claim');
}

/** Proxies cut connections that are silent for long. */
const keepAliveMs = 15_000;

const eventStream = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

/**
 * Serves a request of a protocol before 2026-07-28, without a session: with JSON, or with a stream of events as soon as there is
 * something to tell before the result, or the result takes long. The SDK's transport for these protocols streams every answer, which
 * takes a quarter of the CPU of a call.
 */
export async function serveRequest(
  server: Server,
  message: JSONRPCRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const write = (text: string): void => {
    if (response.writableEnded) return;
    if (!response.headersSent) response.writeHead(200, eventStream);
    response.write(text);
  };
  const transport: Transport = {
    start: async () => {},
    send: async (sent, options) => {
      const event = () => `event: message\ndata: ${JSON.stringify(sent)}\n\n`;
      if ('method' in sent) {
        // There is no other connection to the client, and no session in which it could answer a request.
        if (options?.relatedRequestId === message.id) write(event());
      } else if (response.headersSent) response.end(event());
      else sendJson(response, 200, sent);
    },
    close: async () => transport.onclose?.(),
  };
  const over = whenOver(incoming, response);
  const keepAlive = setInterval(() => write(': keepalive\n\n'), keepAliveMs);
  try {
    await server.connect(transport);
    // With the request, handlers know that this is HTTP: users cannot be asked while a call runs. Of its headers, they read these.
    transport.onmessage?.(message, { request: webRequest(incoming, ['traceparent', 'tracestate']) });
    await over;
  } finally {
    clearInterval(keepAlive);
    // Stops what runs for a client that has gone.
    if (!response.writableFinished) await server.close();
  }
}

/**
 * Serves a message by a handler for web requests. The SDK's own adapter (`toNodeHandler`) would write the message as JSON once
 * more for a body that is not read.
 */
export async function serveByHandler(
  handler: Pick<McpHttpHandler, 'fetch'>,
  message: unknown,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  const over = whenOver(incoming, outgoing).then(() => {
    if (!outgoing.writableFinished) gone.abort();
  });
  const request = webRequest(incoming, Object.keys(incoming.headers), gone.signal);
  const { status, headers, body } = await handler.fetch(request, { parsedBody: message });
  outgoing.writeHead(status, Object.fromEntries(headers));
  if (body === null) return void outgoing.end();
  const sent = pipeline(body, outgoing, { signal: gone.signal }).catch((error: unknown) => {
    if (!gone.signal.aborted) throw error;
  });
  await Promise.race([sent, over]);
}

/**
 * Resolves when an answer has left, or its client has gone. A response that waits for its turn behind others of its connection is
 * not told of the end of that.
 */
const whenOver = ({ socket }: IncomingMessage, response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      socket.off('close', end);
      response.off('close', end);
      resolve();
    };
    socket.once('close', end);
    response.once('close', end);
  });

/** A request as the SDK wants it, with some headers and without its body. */
const webRequest = ({ headersDistinct }: IncomingMessage, names: readonly string[], signal?: AbortSignal): Request =>
  new Request('http://localhost/mcp', {
    method: 'POST',
    headers: names.flatMap((name) => (headersDistinct[name] ?? []).map((value): [string, string] => [name, value])),
    ...(signal !== undefined && { signal }),
  });
