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

/** A client's session, for a request of a protocol before 2026-07-28. */
export interface Conversation {
  /** Returns the ID of a new session with a client that has sent `initialize`. */
  begin(client: Client): string;
  /**
   * Waits for a reply: the answer to a question, or the cancellation of a call. Resolves as soon as the reply can arrive, with the
   * function that ends the wait. Undefined if the client has no session to reply in.
   */
  readonly expect?:
    | ((reply: Pick<ClientReply, 'kind' | 'id'>, receive: (message: JSONRPCMessage) => void) => Promise<() => void>)
    | undefined;
  /** Returns a new ID for a question. Each request has an SDK server of its own, and every SDK server counts from 0. */
  readonly newId: () => string;
}

/** Time between two comments in a stream, because proxies close silent connections. */
const keepAliveMs = 15_000;

const eventStream = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

/**
 * Serves a request of a protocol before 2026-07-28. The answer is JSON. It becomes a stream of events if a notification or a question
 * comes before the result, or if the result takes longer than `keepAliveMs`. The SDK's own transport is not used, because it streams
 * every answer, which takes a quarter of the CPU time of a call, and keeps sessions in one process.
 * @param create makes the server. The server waits for people by calling `wait`, so that the client can cancel its request meanwhile
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
  const sendResult = (result: JSONRPCMessage): void => {
    if (!response.headersSent) {
      sendJson(response, 200, result, sessionHeader(message, result, server, conversation));
      return;
    }
    sendEvent(result);
    response.end();
  };
  const receive = (received: JSONRPCMessage): void => transport.onmessage?.(received);
  const transport: Transport = {
    start: async () => {},
    send: async (sent, options) => {
      if (!('method' in sent)) return sendResult(sent);
      // There is no connection for messages of other requests.
      if (options?.relatedRequestId !== message.id) return;
      sendEvent('id' in sent ? await questions.ask(sent, receive) : questions.withClientId(sent));
    },
    close: async () => transport.onclose?.(),
  };
  const cancel = (notification: JSONRPCMessage): void => {
    receive(notification);
    // A cancelled call gets no result.
    writeEvent(response, ': cancelled\n\n');
    response.end();
  };
  const wait: Wait = async (work) => {
    const stopExpecting = await conversation.expect?.({ kind: 'cancellation', id: message.id }, cancel);
    return work().finally(stopExpecting);
  };

  const server = create(wait);
  const closed = whenClosed(incoming, response);
  const keepAlive = setInterval(() => writeEvent(response, ': keepalive\n\n'), keepAliveMs);
  try {
    await server.connect(transport);
    // Handlers read no other headers.
    transport.onmessage?.(message, { request: webRequest(webHeaders(incoming, ['traceparent', 'tracestate'])) });
    await closed;
  } finally {
    clearInterval(keepAlive);
    questions.end();
    // Cancels the call of a client that has gone.
    if (!response.writableFinished) await server.close();
  }
}

/** Sends a part of a stream of events. The first part starts the stream. */
function writeEvent(response: ServerResponse, text: string): void {
  if (response.writableEnded) return;
  if (!response.headersSent) response.writeHead(200, eventStream);
  response.write(text);
}

/** The questions of one call. The client sees IDs that are new to it and that no other client can guess, and not the IDs of the server. */
function createQuestions({ expect, newId }: Conversation) {
  /** Questions by the server's ID. */
  const openQuestions = new Map<RequestId, { readonly clientId: string; stopExpecting: () => void }>();
  let hasEnded = false;
  return {
    /** Returns the question with the ID for the client. `receive` gets the reply with the ID of the server. */
    async ask(question: JSONRPCRequest, receive: (reply: JSONRPCMessage) => void): Promise<JSONRPCRequest> {
      if (expect === undefined) throw new Error('There is no session in which the client could answer.');
      const clientId = newId();
      const openQuestion = { clientId, stopExpecting: () => {} };
      openQuestions.set(question.id, openQuestion);
      const reply = { kind: 'answer', id: clientId } as const;
      openQuestion.stopExpecting = await expect(reply, (received) => receive({ ...received, id: question.id }));
      if (hasEnded) openQuestion.stopExpecting();
      return { ...question, id: clientId };
    },
    /** Replaces the ID in the cancellation of a question by the ID for the client. Returns other notifications unchanged. */
    withClientId(notification: JSONRPCNotification): JSONRPCNotification {
      const openQuestion = openQuestions.get(cancelledIn(notification) ?? '');
      if (openQuestion === undefined) return notification;
      return { ...notification, params: { ...notification.params, requestId: openQuestion.clientId } };
    },
    end(): void {
      hasEnded = true;
      for (const { stopExpecting } of openQuestions.values()) stopExpecting();
    },
  };
}

/** The header that starts a session, for a successful answer to `initialize`. */
function sessionHeader(
  { method }: JSONRPCRequest,
  answer: JSONRPCMessage,
  server: Server,
  { begin }: Conversation,
): Readonly<Record<string, string>> {
  if (method !== 'initialize' || !('result' in answer)) return {};
  return { 'mcp-session-id': begin(describeClient(server.getClientCapabilities(), server.getClientVersion())) };
}
