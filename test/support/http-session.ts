import { post } from './http-in-process.js';

/** A client of 2025-11-25 over HTTP that does nothing by itself, so that tests choose every message and header. */
export interface RawClient {
  /** The ID of its session, as the server gave it. */
  readonly session: string | undefined;
  /** Calls a tool, and reads the stream up to the first question or the result. */
  call(name: string, args: object, more?: { id?: number; headers?: Record<string, string> }): Promise<RawCall>;
  /** Posts any message. */
  send(message: object, headers?: Record<string, string>): Promise<Response>;
  /** Posts the answer to a question. */
  answer(question: unknown, result: object, headers?: Record<string, string>): Promise<number>;
}

/** A running call with its messages so far. */
export interface RawCall {
  /** The first question or result. */
  readonly first: Message;
  /** The rest of the stream, with the result after a question. */
  rest(): Promise<Message | undefined>;
  /** Closes the connection. */
  drop(): void;
}

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly message?: string; readonly [field: string]: unknown };
  readonly result?: {
    readonly isError?: boolean;
    readonly structuredContent?: { readonly [field: string]: unknown };
    readonly [field: string]: unknown;
  };
}

const versionHeader = { 'mcp-protocol-version': '2025-11-25' };

/** Begins a session. `token` is for servers that authenticate their callers. */
export async function openSession(
  url: URL,
  { capabilities = { elicitation: {} }, token }: { capabilities?: object; token?: string } = {},
): Promise<RawClient> {
  const own: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const begun = await post(
    url,
    {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'raw', version: '1' } },
    },
    own,
  );
  await begun.text();
  const session = begun.headers.get('mcp-session-id') ?? undefined;
  const usual = { ...own, ...versionHeader, ...(session !== undefined && { 'mcp-session-id': session }) };
  const send = (message: object, headers: Record<string, string> = {}) => post(url, message, { ...usual, ...headers });
  return {
    session,
    send,
    answer: async (id, result, headers) => (await send({ jsonrpc: '2.0', id, result }, headers)).status,
    call: async (name, args, { id = 1, headers = {} } = {}) => {
      const leave = new AbortController();
      const response = await fetch(url, {
        method: 'POST',
        signal: leave.signal,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...usual,
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } }),
      });
      const messages = messagesOf(response);
      const next = async () => {
        for (;;) {
          const { value, done } = await messages.next();
          if (done === true) return undefined;
          if (value.id !== undefined) return value;
        }
      };
      const first = await next();
      if (first === undefined) throw new Error('the answer ended before it said anything');
      return { first, rest: next, drop: () => leave.abort() };
    },
  };
}

/** The messages of an answer, whether it is JSON or a stream of events. */
async function* messagesOf(response: Response): AsyncGenerator<Message, undefined> {
  if (response.body === null || response.headers.get('content-type') !== 'text/event-stream') {
    yield JSON.parse(await response.text());
    return;
  }
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const [, data] = /^data: (.*)$/m.exec(event) ?? [];
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}
