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
import type { Wait } from '../calls/waiting.js';
import { correctHeaders } from '../mcp/client-quirks.js';
import type { Log } from '../util/log.js';
import { webHeaders, webRequest, whenClosed } from './http-helpers.js';
import { type Conversation, serveLegacyRequest } from './serve-legacy-request.js';

/**
 * Serves one parsed message with its own SDK server: with the SDK's handler since protocol 2026-07-28, and with `serveLegacyRequest` before.
 * @param createWith makes the SDK server. Whenever the server waits for a person, it must call `wait`
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

  // From 2026-07-28 on, closing the connection cancels a call, so the wait for a person needs no listener for a cancellation.
  const create = () => createWith((work) => work());
  // The lists of this server never change, so there is nothing to subscribe to.
  const handler = createMcpHandler(create, { maxSubscriptions: 0, onerror });
  return serveByHandler(handler, message, incoming, response);
}

/** True for a request that `serveLegacyRequest` serves. The SDK's handler gets all other messages, and refuses those of an old protocol. */
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
 * Serves a parsed message with a handler for `fetch` requests. Resolves when the answer is complete, or when the client has gone. The SDK's
 * own adapter (`toNodeHandler`) is not used, because it would convert the message to JSON again, for a body that no code reads.
 */
export async function serveByHandler(
  handler: Pick<McpHttpHandler, 'fetch'>,
  message: unknown,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  // Aborts if the client closes the connection before the answer is complete.
  const clientGone = new AbortController();
  const closed = whenClosed(incoming, outgoing).then(() => {
    if (!outgoing.writableFinished) clientGone.abort();
  });

  const request = webRequest(webHeaders(incoming), clientGone.signal);
  // Some clients send headers of another protocol than the message.
  correctHeaders(request.headers, message);
  const { status, headers, body } = await handler.fetch(request, { parsedBody: message });

  outgoing.writeHead(status, Object.fromEntries(headers));
  if (body === null) return void outgoing.end();
  const sent = pipeline(body, outgoing, { signal: clientGone.signal }).catch((error: unknown) => {
    // A client that has gone is no failure.
    if (!clientGone.signal.aborted) throw error;
  });
  // Does not wait for `pipeline` alone, because after an abort, it ends only with the next part of the body, which may never come.
  await Promise.race([sent, closed]);
}
