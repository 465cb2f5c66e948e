import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  isLegacyRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { type Client, describeClient } from '../mcp/client.js';
import { correctHeaders } from '../mcp/client-quirks.js';
import type { Log } from '../util/log.js';
import { valueAt } from '../util/objects.js';
import { escapeJson } from '../util/quote.js';
import { escapePieces, webHeaders, webRequest, whenClosed } from './http-helpers.js';

interface MessageOptions {
  readonly log: Log;
  /** Begins the session of a client that has sent `initialize`. Returns the session's ID. */
  readonly beginSession: (client: Client) => string;
}

/**
 * Serves one parsed message with an SDK server of its own: with the SDK's handler since protocol 2026-07-28, and with the SDK's transport before.
 * In both, the client cancels its request by closing the connection.
 */
export function serveMessage(
  createServer: () => Server,
  message: object,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { log, beginSession }: MessageOptions,
): Promise<void> {
  const onerror = ({ name }: Error) => log('debug', 'http', { error: name });
  const headers = webHeaders(incoming);
  // Some clients send headers of another protocol than the message.
  correctHeaders(headers, message);

  return sendAnswer(incoming, outgoing, async (clientGone) => {
    const request = webRequest(headers, clientGone);
    if (await isLegacyRequest(request, message)) {
      const server = Object.assign(createServer(), { onerror });
      clientGone.addEventListener('abort', () => void server.close().catch(onerror));
      return answerLegacyRequest(server, request, message, beginSession);
    }
    // The lists of this server never change, so there is nothing to subscribe to.
    const handler = createMcpHandler(createServer, { legacy: 'reject', maxSubscriptions: 0, onerror });
    return handler.fetch(request, { parsedBody: message });
  });
}

/** Answers a message of a protocol before 2026-07-28: with a stream of events if the message is a call with a progress token, and with JSON otherwise. */
async function answerLegacyRequest(
  server: Server,
  request: Request,
  message: object,
  beginSession: MessageOptions['beginSession'],
): Promise<Response> {
  const reportsProgress =
    valueAt(message, 'method') === 'tools/call' && valueAt(message, 'params._meta.progressToken') !== undefined;
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !reportsProgress });
  await server.connect(transport);
  const response = await transport.handleRequest(request, { parsedBody: message });
  // Only a successful answer to `initialize` has set the capabilities.
  const capabilities = server.getClientCapabilities();
  if (capabilities !== undefined)
    response.headers.set('mcp-session-id', beginSession(describeClient(capabilities, server.getClientVersion())));
  return response;
}

/**
 * Sends the answer to a request. Resolves when the answer is complete, or when the client has gone. The SDK's own adapter (`toNodeHandler`) is not
 * used, because it would convert the message to JSON again, for a body that no code reads.
 * @param answer returns the answer. The signal aborts if the client closes the connection before the answer is complete. `answer` may then never resolve
 */
export async function sendAnswer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  answer: (clientGone: AbortSignal) => Promise<Response>,
): Promise<void> {
  const clientGone = new AbortController();
  const closed = whenClosed(incoming, outgoing).then(() => {
    if (!outgoing.writableFinished) clientGone.abort();
  });

  const response = await Promise.race([answer(clientGone.signal), closed]);
  if (response === undefined) return;
  const { status, body } = response;
  const headers = { 'cache-control': 'no-store', ...Object.fromEntries(response.headers) };
  if (body === null) return void outgoing.writeHead(status, headers).end();
  if (response.headers.get('content-type') === 'application/json') {
    const json = Buffer.from(escapeJson(await response.text()));
    // Without `content-length`, Node would use chunked encoding.
    outgoing.writeHead(status, { ...headers, 'content-length': json.length }).end(json);
    return closed;
  }

  // Sends the head of a stream at once, because its first event may take long.
  outgoing.writeHead(status, headers).flushHeaders();
  const sent = pipeline(body, escapePieces, outgoing, { signal: clientGone.signal }).catch((error: unknown) => {
    // A client that has gone is no failure.
    if (!clientGone.signal.aborted) throw error;
  });
  // Does not wait for `pipeline` alone, because after an abort, it ends only with the next part of the body, which may never come.
  await Promise.race([sent, closed]);
}
