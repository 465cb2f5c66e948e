import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { changeToolNames, serviceToolNames } from '../../src/mcp/server-tools.js';
import { operations } from '../../src/tools/index.js';
import { type Dialect, dialectAt, type OfferedTool } from './dialects.js';

/** A tool call that the stand-in makes, by the server's own name of the tool. */
export interface ScriptedCall {
  readonly tool: string;
  /** Also made of what the model was told so far. */
  readonly args: Args | ((results: readonly string[]) => Args);
}

type Args = Readonly<Record<string, unknown>>;

/** A tool of changes, with the changeId that the model got last. */
export const ofLastChange = (tool: string, args: Args = {}): ScriptedCall => ({
  tool,
  args: (results) => ({ ...args, changeId: /changeId[\\": ]+([\w-]+)/.exec(results.at(-1) ?? '')?.[1] ?? '' }),
});

/** A stand-in for the API of a model. It makes the calls of a script, one after the other, and notes what it is told. */
export interface ScriptedModel {
  readonly origin: string;
  /** The server's tools as the client offers them, by the server's own names. */
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** What the model got as the result of each call, in order. */
  results(): readonly string[];
  /** Bodies of all requests. */
  readonly requests: readonly string[];
  /** Requests that it could not answer. */
  readonly refused: readonly string[];
  close(): Promise<void>;
}

const toolNames = [...operations.map(({ name }) => name), ...changeToolNames, ...serviceToolNames];

const eventText = (event: object) =>
  `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;

/** Starts a stand-in on a port of its own, on loopback. */
export async function startScriptedModel(script: readonly ScriptedCall[]): Promise<ScriptedModel> {
  const tools = new Map<string, OfferedTool>();
  const requests: string[] = [];
  const refused: string[] = [];
  let results: readonly string[] = [];

  /** Clients also ask for titles and the like: such requests have none of our tools. */
  const nextCall = (conversation: ReturnType<Dialect['read']>) => {
    if (!conversation.tools.some(({ name }) => name.endsWith('list_parts'))) return undefined;
    const next = script[conversation.results.length];
    const tool = next && tools.get(next.tool);
    if (next === undefined || tool === undefined) return undefined;
    return { tool, args: typeof next.args === 'function' ? next.args(conversation.results) : next.args };
  };

  const answer = (dialect: Dialect, body: unknown, response: ServerResponse) => {
    const conversation = dialect.read(body);
    for (const tool of conversation.tools) {
      const found = toolNames.find((name) => tool.name.endsWith(name));
      if (found !== undefined) tools.set(found, tool);
    }
    if (conversation.results.length > results.length) results = conversation.results;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of dialect.write(`call_${conversation.results.length}`, nextCall(conversation)))
      response.write(eventText(event));
    response.end();
  };

  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://stand-in');
    const body = await text(request);
    requests.push(body);
    const dialect = dialectAt(pathname);
    try {
      if (dialect === undefined) throw new Error('there is nothing here');
      answer(dialect, JSON.parse(body), response);
    } catch (error) {
      refused.push(`${request.method} ${pathname}: ${error}`);
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not in the script"}}');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the stand-in has no port');
  return {
    origin: `http://127.0.0.1:${address.port}`,
    tools,
    results: () => results,
    requests,
    refused,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
