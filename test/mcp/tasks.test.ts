import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { TASKS_EXTENSION_ID_V2 as extension } from '@modelcontextprotocol/ext-tasks/core/v2';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Click } from '../../src/changes/decide.js';
import { memoryStore, type TestCallerOptions } from '../support/caller.js';
import { browserOf, type Decisions, restore, serveDecisions } from '../support/decisions.js';
import { answerOf, post } from '../support/http-in-process.js';
import { answered, scriptedClient, unanswered } from '../support/scripted-client.js';
import {
  checked,
  page,
  request,
  type ServerOptions,
  serveTaskClient,
  type TaskServer,
  toolCall,
  withTasks,
} from '../support/task-server.js';

/** A change that waits on the page is a task for clients that declare the extension. Every answer fits the schemas of the extension. */

let folder: string;
let closing: (() => Promise<unknown>)[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cloudops-tasks-'));
  closing = [];
});
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  await rm(folder, { recursive: true });
});

async function serve(
  clock: { time: number },
  { file = 'journal.db', ...options }: ServerOptions & { readonly file?: string } = {},
) {
  const server = await serveTaskClient(join(folder, file), clock, options);
  closing.push(server.close);
  return server;
}

type Served = TaskServer;
type End = (server: Served, taskId: unknown, clock: { time: number }) => unknown;

const clicked =
  (decision: Click['decision']): End =>
  (server, taskId) =>
    server.click(taskId, decision);

const startTime = Date.parse('2026-11-21T12:00:00Z');

describe('a plan on the page', () => {
  test('is a task, which says who decides where, and how long it waits', async () => {
    const server = await serve({ time: startTime });
    const task = await server.start();
    expect(task).toMatchObject({
      resultType: 'task',
      status: 'working',
      createdAt: '2026-11-21T12:00:00.000Z',
      // Ten minutes, and an hour until it is erased.
      ttlMs: 70 * 60_000,
      pollIntervalMs: 5_000,
    });
    expect(task.statusMessage).toBe(
      `This plan of restore_instance still waits for a person who signs in to the page. The plan expires at 2026-11-21T12:10:00.000Z. The page: ${page.addressOf(task.taskId)}`,
    );
    const { resultType: _, content: __, _meta: meta, ...handle } = task;
    // Claude Code shows its model only this.
    expect(meta).toMatchObject({ 'com.anthropic/agent-task': { modelImmediateResponse: task.statusMessage } });
    expect(await server.get(task.taskId)).toMatchObject(handle);
    expect(server.requests).toEqual([]);
  });

  test.each<readonly [string, object]>([
    ['declares nothing', {}],
    ['declares it in a wrong form', { extensions: { [extension]: true } }],
    ['declares another extension', { extensions: { [`${extension}/v2`]: {} } }],
  ])('is a plan as ever for a client that %s, whose requests about tasks are errors', async (_how, capabilities) => {
    const server = await serve({ time: startTime });
    const { result } = await server.send(toolCall(capabilities));
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { outcome: 'waiting' } });
    const { changeId: taskId } = Object(result?.structuredContent);
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      expect(await server.send(request(method, { taskId, inputResponses: {} }, capabilities))).toMatchObject({
        error: { code: -32021, data: { requiredCapabilities: withTasks } },
      });
    expect(await server.get(taskId)).toMatchObject({ status: 'working' });
  });

  test('that is in the browser of this machine keeps its address secret', async () => {
    const server = await serve({ time: startTime }, { page: { kind: 'local', show: () => undefined } });
    expect((await server.start()).statusMessage).toMatch(
      /^This plan of restore_instance still waits for the person at this machine, in the browser. The plan expires at [^ ]+\.$/,
    );
  });
});

describe('a task ends', () => {
  const ending = (outcome: object) => ({ status: 'completed', ttlMs: null, result: { structuredContent: outcome } });
  test.each<readonly [string, End, object, ServerOptions]>([
    ['accepted', clicked('accept'), ending({ outcome: 'accepted', notes: expect.any(Array) }), {}],
    ['declined', clicked('decline'), ending({ code: 'Declined' }), {}],
    ['rejected', clicked('accept'), ending({ outcome: 'rejected', status: 409 }), replying(answered(409, {}))],
    ['unknown', clicked('accept'), ending({ outcome: 'unknown' }), replying(unanswered(true))],
    [
      'expired',
      (_server, _taskId, clock) => {
        clock.time += 601_000;
      },
      { status: 'completed', result: { isError: true, structuredContent: { code: 'PlanExpired' } } },
      {},
    ],
  ])('%s, with the result that get_change gives', async (_how, end, expected, options) => {
    const clock = { time: startTime };
    const server = await serve(clock, options);
    const { taskId } = await server.start();
    await end(server, taskId, clock);
    const task = await server.get(taskId);
    expect(task).toMatchObject(expected);
    const { _meta: __, ...told } = await server.told(taskId);
    expect(task.result).toEqual(told);
    // Too late: what has happened stays.
    expect(await server.about('cancel', taskId)).toMatchObject({ result: { resultType: 'complete' } });
    expect(await server.get(taskId)).toEqual(task);
  });

  test('cancelled by the client, and nobody can decide any more', async () => {
    const server = await serve({ time: startTime });
    const { taskId } = await server.start();
    expect(await server.about('cancel', taskId)).toMatchObject({ result: { resultType: 'complete' } });
    const cancelled = await server.get(taskId);
    expect(cancelled).toMatchObject({ status: 'cancelled', statusMessage: expect.stringContaining('withdrew') });
    expect(await server.click(taskId, 'accept')).toMatchObject({ kind: 'late' });
    expect(await server.get(taskId)).toEqual(cancelled);
    expect(server.requests).toEqual([]);
  });

  test('only when the cloud has answered, and cannot be taken back before', async () => {
    let answer: (reply: ReturnType<typeof answered>) => void = () => undefined;
    const reply = new Promise<ReturnType<typeof answered>>((resolve) => {
      answer = resolve;
    });
    const { openClient, requests } = scriptedClient(() => reply);
    const server = await serve({ time: startTime }, { openClient, statusWaitMs: 60_000 });
    const { taskId } = await server.start();
    const decided = server.click(taskId, 'accept');
    await expect.poll(() => requests.length).toBe(1);
    expect(await server.about('cancel', taskId)).toMatchObject({ result: { resultType: 'complete' } });
    expect(await server.get(taskId)).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('It cannot be taken back any more.'),
    });
    answer(answered(200, { instance: { instanceId: 'wiki' } }));
    await decided;
    expect(await server.get(taskId)).toMatchObject(ending({ outcome: 'accepted' }));
  });

  test('and a response to a question that no task asks decides nothing', async () => {
    const server = await serve({ time: startTime });
    const { taskId } = await server.start();
    const inputResponses = { consent: { action: 'accept', content: { decision: 'Yes' } } };
    expect(await server.about('update', taskId, { inputResponses })).toMatchObject({
      result: { resultType: 'complete' },
    });
    expect(await server.get(taskId)).toMatchObject({ status: 'working' });
    expect(server.requests).toEqual([]);
  });
});

function replying(reply: Awaited<ReturnType<Parameters<typeof scriptedClient>[0]>>): TestCallerOptions {
  return { openClient: scriptedClient(async () => reply).openClient };
}

describe('an ID that is no task of the caller', () => {
  test.each(['A'.repeat(22), '', '../../etc/passwd', 'x'.repeat(100_000)])('is refused: %.30s', async (taskId) => {
    const server = await serve({ time: startTime });
    for (const method of ['get', 'cancel', 'update'])
      expect(await server.about(method, taskId)).toMatchObject({
        error: { code: -32602, message: expect.stringContaining('no such change') },
      });
  });
});

test('a store that cannot be read is an error, and no end of the task', async () => {
  const server = await serve({ time: startTime });
  const { taskId } = await server.start();
  await server.close();
  const unreadable = { ...memoryStore(), find: () => Promise.reject(new Error('the disk is gone')) };
  const next = await serve({ time: startTime }, { store: unreadable });
  for (const method of ['get', 'cancel'])
    expect(await next.about(method, taskId)).toMatchObject({ error: { code: -32603 } });
});

test('a task outlives its server: the next one knows it, and carries it out', async () => {
  const clock = { time: startTime };
  const first = await serve(clock);
  const { taskId } = await first.start();
  await first.close();
  const second = await serve(clock, { host: 'two' });
  expect(await second.get(taskId)).toMatchObject({ status: 'working' });
  await second.click(taskId, 'accept');
  expect(await second.get(taskId)).toMatchObject({
    status: 'completed',
    result: { structuredContent: { outcome: 'accepted' } },
  });
  expect([first.requests.length, second.requests.length]).toEqual([0, 1]);
});

describe('two replicas agree in every history', () => {
  const about =
    (method: string): End =>
    (server, taskId) =>
      server.about(method, taskId, { inputResponses: {} });
  const acts = {
    get: about('get'),
    cancel: about('cancel'),
    update: about('update'),
    accept: clicked('accept'),
    decline: clicked('decline'),
    wait: (_server: Served, _taskId: unknown, clock: { time: number }) => {
      clock.time += 400_000;
    },
  };
  const what = fc.constantFrom('get', 'cancel', 'update', 'accept', 'decline', 'wait', 'restart');
  const step = fc.record({ replica: fc.constantFrom(0, 1), what });
  let histories = 0;

  test('there is one end, one request at most, and the result of the row', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (history) => {
        histories += 1;
        const { clock, file } = { clock: { time: startTime }, file: `${histories}.db` };
        const replicas: [Served, Served] = [await serve(clock, { file }), await serve(clock, { file, host: 'two' })];
        const requests = replicas.map((replica) => replica.requests);
        const { taskId } = await replicas[0].start();
        let last: Readonly<Record<string, unknown>> = { status: 'working' };
        for (const { replica, what } of history) {
          const server = replicas[replica];
          if (what === 'restart') {
            await server.close();
            replicas[replica] = await serve(clock, { file, host: `again ${requests.length}` });
            requests.push(replicas[replica].requests);
          } else await acts[what](server, taskId, clock);
          const seen = await replicas[0].get(taskId);
          expect(await replicas[1].get(taskId)).toEqual(seen);
          if (last.status !== 'working') expect(seen).toEqual(last);
          last = seen;
        }
        const { _meta: _, ...told } = await replicas[0].told(taskId);
        if (last.status === 'completed') expect(last.result).toEqual(told);
        expect(requests.flat()).toHaveLength(told.structuredContent.outcome === 'accepted' ? 1 : 0);
      }),
      { numRuns: 15 },
    );
  });
});

describe('over HTTP', () => {
  let served: Decisions;
  const send = async (message: ReturnType<typeof request>, token = 'alice', headers: Record<string, string> = {}) => {
    const { name, taskId } = Object(message.params);
    const response = await post(served.url, message, {
      authorization: `Bearer ${token}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': message.method,
      'mcp-name': name ?? taskId,
      ...headers,
    });
    return checked(message.method, await answerOf(response));
  };
  const get = (taskId: unknown, token?: string) => send(request('tasks/get', { taskId }), token);
  beforeEach(async () => {
    served = await serveDecisions({ confirm: 'approval' });
    closing.push(() => served.close());
  });

  test('somebody else decides on the page, and the task ends for its caller alone', async () => {
    const { result } = await send(toolCall());
    const { taskId } = Object(result);
    const browser = browserOf(served);
    await browser.signIn('bob');
    served.pass(3_000);
    await browser.decide(taskId, 'accept');
    expect(await get(taskId)).toMatchObject({
      result: { status: 'completed', result: { structuredContent: { outcome: 'accepted' } } },
    });
    expect(await get(taskId, 'mallory')).toMatchObject({ error: { code: -32602 } });
  });

  test('a foreign caller cancels nothing', async () => {
    const { taskId } = Object((await send(toolCall())).result);
    expect(await send(request('tasks/cancel', { taskId }), 'mallory')).toMatchObject({ error: { code: -32602 } });
    expect(await get(taskId)).toMatchObject({ result: { status: 'working' } });
  });

  test('a connector that names an older protocol in its header is served', async () => {
    const { taskId } = Object((await send(toolCall())).result);
    const message = request('tasks/get', { taskId });
    const headers = { authorization: 'Bearer alice', 'mcp-protocol-version': '2025-11-25' };
    expect(await answerOf(await post(served.url, message, headers))).toMatchObject({ result: { status: 'working' } });
  });

  test('the client of the extension gets the result of a decision, as if its call had waited', async () => {
    const client = new Client(
      { name: 'tester', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    await client.connect(
      new StreamableHTTPClientTransport(served.url, { requestInit: { headers: { authorization: 'Bearer alice' } } }),
    );
    closing.push(() => client.close());
    const session = createTaskSessionFromClient(client, {
      endpointId: 'cloudops',
      rawDispatch: async (raw) => {
        const { method, params } = Object(raw);
        const { result, error } = await send(request(method, params));
        return result === undefined
          ? { kind: 'error', error: Object(error) }
          : // The client would ask again after five seconds.
            { kind: 'result', result: { ...result, ...('pollIntervalMs' in result && { pollIntervalMs: 10 }) } };
      },
      v2RequestFraming: {
        protocolVersion: '2026-07-28',
        clientInfo: { name: 'tester', version: '1' },
        clientCapabilities: withTasks,
      },
    });
    const execution = await session.callTool('restore_instance', restore);
    const [waiting] = await served.store.waiting({});
    const browser = browserOf(served);
    await browser.signIn('bob');
    served.pass(3_000);
    await browser.decide(String(waiting?.id), 'accept');
    const { outcome } = await execution.settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject({ structuredContent: { outcome: 'accepted' } });
    await session.close();
  });

  test('a client of 2025 sees no task, and no request about tasks', async () => {
    const { result } = await answerOf(
      await post(
        served.url,
        {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'restore_instance', arguments: restore, task: { ttl: 1 } },
        },
        { authorization: 'Bearer alice', 'mcp-protocol-version': '2025-11-25' },
      ),
    );
    expect(result).toMatchObject({ structuredContent: { outcome: 'waiting' } });
    const { changeId: taskId } = Object(result?.structuredContent);
    const answer = await answerOf(
      await post(
        served.url,
        { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId } },
        { authorization: 'Bearer alice', 'mcp-protocol-version': '2025-11-25' },
      ),
    );
    expect(answer).toMatchObject({ error: { code: expect.any(Number) } });
  });
});
