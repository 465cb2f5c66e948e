import { createMCPClient } from '@ai-sdk/mcp';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededBackupId } from '../../sandbox/devops.js';
import { operations } from '../../src/tools/index.js';
import { type HttpProcess, startHttpProcess } from '../support/http-process.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { allNames, exampleCalls } from '../support/operations.js';
import { readAsAPerson } from '../support/person.js';

/** Real clients over HTTP against the built server. */

interface Result {
  readonly isError?: unknown;
  readonly structuredContent?: unknown;
}
interface AnyClient {
  list(): Promise<string[]>;
  call(name: string, args: Record<string, unknown>): Promise<Result>;
  close(): Promise<void>;
}
type Person = (message: string) => { action: 'accept' | 'decline'; content?: Record<string, string> };

type Connect = (url: URL, person?: Person, fetch?: typeof globalThis.fetch) => Promise<AnyClient>;

const info = { name: 'test', version: '1' };

/** With a person, the client declares elicitation. */
async function connectV1(url: URL, person?: Person, fetch?: typeof globalThis.fetch): Promise<AnyClient> {
  const client = new ClientV1(info, { capabilities: person === undefined ? {} : { elicitation: {} } });
  if (person !== undefined)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      await readAsAPerson();
      return person(params.message);
    });
  await client.connect(new HttpV1(url, fetch && { fetch }) as Parameters<typeof client.connect>[0]);
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Result,
    close: () => client.close(),
  };
}

const connectV2 =
  (mode: 'legacy' | 'auto' | { pin: string }, era: string) =>
  async (url: URL, person?: Person, fetch?: typeof globalThis.fetch): Promise<AnyClient> => {
    const capabilities = person === undefined ? {} : { elicitation: { form: {} } };
    const client = new ClientV2(info, { capabilities, versionNegotiation: { mode } });
    if (person !== undefined)
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        await readAsAPerson();
        return person(params.message);
      });
    await client.connect(new HttpV2(url, fetch && { fetch }));
    expect(client.getProtocolEra()).toBe(era);
    return {
      list: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args }),
      close: () => client.close(),
    };
  };

async function connectAiSdk(url: URL): Promise<AnyClient> {
  const client = await createMCPClient({ transport: { type: 'http', url: url.href } });
  const tools = await client.tools();
  return {
    list: async () => Object.keys(tools),
    call: async (name, args) => (await tools[name]?.execute?.(args, { toolCallId: '1', messages: [] })) as Result,
    close: () => client.close(),
  };
}

const clients: readonly [string, Connect][] = [
  ['SDK 1.x', connectV1],
  ['SDK 2.x, legacy', connectV2('legacy', 'legacy')],
  ['SDK 2.x, auto', connectV2('auto', 'modern')],
  ['SDK 2.x, pinned to 2026-07-28', connectV2({ pin: '2026-07-28' }, 'modern')],
  ['@ai-sdk/mcp', connectAiSdk],
];

const restore = (instanceId: string) => ({ backupId: seededBackupId, instanceId });

describe('every client lists and calls all tools', () => {
  const start = () => startHttpProcess(['--sandbox', 'CLOUDOPS_CONFIRM=off', `CLOUDOPS_TOOLS=${allNames}`]);

  test.each(clients)('%s', async (_name, connect) => {
    const server = await start();
    const client = await connect(server.url);
    expect(await client.list()).toEqual([...exampleCalls.map(({ name }) => name), 'get_change', 'withdraw_change']);
    const results = [];
    for (const { name, arguments: args } of exampleCalls) results.push(await client.call(name, args));
    expect(results.map(({ isError }) => isError ?? false)).toEqual(exampleCalls.map(() => false));
    expect(results.map(({ structuredContent }) => structuredContent)).toMatchObject(
      operations.map(({ effect }) => (effect === 'read' ? { answer: {} } : { outcome: 'accepted', answer: {} })),
    );
    await client.close();
    await server.stop();
  });

  test.each([
    [[], false],
    [['CLOUDOPS_VIEWS=on'], true],
  ])('with %j, views are offered to a client that does not declare them: %s', async (args, expected) => {
    const server = await startHttpProcess(['--sandbox', ...args]);
    const client = await connectV1(server.url);
    expect((await client.list()).includes('decide_change')).toBe(expected);
    await client.close();
    await server.stop();
  });

  test('calls are counted by tool and outcome, and nothing that a client chose is a label', async () => {
    const server = await start();
    const client = await connectV1(server.url);
    await client.call('list_parts', { bucket: 'chosen-by-client' });
    await client.call('restore_instance', restore('chosen-by-client'));
    await client.close();
    const metrics = await server.metrics();
    expect(metrics).toMatch(/cloudops_calls_total\{tool="restore_instance",outcome="accepted"\} \d+/);
    expect(metrics).toMatch(/cloudops_calls_total\{tool="list_parts",outcome="refused"\} \d+/);
    expect(metrics).toMatch(/cloudops_call_duration_seconds_bucket\{le="60",tool="list_parts"\} \d+/);
    expect(metrics).toMatch(/cloudops_concurrent_calls 0/);
    expect(metrics).not.toContain('chosen-by-client');
    await server.stop();
  });
});

describe('consent, from replicas that share a key and a journal, with each request going to the next', () => {
  const stateKey = 'a key that the whole fleet shares, all of it';
  let cloud: CapturingServer;
  let replicas: HttpProcess[];
  beforeAll(async () => {
    cloud = await startServer((_request, response) => response.end('{"instance":{"instanceId":"restored"}}'));
    const env = {
      CLOUDOPS_STATE_KEY: stateKey,
      CLOUDOPS_DEVOPS_URL: cloud.origin,
      CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
      CLOUDOPS_SECRET_ACCESS_KEY: 'test',
    };
    replicas = await Promise.all([startHttpProcess([], { env }), startHttpProcess([], { env })]);
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await cloud.close();
  });

  /** Sends each request to the next replica. */
  function roundRobin(): typeof globalThis.fetch {
    let count = 0;
    return (_input, init) => {
      count += 1;
      return fetch(replicas[count % replicas.length]?.url ?? '', init);
    };
  }
  /** The label of the accepting option names the server, as the question does. */
  const acceptLabel = (message: string) => `Create server "${/server "([^"]*)"/.exec(message)?.[1]}" (costs money)`;
  const connectTo = (connect: Connect, person?: Person) =>
    connect(replicas[0]?.url ?? new URL(''), person, roundRobin());
  const agree: Person = (message) => ({ action: 'accept', content: { decision: acceptLabel(message) } });

  test.each(
    clients
      .slice(0, 2)
      .flatMap(([name, connect]) => [
        [name, 'cannot ask', connect, undefined] as const,
        [
          name,
          'shows forms, which this protocol has no way for over HTTP,',
          connect,
          () => expect.unreachable(),
        ] as const,
      ]),
  )('%s: a client that %s makes two calls', async (name, what, connect, person) => {
    const args = restore(`plan-${name.length}-${what.length}`);
    const client = await connectTo(connect, person);
    const sent = cloud.requests.length;
    const { structuredContent } = await client.call('restore_instance', args);
    const { outcome, changeId } = structuredContent as { outcome: string; changeId: string };
    expect([outcome, cloud.requests.length]).toEqual(['planned', sent]);
    const confirm = () => client.call('confirm_change', { changeId, thing: args.instanceId });
    expect(await confirm()).toMatchObject({ structuredContent: { outcome: 'accepted' } });
    // A second confirmation returns the outcome of the change, and sends nothing.
    expect(await confirm()).toMatchObject({
      structuredContent: { outcome: 'accepted', notes: [expect.stringContaining('This call changed nothing.')] },
    });
    expect(cloud.requests).toHaveLength(sent + 1);
    await client.close();
  });

  test.each(clients.slice(2, 4))(
    '%s: the result of the call asks, and the next call brings the answer',
    async (name, connect) => {
      const questions: string[] = [];
      const ask =
        (answer: Person): Person =>
        (message) => {
          questions.push(message);
          return answer(message);
        };
      const args = restore(`asked-${name.length}`);
      const sent = cloud.requests.length;
      const decliner = await connectTo(
        connect,
        ask(() => ({ action: 'decline' })),
      );
      expect(await decliner.call('restore_instance', args)).toMatchObject({ isError: true });
      expect(cloud.requests).toHaveLength(sent);
      const agreer = await connectTo(connect, ask(agree));
      expect(await agreer.call('restore_instance', args)).toMatchObject({ structuredContent: { outcome: 'accepted' } });
      expect(cloud.requests).toHaveLength(sent + 1);
      expect(questions).toEqual(Array(2).fill(expect.stringContaining(args.instanceId)));
      await decliner.close();
      await agreer.close();
    },
  );
});
