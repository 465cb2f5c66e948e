import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  RequestId,
  Server,
  Transport,
} from '@modelcontextprotocol/server';
import type { Wait } from '../calls/waiting.js';
import { type Client, describeClient } from '../mcp/client.js';
import { cancelledIn, type ExpectReply } from './client-replies.js';
import { sendJson, webHeaders, webRequest, whenClosed } from './http-helpers.js';

/** The functions of a client's session for one request of a protocol before 2026-07-28. */
export interface Conversation {
  /** Starts a session with a client that has sent `initialize`. Returns the session's ID. */
  begin(client: Client): string;
  /** Starts to wait for a reply of the client. Undefined without a session, because replies are matched to calls by the session. */
  readonly expectReply?: ExpectReply | undefined;
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
 * @param create makes the SDK server, which must use `wait` whenever it waits for a person, because only then can the client's cancellation,
 *   which comes with another request, end the call
 */
export async function serveLegacyRequest(
  create: (wait: Wait) => Server,
  message: JSONRPCRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
  conversation: Conversation,
): Promise<void> {
  /** Cancels the call, and ends the answer. Runs only while the call waits for a person, so the `transport` below exists. */
  const cancel = (cancellation: JSONRPCMessage): void => {
    transport.onmessage?.(cancellation);
    endWithoutResult(response);
  };
  const server = create(createCancellableWait(message.id, conversation, cancel));
  const transport = createTransport(message, response, server, conversation);
  const closed = whenClosed(incoming, response);
  // The first of these events makes the answer a stream.
  const keepAlive = setInterval(() => writeEvent(response, ': keepalive\n\n'), keepAliveMs);
  try {
    await server.connect(transport);
    // Our handlers read only these two headers.
    transport.onmessage?.(message, { request: webRequest(webHeaders(incoming, ['traceparent', 'tracestate'])) });
    await closed;
  } finally {
    clearInterval(keepAlive);
    // Ends the waits for answers to questions, and cancels a call that still runs because its client has gone.
    await server.close();
  }
}

/** Returns a function that runs work that waits for a person. Meanwhile, `cancel` gets the client's cancellation of the request with this ID. */
const createCancellableWait =
  (id: RequestId, { expectReply }: Conversation, cancel: (cancellation: JSONRPCMessage) => void): Wait =>
  async (work) => {
    // The cancellation comes with another HTTP request, which only a session can match to this request.
    const cancellation = expectReply?.({ kind: 'cancellation', id }, cancel);
    // Before the work asks a question, the other replicas must know of this wait, or they would drop the cancellation.
    await cancellation?.announced;
    return work().finally(cancellation?.end);
  };

/**
 * Ends the answer to a cancelled request, which gets no result. Clients ignore the line `: cancelled`. It makes the answer a stream of events even
 * if no event was sent before.
 */
function endWithoutResult(response: ServerResponse): void {
  writeEvent(response, ': cancelled\n\n');
  response.end();
}

/**
 * Creates the transport between the SDK server and the client for one request. The SDK server sets `onmessage`, which takes the client's
 * messages, and calls `send` with its own messages, which become the answer to the request.
 */
function createTransport(
  request: JSONRPCRequest,
  response: ServerResponse,
  server: Server,
  conversation: Conversation,
): Transport {
  const questions = createQuestions(conversation);
  const sendEvent = (sent: JSONRPCMessage): void =>
    writeEvent(response, `event: message\ndata: ${JSON.stringify(sent)}\n\n`);
  /** Ends the answer with the result or error of the request, as JSON if no stream of events has begun. */
  const sendResult = (result: JSONRPCMessage): void => {
    if (!response.headersSent) {
      sendJson(response, 200, result, sessionHeader(request, result, server, conversation));
      return;
    }
    sendEvent(result);
    response.end();
  };

  const transport: Transport = {
    start: async () => {},
    send: async (sent, options) => {
      // The server gets a single request, so a message without a method is the result of this request.
      if (!('method' in sent)) return sendResult(sent);
      // Only messages that belong to this request can be sent, because there is no other connection to the client.
      if (options?.relatedRequestId !== request.id) return;
      // A message with an ID is a question, and goes to the client under another ID. A notification may cancel a question, by this other ID.
      if ('id' in sent) sendEvent(await questions.register(sent, (answer) => transport.onmessage?.(answer)));
      else sendEvent(questions.withQuestionIdForClient(sent));
    },
    close: async () => {
      questions.end();
      transport.onclose?.();
    },
  };
  return transport;
}

/** Writes to the stream of events, which the first write starts. Does nothing if the answer has ended. */
function writeEvent(response: ServerResponse, text: string): void {
  if (response.writableEnded) return;
  if (!response.headersSent) response.writeHead(200, eventStream);
  response.write(text);
}

/**
 * Creates the questions of one call. Each has two IDs: `question.id` from the SDK server, and `idForClient`. The client does not get the SDK
 * server's IDs, because these repeat and other clients could guess them.
 */
function createQuestions({ expectReply, newId }: Conversation) {
  /** The questions of the call, also those that were answered, by the SDK server's ID. */
  const questions = new Map<RequestId, { readonly idForClient: string; endWait(): void }>();

  return {
    /** Returns the question with its ID for the client. Starts to wait for the answer, which `receive` gets. */
    async register(question: JSONRPCRequest, receive: (answer: JSONRPCMessage) => void): Promise<JSONRPCRequest> {
      if (expectReply === undefined) throw new Error('There is no session in which the client could answer.');
      const idForClient = newId();
      // The SDK server knows only `question.id`, so the answer gets that ID back.
      const { announced, end } = expectReply({ kind: 'answer', id: idForClient }, (answer) =>
        receive({ ...answer, id: question.id }),
      );
      questions.set(question.id, { idForClient, endWait: end });
      await announced;
      return { ...question, id: idForClient };
    },
    /** Returns a notification that cancels a question with the question's ID for the client, and other notifications unchanged. */
    withQuestionIdForClient(notification: JSONRPCNotification): JSONRPCNotification {
      const cancelledId = cancelledIn(notification);
      const asked = cancelledId === undefined ? undefined : questions.get(cancelledId);
      if (asked === undefined) return notification;
      return { ...notification, params: { ...notification.params, requestId: asked.idForClient } };
    },
    /** Ends the waits for answers. */
    end(): void {
      for (const { endWait } of questions.values()) endWait();
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
