import { PassThrough, Writable } from 'node:stream';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { startSandbox } from '../../sandbox/sandbox.js';
import { createMessageLines } from '../../src/mcp/messages.js';
import { createServer } from '../../src/server.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { testCaller } from '../support/caller.js';
import { answerOf, post, serveInProcess } from '../support/http-in-process.js';

/** Messages that differ from the protocol, on both transports. Kinds of mistakes are from reports; names and values are made up. */

type Message = Record<string, unknown>;

const close: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of close.splice(0).reverse()) await each();
});

/** The server as over stdio, with the lines of a client. */
async function connect(elicitation: boolean = false) {
  let time = Date.parse('2026-11-20T12:00:00Z');
  const now = () => new Date(time);
  const sandbox = await startSandbox({ now, keys: { accessKeyId: 'SANDBOX', secretAccessKey: 'sandbox' } });
  const caller = testCaller('', {
    cloud: sandbox.cloud,
    now,
    policy: { readOnly: false, tools: undefined },
    confirm: 'ask',
  });
  const written: Message[] = [];
  const output = new Writable({
    decodeStrings: false,
    write: (json, _encoding, done) => {
      for (const line of String(json).split('\n')) if (line !== '') written.push(JSON.parse(line));
      done();
    },
  });
  const stdin = new PassThrough();
  const lines = createMessageLines({
    answer: (answer) => output.write(JSON.stringify(answer)),
    onTooLong: () => undefined,
  });
  const connection = serveStdio(() => createServer(caller.server), {
    transport: new StdioServerTransport(stdin.pipe(lines), output),
  });
  close.push(
    () => sandbox.close(),
    () => caller.close(),
    () => connection.close(),
  );
  const send = (message: unknown) => stdin.write(`${JSON.stringify(message)}\n`);
  const find = async (isWanted: (message: Message) => boolean): Promise<Message> => {
    await vi.waitUntil(() => written.some(isWanted));
    return written.find(isWanted) ?? {};
  };
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: elicitation ? { elicitation: {} } : {},
    clientInfo: { name: 'test', version: '1' },
  };
  return {
    written,
    send,
    stdin,
    caller,
    find,
    answerTo: (id: unknown) => find((message) => message.id === id && message.method === undefined),
    initialize: () => send({ jsonrpc: '2.0', id: 'begin', method: 'initialize', params }),
    wait: (ms: number) => {
      time += ms;
    },
  };
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const invalid = (code: number, id: unknown = 1) => ({
  id,
  error: { code, message: expect.stringMatching(/^[^{\n]+\.$/) },
});
const served = { id: 1, result: {} };

const requests: readonly (readonly [string, object, object])[] = [
  ['without a version', { id: 1, method: 'ping' }, served],
  ['with nulls of a response', { ...ping, result: null, error: null, params: null }, served],
  ['with another field', { ...ping, trace: 'x' }, served],
  ['of another version', { ...ping, jsonrpc: '2' }, invalid(-32600)],
  ['with a version that is a number', { ...ping, jsonrpc: 2 }, invalid(-32600)],
  ['with a fraction as ID', { ...ping, id: 1.5 }, invalid(-32600, null)],
  ['with an object as ID', { ...ping, id: {} }, invalid(-32600, null)],
  ['with null as ID', { ...ping, id: null }, invalid(-32600, null)],
  ['with an ID that is not exact', { ...ping, id: 2 ** 60 }, invalid(-32600, null)],
  ['whose method is null', { ...ping, method: null }, invalid(-32600)],
  ['whose method is a list', { ...ping, method: ['ping'] }, invalid(-32600)],
  ['with a list as _meta', { ...ping, params: { _meta: [] } }, invalid(-32602)],
  ['with a list as progress token', { ...ping, params: { _meta: { progressToken: [] } } }, invalid(-32602)],
  ['that calls no tool', { ...ping, method: 'tools/call', params: { arguments: {} } }, invalid(-32602)],
  ['that reads null', { ...ping, method: 'resources/read', params: { uri: null } }, invalid(-32602)],
  ['that lists from a number', { ...ping, method: 'tools/list', params: { cursor: 5 } }, invalid(-32602)],
];

describe('a request', () => {
  test.each(requests)('over stdio, %s', async (_what, request, answer) => {
    const { send, initialize, written, answerTo } = await connect();
    initialize();
    send(request);
    send({ ...ping, id: 'last' });
    await answerTo('last');
    expect(written.filter(({ id }) => id !== 'begin' && id !== 'last')).toMatchObject([answer]);
  });

  test.each(requests)('over HTTP, %s', async (_what, request, answer) => {
    const server = await serveInProcess();
    close.push(server.close);
    expect(await answerOf(await post(server.url, request))).toMatchObject(answer);
  });

  test.each([
    ['a notification', { method: 'notifications/initialized', params: [] }],
    ['a notification with all fields', { jsonrpc: null, id: null, method: 'notifications/initialized', params: 'x' }],
    ['a response to nothing', { jsonrpc: '2.0', id: 7, result: 'x' }],
    ['a response with an ID that is none', { id: {}, result: {} }],
  ])('%s has no answer', async (_what, message) => {
    const { send, initialize, written, answerTo } = await connect();
    initialize();
    send(message);
    send({ ...ping, id: 'last' });
    await answerTo('last');
    expect(written.map(({ id }) => id)).toEqual(['begin', 'last']);
  });
});

const declarations: readonly (readonly [string, unknown])[] = [
  ['no parameters', null],
  ['a version that is a number', { protocolVersion: 20251125 }],
  ['capabilities as text', { capabilities: 'all' }],
  ['a capability that is true', { capabilities: { roots: true, sampling: [], tasks: 1, elicitation: 'url' } }],
  ['parts of capabilities', { capabilities: { elicitation: { url: true }, experimental: { a: 1 } } }],
  ['an extension', { capabilities: { extensions: { 'io.modelcontextprotocol/ui': false, other: {} } } }],
  ['a client that is a text', { clientInfo: 'me' }],
  ['fields of the client', { clientInfo: { name: 5, version: [], title: {}, icons: [{}, null] } }],
  ['metadata', { _meta: { progressToken: {} } }],
];

describe('a client connects if it declares oddly', () => {
  test.each(declarations)('%s', async (_what, params) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
    const { send, answerTo } = await connect();
    send(message);
    const answer = { result: { serverInfo: { name: 'cloudops-mcp' } } };
    expect(await answerTo(1)).toMatchObject(answer);
    const server = await serveInProcess();
    close.push(server.close);
    expect(await answerOf(await post(server.url, message))).toMatchObject(answer);
  });

  test('and all other parts count', async () => {
    const elicitation = { form: { applyDefaults: 'no' }, url: 5 };
    const { send, find, answerTo } = await connect();
    const params = { capabilities: { elicitation, roots: 1 }, clientInfo: { name: 'n', version: 2 } };
    send({ id: 1, method: 'initialize', params });
    await answerTo(1);
    send(call);
    expect(await find(({ method }) => method === 'elicitation/create')).toMatchObject({ params: { mode: 'form' } });
  });

  test('in each request since 2026-07-28', async () => {
    const key = (name: string) => `io.modelcontextprotocol/${name}`;
    const _meta = {
      [key('protocolVersion')]: '2026-07-28',
      [key('clientInfo')]: { name: 'n', version: 2 },
      [key('clientCapabilities')]: { elicitation: 'yes', extensions: { a: 1 } },
    };
    const { send, answerTo } = await connect();
    send({ ...ping, method: 'tools/list', params: { _meta } });
    expect(await answerTo(1)).toMatchObject({ result: { tools: expect.any(Array) } });
  });
});

const call = {
  jsonrpc: '2.0',
  id: 'call',
  method: 'tools/call',
  params: { name: 'restore_instance', arguments: { ...restoreInstance.example } },
};

/** A client that is asked, and a person who has read the question. */
async function ask() {
  const session = await connect(true);
  session.initialize();
  session.send(call);
  const question = await session.find(({ method }) => method === 'elicitation/create');
  session.wait(5_000);
  return { ...session, question };
}

describe('the response to a question', () => {
  const accept = (label: unknown) => ({ action: 'accept', content: { decision: label } });
  const error = { code: -32601, message: 'no such method' };

  test.each<readonly [string, (label: unknown) => object, 'accepted' | 'planned']>([
    ['a yes beside nulls', (label) => ({ method: null, params: null, result: accept(label), error: null }), 'accepted'],
    ['a yes without a version', (label) => ({ jsonrpc: null, result: accept(label) }), 'accepted'],
    ['a yes with another field', (label) => ({ result: accept(label), time: 5 }), 'accepted'],
    ['no result', () => ({}), 'planned'],
    ['null', () => ({ result: null }), 'planned'],
    ['a number', () => ({ result: 1 }), 'planned'],
    ['a list', () => ({ result: ['accept'] }), 'planned'],
    ['an error that is a text', () => ({ error: 'no' }), 'planned'],
    ['an error whose code is a text', () => ({ error: { ...error, code: 'E1' } }), 'planned'],
    ['an error without a message', () => ({ error: { code: -1 } }), 'planned'],
    ['an error beside a null', () => ({ result: null, error: { ...error, data: null } }), 'planned'],
    ['an error beside a yes', (label) => ({ result: accept(label), error }), 'planned'],
    ['a yes of another version', (label) => ({ jsonrpc: '1.0', result: accept(label) }), 'planned'],
  ])('%s', async (_what, answerWith, outcome) => {
    const { send, answerTo, question } = await ask();
    const { params } = question as { params: { requestedSchema: { properties: { decision: { enum: string[] } } } } };
    send({ jsonrpc: '2.0', id: question.id, ...answerWith(params.requestedSchema.properties.decision.enum[0]) });
    expect(await answerTo('call')).toMatchObject({ result: { structuredContent: { outcome } } });
  });

  test.each<readonly [string, (session: Awaited<ReturnType<typeof ask>>) => void]>([
    [
      'the client cancels the call',
      ({ send }) =>
        send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'call', reason: 'too late' } }),
    ],
    ['the client closes the connection', ({ stdin }) => stdin.end()],
  ])('is none if %s', async (_what, end) => {
    const session = await ask();
    end(session);
    const { store } = session.caller;
    await vi.waitUntil(async () => (await store.newest({ limit: 1 }))[0]?.state !== 'waiting');
    expect(await store.newest({ limit: 5 })).toMatchObject([{ state: 'withdrawn', decision: { way: 'withdrawn' } }]);
  });
});
