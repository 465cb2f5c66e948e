import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import {
  createMcpHandler,
  isLegacyRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { parseAccept } from 'hono/utils/accept';
import { type Client, describeClient } from '../mcp/client.js';
import { correctHeaders } from '../mcp/client-quirks.js';
import type { Log } from '../util/log.js';
import { valueAt } from '../util/objects.js';
import { escapeJson } from '../util/quote.js';
import { HttpError, webHeaders } from './http-helpers.js';

interface MessageOptions {
  readonly log: Log;
  readonly beginSession: (client: Client) => string;
}

/** Serves one parsed message with its own SDK server. The client cancels by closing the connection. @throws HttpError */
export async function serveMessage(
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
  const accepted = acceptedTypes(headers.get('accept'));
  // The SDK refuses clients that take only one of its types.
  headers.set('accept', 'application/json, text/event-stream');

  return sendAnswer(incoming, outgoing, async (clientGone) => {
    // Without a body, because the SDK gets the parsed message.
    const request = new Request('http://localhost/mcp', { method: 'POST', headers, signal: clientGone });
    if (await isLegacyRequest(request, message)) {
      const server = Object.assign(createServer(), { onerror });
      clientGone.addEventListener('abort', () => void server.close().catch(onerror));
      return answerLegacyRequest(server, request, message, accepted, beginSession);
    }
    // There is nothing to subscribe to.
    const handler = createMcpHandler(createServer, {
      legacy: 'reject',
      maxSubscriptions: 0,
      onerror,
      ...(!accepted.json && { responseMode: 'sse' }),
    });
    return handler.fetch(request, { parsedBody: message });
  });
}

interface AcceptedTypes {
  readonly json: boolean;
  readonly events: boolean;
}

/** Reads an Accept header, in which the most specific range decides (RFC 9110, section 12.5.1). @throws HttpError */
function acceptedTypes(header: string | null): AcceptedTypes {
  const ranges = parseAccept(header ?? '*/*');
  const takes = (mainType: string, subtype: string): boolean => {
    const names = [`${mainType}/${subtype}`, `${mainType}/*`, '*/*'];
    const [range] = names.flatMap((name) => ranges.filter(({ type }) => type.toLowerCase() === name));
    return range !== undefined && range.q > 0;
  };
  const accepted = { json: takes('application', 'json'), events: takes('text', 'event-stream') };
  if (accepted.json || accepted.events) return accepted;
  throw new HttpError(406, 'accept', 'Answers are application/json or text/event-stream.');
}

async function answerLegacyRequest(
  server: Server,
  request: Request,
  message: object,
  accepted: AcceptedTypes,
  beginSession: MessageOptions['beginSession'],
): Promise<Response> {
  const reportsProgress =
    valueAt(message, 'method') === 'tools/call' && valueAt(message, 'params._meta.progressToken') !== undefined;
  const transport = new WebStandardStreamableHTTPServerTransport({
    enableJsonResponse: accepted.json && !(reportsProgress && accepted.events),
  });
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
  const closed = new Promise<void>((resolve) => {
    const end = () => {
      incoming.socket.off('close', end);
      outgoing.off('close', end);
      if (!outgoing.writableFinished) clientGone.abort();
      resolve();
    };
    // Waiting responses get no close event, so the socket counts too.
    incoming.socket.once('close', end);
    outgoing.once('close', end);
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
  const decoder = new StringDecoder('utf8');
  const escapePieces = async function* (pieces: AsyncIterable<Uint8Array>) {
    for await (const piece of pieces) yield escapeJson(decoder.write(Buffer.from(piece)));
  };
  const sent = pipeline(body, escapePieces, outgoing, { signal: clientGone.signal }).catch((error: unknown) => {
    if (!clientGone.signal.aborted) throw error;
  });
  // After an abort, `pipeline` may never end.
  await Promise.race([sent, closed]);
}
