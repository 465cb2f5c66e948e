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
  readonly beginSession: (client: Client) => string;
}

/** Serves one parsed message with its own SDK server. The client cancels by closing the connection. */
export function serveMessage(
  createServer: () => Server,
  message: object,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { log, beginSession }: MessageOptions,
): Promise<void> {
  const onerror = ({ name }: Error) => log('debug', 'http', { error: name });
  const headers = webHeaders(incoming);
  // Some clients send headers of another protocol.
  correctHeaders(headers, message);

  return sendAnswer(incoming, outgoing, async (clientGone) => {
    const request = webRequest(headers, clientGone);
    if (await isLegacyRequest(request, message)) {
      const server = Object.assign(createServer(), { onerror });
      clientGone.addEventListener('abort', () => void server.close().catch(onerror));
      return answerLegacyRequest(server, request, message, beginSession);
    }
    // There is nothing to subscribe to.
    const handler = createMcpHandler(createServer, { legacy: 'reject', maxSubscriptions: 0, onerror });
    return handler.fetch(request, { parsedBody: message });
  });
}

/** For protocols before 2026-07-28. */
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
  // Only a successful `initialize` has set the capabilities.
  const capabilities = server.getClientCapabilities();
  if (capabilities !== undefined)
    response.headers.set('mcp-session-id', beginSession(describeClient(capabilities, server.getClientVersion())));
  return response;
}

/** Sends the answer to a request. The SDK's `toNodeHandler` would convert the message to JSON again. */
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

  // The first event may take long.
  outgoing.writeHead(status, headers).flushHeaders();
  const sent = pipeline(body, escapePieces, outgoing, { signal: clientGone.signal }).catch((error: unknown) => {
    if (!clientGone.signal.aborted) throw error;
  });
  // After an abort, `pipeline` may never end.
  await Promise.race([sent, closed]);
}
