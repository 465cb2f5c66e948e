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
import { webHeaders, webRequest, whenClosed } from './http-helpers.js';
import { type Conversation, serveLegacyRequest } from './serve-legacy-request.js';

/**
 * Serves one parsed message with an SDK server of its own.
 * @param createWith makes the server. The server waits for people by calling `wait`
 */
export async function serveMessage(
  createWith: (wait: Wait) => Server,
  message: unknown,
  incoming: IncomingMessage,
  response: ServerResponse,
  { log, conversation }: { readonly log: Log; readonly conversation: Conversation },
): Promise<void> {
  const onerror = ({ name }: Error) => log('debug', 'http', { error: name });
  if (isLegacyRequest(message, incoming)) {
    const create = (wait: Wait) => Object.assign(createWith(wait), { onerror });
    return serveLegacyRequest(create, message, incoming, response, conversation);
  }
  // There are no subscriptions, because the server's lists never change.
  const handler = createMcpHandler(() => createWith((work) => work()), { maxSubscriptions: 0, onerror });
  return serveByHandler(handler, message, incoming, response);
}

/** True for a request of a protocol before 2026-07-28 with the headers of that protocol. */
function isLegacyRequest(message: unknown, { headers }: IncomingMessage): message is JSONRPCRequest {
  const { accept = '' } = headers;
  if (!accept.includes('application/json') || !accept.includes('text/event-stream')) return false;
  const protocolVersionHeader = headers['mcp-protocol-version']?.toString();
  if (protocolVersionHeader !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(protocolVersionHeader)) return false;
  const inbound = classifyInboundRequest({
    httpMethod: 'POST',
    body: message,
    ...(protocolVersionHeader !== undefined && { protocolVersionHeader }),
  });
  return inbound.kind === 'legacy' && (inbound.reason === 'initialize' || inbound.reason === 'no-claim');
}

/**
 * Serves a message with a handler for web requests. The SDK's own adapter (`toNodeHandler`) would first write the message as JSON
 * again, for a body that nothing reads.
 */
export async function serveByHandler(
  handler: Pick<McpHttpHandler, 'fetch'>,
  message: unknown,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const clientGone = new AbortController();
  const closed = whenClosed(incoming, outgoing).then(() => {
    if (!outgoing.writableFinished) clientGone.abort();
  });
  const request = webRequest(webHeaders(incoming), clientGone.signal);
  correctHeaders(request.headers, message);
  const { status, headers, body } = await handler.fetch(request, { parsedBody: message });
  outgoing.writeHead(status, Object.fromEntries(headers));
  if (body === null) return void outgoing.end();
  const sent = pipeline(body, outgoing, { signal: clientGone.signal }).catch((error: unknown) => {
    if (!clientGone.signal.aborted) throw error;
  });
  await Promise.race([sent, closed]);
}
