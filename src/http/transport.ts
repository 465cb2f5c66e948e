import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import {
  classifyInboundRequest,
  createMcpHandler,
  type JSONRPCRequest,
  type McpHttpHandler,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import type { Wait } from '../consent/elicitor.js';
import { correctHeaders } from '../mcp/client-quirks.js';
import type { Log } from '../util/log.js';
import { type Conversation, serveRequest } from './serve-legacy-request.js';
import { webRequest, whenOver } from './web-request.js';

/** Serves one message that was read already, with a server made for it. */
export async function serveMessage(
  create: (wait?: Wait) => Server,
  message: unknown,
  incoming: IncomingMessage,
  response: ServerResponse,
  { log, conversation }: { readonly log: Log; readonly conversation: Conversation },
): Promise<void> {
  const onerror = ({ name }: Error) => log('debug', 'http', { error: name });
  if (isRequestBefore2026(message, incoming)) {
    const createWith = (wait: Wait) => Object.assign(create(wait), { onerror });
    return serveRequest(createWith, message, incoming, response, conversation);
  }
  // There are no subscriptions, because the server's lists never change.
  const handler = createMcpHandler(() => create(), { maxSubscriptions: 0, onerror });
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
  correctHeaders(request.headers, message);
  const { status, headers, body } = await handler.fetch(request, { parsedBody: message });
  outgoing.writeHead(status, Object.fromEntries(headers));
  if (body === null) return void outgoing.end();
  const sent = pipeline(body, outgoing, { signal: gone.signal }).catch((error: unknown) => {
    if (!gone.signal.aborted) throw error;
  });
  await Promise.race([sent, over]);
}
