import { InMemoryTransport, type JSONRPCMessage } from '@modelcontextprotocol/client';
import {
  CallToolResultV2Schema,
  CancelTaskResultV2Schema,
  CreateTaskResultV2Schema,
  TASKS_EXTENSION_ID_V2 as extension,
  GetTaskResultV2Schema,
  UpdateTaskResultV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';
import type { Click } from '../../src/changes/decide.js';
import { createSqlite } from '../../src/changes/sqlite.js';
import { createChanges } from '../../src/changes/store.js';
import { readMessage } from '../../src/mcp/messages.js';
import { createReadTasks } from '../../src/mcp/read-tasks.js';
import { createServer } from '../../src/server.js';
import { never, type TestCallerOptions, testCaller } from './caller.js';
import { processOn, wallClock } from './changes.js';
import { restore } from './decisions.js';
import { answered, scriptedClient } from './scripted-client.js';

/** Servers and requests for tests of tasks. Every result is checked with the schemas of the extension. */

const inEnvelope = (name: string) => `io.modelcontextprotocol/${name}`;
export const withTasks = { extensions: { [extension]: {} } };

/** A request as a client of 2026-07-28 sends it. */
export const request = (method: string, params: object, capabilities: object = withTasks) => ({
  jsonrpc: '2.0' as const,
  id: 1,
  method,
  params: {
    ...params,
    _meta: {
      [inEnvelope('protocolVersion')]: '2026-07-28',
      [inEnvelope('clientInfo')]: { name: 'tester', version: '1' },
      [inEnvelope('clientCapabilities')]: capabilities,
    },
  },
});
export const toolCall = (capabilities?: object) =>
  request('tools/call', { name: 'restore_instance', arguments: restore }, capabilities);

const schemas: Readonly<Record<string, z.ZodType>> = {
  'tools/call': z.union([CreateTaskResultV2Schema, CallToolResultV2Schema]),
  'tasks/get': GetTaskResultV2Schema,
  'tasks/update': UpdateTaskResultV2Schema,
  'tasks/cancel': CancelTaskResultV2Schema,
};

type Answer = { readonly result?: Readonly<Record<string, unknown>>; readonly error?: unknown };

/** Fails if a result does not fit the extension. */
export function checked(method: string, answer: Answer): Answer {
  if (answer.result !== undefined) schemas[method]?.parse(answer.result);
  return answer;
}

export const page = {
  kind: 'signIn',
  addressOf: (id: string) => `https://cloudops.example.com/decisions/${id}/`,
  announce: () => undefined,
} as const;

export interface ServerOptions extends TestCallerOptions {
  readonly host?: string;
  /** How long a read waits before it becomes a task (milliseconds). */
  readonly taskAfterMs?: number;
}

/** A server on a file of changes, with one client on stdio. The clock is the test's. */
export async function serveTaskClient(
  file: string,
  clock: { time: number },
  { host = 'one', taskAfterMs, ...options }: ServerOptions = {},
) {
  const now = () => new Date(clock.time);
  const { openClient, requests } = scriptedClient(async () => answered(200, { instance: { instanceId: 'wiki' } }));
  const engine = createSqlite(file, { clock: wallClock(now) });
  const store = createChanges(engine, { process: processOn(host) });
  const caller = testCaller('http://127.0.0.1:1', { confirm: 'human', page, openClient, now, store, ...options });
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  const reads = createReadTasks(now, taskAfterMs);
  const connection = serveStdio(() => createServer({ ...caller.server, reads }), { transport: serverSide });
  const close = async () => {
    await connection.close();
    await caller.close();
  };
  const waiting = new Map<unknown, (message: JSONRPCMessage) => void>();
  clientSide.onmessage = (message) => waiting.get(Object(message).id)?.(message);
  await clientSide.start();
  const send = async (message: ReturnType<typeof request>): Promise<Answer> => {
    const id = waiting.size;
    const answer = new Promise<JSONRPCMessage>((resolve) => {
      waiting.set(id, resolve);
    });
    const read = readMessage({ ...message, id });
    if (read.kind === 'read') await clientSide.send(Object(read.message));
    return checked(message.method, Object(await answer));
  };
  const about = (method: string, taskId: unknown, more: object = {}) =>
    send(request(`tasks/${method}`, { taskId, ...more }));
  return {
    requests,
    close,
    send,
    start: async () => {
      const { result, error } = await send(toolCall());
      if (error !== undefined) throw new Error(JSON.stringify(error));
      return Object(result);
    },
    get: async (taskId: unknown) => Object((await about('get', taskId)).result),
    about,
    /** What `get_change` answers. */
    told: async (changeId: unknown) =>
      Object((await send(request('tools/call', { name: 'get_change', arguments: { changeId } }))).result),
    /** A click of bob on the page, after three seconds. */
    click: async (taskId: unknown, decision: Click['decision']) => {
      clock.time += 3_000;
      const change = await store.find(String(taskId));
      if (change === undefined) throw new Error('there is no such change');
      return caller.changes.click(
        change,
        { decision, where: 'page', person: 'bob' },
        { client: { name: 'page' }, signal: never },
      );
    },
  };
}

export type TaskServer = Awaited<ReturnType<typeof serveTaskClient>>;
