import { answerOf, post, toolCall } from './http-in-process.js';

/** A client of 2025-11-25 over HTTP that does nothing by itself, so that tests choose every message and header. */
export interface RawClient {
  /** The ID of its session, as the server gave it. */
  readonly session: string | undefined;
  /** Calls a tool. */
  call(name: string, args: object, headers?: Record<string, string>): Promise<Message>;
  /** Posts any message. */
  send(message: object, headers?: Record<string, string>): Promise<Response>;
}

export interface Message {
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
  const send: RawClient['send'] = (message, headers = {}) => post(url, message, { ...usual, ...headers });
  return {
    session,
    send,
    call: async (name, args, headers) => answerOf(await send(toolCall(name, args), headers)),
  };
}
