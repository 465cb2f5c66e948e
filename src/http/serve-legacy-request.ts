import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  RequestId,
  Server,
  Transport,
} from '@modelcontextprotocol/server';
import type { Wait } from '../consent/elicitor.js';
import { type Client, describeClient } from '../mcp/client.js';
import { type ClientReply, cancelledIn } from './client-replies.js';
import { sendJson, webHeaders, webRequest, whenClosed } from './http-helpers.js';

/** What one request of a protocol before 2026-07-28 needs of its client's session. */
export interface Conversation {
  /** Starts a session with a client that has sent `initialize`. Returns the session's ID. */
  begin(client: Client): string;
  /**
   * Starts to wait for a reply of the client: an answer to a question, or a cancellation of a call. Resolves with the function that ends
   * the wait. Undefined if the client has no session, without which replies cannot be matched.
   */
  readonly expect?:
    | ((reply: Pick<ClientReply, 'kind' | 'id'>, receive: (message: JSONRPCMessage) => void) => Promise<() => void>)
    | undefined;
  /** Returns a new ID for a question. The IDs of the SDK would repeat, because each request has its own SDK server, which counts from 0. */
  readonly newId: () => string;
}

/** Time between two comments in a stream (milliseconds). They keep proxies from closing a connection on which nothing is sent. */
const keepAliveMs = 15_000;

const eventStream = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

/**
 * Serves a request of a protocol before 2026-07-28. The answer is JSON. It becomes a stream of events if a notification or a question
 * comes before the result, or if the result takes longer than `keepAliveMs`. The SDK's own transport is not used: it streams every answer,
 * which takes a quarter of the CPU time of a call, and it keeps sessions in one process.
 *
 * The SDK's `server` is connected to `transport`: `send` gets the server's messages, and `receive` passes the client's messages to it.
 * @param create makes the SDK server, which must wait for people by `wait`. During the wait, a cancellation from the client is received
 */
export async function serveLegacyRequest(
  create: (wait: Wait) => Server,
  message: JSONRPCRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
  conversation: Conversation,
): Promise<void> {
  const questions = createQuestions(conversation);

  const sendEvent = (sent: JSONRPCMessage): void =>
    writeEvent(response, `event: message\ndata: ${JSON.stringify(sent)}\n\n`);
  /** Ends the answer with the result, or with the error, of the request. Called by `server`, which is created below. */
  const sendResult = (result: JSONRPCMessage): void => {
    if (!response.headersSent) {
      sendJson(response, 200, result, sessionHeader(message, result, server, conversation));
      return;
    }
    sendEvent(result);
    response.end();
  };

  /** Passes a message of the client on to the SDK server, which sets `onmessage` when it connects. */
  const receive: NonNullable<Transport['onmessage']> = (received, extra) => transport.onmessage?.(received, extra);
  const transport: Transport = {
    start: async () => {},
    send: async (sent, options) => {
      // The server gets a single request, so a message without a method is the answer to this request.
      if (!('method' in sent)) return sendResult(sent);
      // Only messages that belong to this request can be sent, because there is no other connection to the client.
      if (options?.relatedRequestId !== message.id) return;
      // A message with an ID is a question, and any other is a notification.
      sendEvent('id' in sent ? await questions.ask(sent, receive) : questions.withClientId(sent));
    },
    close: async () => transport.onclose?.(),
  };

  /** Takes the client's cancellation of this request, which comes with another HTTP request. */
  const cancel = (notification: JSONRPCMessage): void => {
    receive(notification);
    // A cancelled request gets no result, so its stream ends with a comment.
    writeEvent(response, ': cancelled\n\n');
    response.end();
  };
  const wait: Wait = async (work) => {
    // Undefined without a session, in which no cancellation can arrive.
    const stopExpecting = await conversation.expect?.({ kind: 'cancellation', id: message.id }, cancel);
    return work().finally(stopExpecting);
  };

  const server = create(wait);
  const closed = whenClosed(incoming, response);
  const keepAlive = setInterval(() => writeEvent(response, ': keepalive\n\n'), keepAliveMs);
  try {
    await server.connect(transport);
    // Our handlers read only these two headers.
    receive(message, { request: webRequest(webHeaders(incoming, ['traceparent', 'tracestate'])) });
    await closed;
  } finally {
    clearInterval(keepAlive);
    questions.end();
    // If the client has gone before the answer was complete, closing the server cancels the call.
    if (!response.writableFinished) await server.close();
  }
}

/** Writes to the stream of events, which the first write starts. Does nothing if the answer has ended. */
function writeEvent(response: ServerResponse, text: string): void {
  if (response.writableEnded) return;
  if (!response.headersSent) response.writeHead(200, eventStream);
  response.write(text);
}

/** The questions of one call. The client gets other IDs than the SDK server's, which repeat and which other clients could guess. */
function createQuestions({ expect, newId }: Conversation) {
  /** The questions of the call, also those that were answered, by the ID that the SDK server gave them. */
  const questions = new Map<RequestId, { readonly clientId: string; stopExpecting: () => void }>();
  let hasEnded = false;

  return {
    /** Starts to wait for the answer. Returns the question with the client's ID. `receive` gets the answer with the SDK server's ID. */
    async ask(question: JSONRPCRequest, receive: (reply: JSONRPCMessage) => void): Promise<JSONRPCRequest> {
      if (expect === undefined) throw new Error('There is no session in which the client could answer.');
      const clientId = newId();
      // `stopExpecting` is replaced below, when the wait has begun.
      const asked = { clientId, stopExpecting: () => {} };
      questions.set(question.id, asked);
      const expectedReply = { kind: 'answer', id: clientId } as const;
      asked.stopExpecting = await expect(expectedReply, (reply) => receive({ ...reply, id: question.id }));
      // The call ended while the wait began, so `end` could not stop the wait.
      if (hasEnded) asked.stopExpecting();
      return { ...question, id: clientId };
    },
    /** Writes the client's ID into a notification that cancels a question. Returns other notifications unchanged. */
    withClientId(notification: JSONRPCNotification): JSONRPCNotification {
      const asked = questions.get(cancelledIn(notification) ?? '');
      if (asked === undefined) return notification;
      return { ...notification, params: { ...notification.params, requestId: asked.clientId } };
    },
    end(): void {
      hasEnded = true;
      for (const { stopExpecting } of questions.values()) stopExpecting();
    },
  };
}

/** The header with the ID of a new session, for a successful answer to `initialize`. No header for any other answer. */
function sessionHeader(
  { method }: JSONRPCRequest,
  answer: JSONRPCMessage,
  server: Server,
  { begin }: Conversation,
): Readonly<Record<string, string>> {
  if (method !== 'initialize' || !('result' in answer)) return {};
  return { 'mcp-session-id': begin(describeClient(server.getClientCapabilities(), server.getClientVersion())) };
}
