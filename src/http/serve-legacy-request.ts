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
import { sendJson } from './http-helpers.js';
import { webRequest, whenOver } from './web-request.js';

/** The part of a session that a request of a protocol before 2026-07-28 needs. */
export interface Conversation {
  /** The ID of a new session with a client that has introduced itself. */
  begin(client: Client): string;
  /**
   * Waits for a reply: the answer to a question, or the end of a call. Resolves, when it can come, with the function that ends the
   * wait. Absent where the client has no session to reply in.
   */
  readonly expect?: (
    reply: Pick<ClientReply, 'kind' | 'id'>,
    receive: (message: JSONRPCMessage) => void,
  ) => Promise<() => void>;
  /** A new ID for a question: each request has a server of its own, whose counts would be the same. */
  readonly newId: () => string;
}

/** Proxies cut connections that are silent for long. */
const keepAliveMs = 15_000;

const eventStream = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

/**
 * Serves a request of a protocol before 2026-07-28: with JSON, or with a stream of events as soon as there is something to tell or to
 * ask before the result, or the result takes long. The SDK's transport for these protocols streams every answer, which takes a
 * quarter of the CPU of a call, and keeps sessions in one process.
 * @param create makes the server, which does within `wait` what waits for a person, so that the client can end it
 */
export async function serveRequest(
  create: (wait: Wait) => Server,
  message: JSONRPCRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
  conversation: Conversation,
): Promise<void> {
  const write = (sent: JSONRPCMessage): void =>
    writeEvent(response, `event: message\ndata: ${JSON.stringify(sent)}\n\n`);
  const questions = createQuestions(conversation);
  const transport: Transport = {
    start: async () => {},
    send: async (sent, options) => {
      if ('method' in sent) {
        // There is no other connection to the client.
        if (options?.relatedRequestId !== message.id) return;
        write('id' in sent ? await questions.ask(sent, answer) : questions.renamed(sent));
      } else if (response.headersSent) {
        write(sent);
        response.end();
      } else sendJson(response, 200, sent, sessionHeader(message, sent, server, conversation));
    },
    close: async () => transport.onclose?.(),
  };
  const answer = (reply: JSONRPCMessage): void => transport.onmessage?.(reply);
  const cancel = (reply: JSONRPCMessage): void => {
    transport.onmessage?.(reply);
    // Nobody waits for the result any longer.
    writeEvent(response, ': cancelled\n\n');
    response.end();
  };
  const wait: Wait = async (work) => {
    const stop = await conversation.expect?.({ kind: 'cancellation', id: message.id }, cancel);
    return work().finally(stop);
  };
  const server = create(wait);
  const over = whenOver(incoming, response);
  const keepAlive = setInterval(() => writeEvent(response, ': keepalive\n\n'), keepAliveMs);
  try {
    await server.connect(transport);
    // Of the request's headers, handlers read these.
    transport.onmessage?.(message, { request: webRequest(incoming, ['traceparent', 'tracestate']) });
    await over;
  } finally {
    clearInterval(keepAlive);
    questions.end();
    // Stops what runs for a client that has gone.
    if (!response.writableFinished) await server.close();
  }
}

/** Sends a part of a stream of events, which it begins with the first. */
function writeEvent(response: ServerResponse, text: string): void {
  if (response.writableEnded) return;
  if (!response.headersSent) response.writeHead(200, eventStream);
  response.write(text);
}

/** The questions of one call, under IDs that are new to the client and that nobody else can guess. */
function createQuestions({ expect, newId }: Conversation) {
  const open = new Map<RequestId, { readonly id: string; stop: () => void }>();
  let isOver = false;
  return {
    /** The question as the client gets it. `receive` gets the reply as the server expects it. */
    async ask(question: JSONRPCRequest, receive: (reply: JSONRPCMessage) => void): Promise<JSONRPCRequest> {
      if (expect === undefined) throw new Error('There is no session in which the client could answer.');
      const id = newId();
      const asked = { id, stop: () => {} };
      open.set(question.id, asked);
      asked.stop = await expect({ kind: 'answer', id }, (reply) => receive({ ...reply, id: question.id }));
      if (isOver) asked.stop();
      return { ...question, id };
    },
    /** The end of a question, with the ID by which the client knows it. Other messages are as they were. */
    renamed(sent: JSONRPCNotification): JSONRPCNotification {
      const asked = open.get(cancelledIn(sent) ?? '');
      return asked === undefined ? sent : { ...sent, params: { ...sent.params, requestId: asked.id } };
    },
    end(): void {
      isOver = true;
      for (const { stop } of open.values()) stop();
    },
  };
}

/** The header that begins a session, with the answer to a client that has introduced itself. */
function sessionHeader(
  { method }: JSONRPCRequest,
  answer: JSONRPCMessage,
  server: Server,
  { begin }: Conversation,
): Readonly<Record<string, string>> {
  if (method !== 'initialize' || !('result' in answer)) return {};
  return { 'mcp-session-id': begin(describeClient(server.getClientCapabilities(), server.getClientVersion())) };
}
