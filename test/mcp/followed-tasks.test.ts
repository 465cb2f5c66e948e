import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Effect, Follow, Operation } from '../../src/tools/define-operation.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import type { FinalReply } from '../../src/transport/signed-client.js';
import { say } from '../../src/util/safe-text.js';
import { restore } from '../support/decisions.js';
import { answered, scriptedClient } from '../support/scripted-client.js';
import { request, type ServerOptions, serveTaskClient, toolCall } from '../support/task-server.js';

/** The task of a change whose progress a read shows ends when the cloud has finished, and each look makes at most one read. */

const { change: _, preflight: __, follow: ___, ...withoutChange } = restoreInstance as Operation;
const getInstance: Operation = {
  ...withoutChange,
  name: 'get_instance',
  api: 'GetInstance',
  effect: 'read',
  method: 'GET',
  input: () => z.strictObject({ InstanceId: z.string() }),
  schemas: { input: { type: 'object', properties: { InstanceId: { type: 'string' } } } },
  output: () => z.looseObject({}),
  request: ({ InstanceId }) => ({ path: `/instances/${InstanceId}` }),
  extract: (body) => body,
  summarize: () => say`There it is.`,
};
const byState: Follow = {
  read: 'GetInstance',
  arguments: { InstanceId: 'input.instanceId' },
  done: { 'Instance.State': 'RUNNING' },
  failed: { 'Instance.State': ['BROKEN'] },
};
const gone: Follow = { read: 'GetInstance', arguments: byState.arguments, gone: true };
const inState = (state: string) => answered(200, { Instance: { State: state } });
const notFound = answered(404, { error: { code: 'InstanceNotFound', message: 'There is none.' } });

const startTime = Date.parse('2026-11-21T12:00:00Z');
let folder: string;
let clock: { time: number };
let closing: (() => Promise<unknown>)[];
/** What the cloud answers to the next read. */
let reply: () => FinalReply | Promise<FinalReply>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cloudops-follow-'));
  clock = { time: startTime };
  closing = [];
  reply = () => inState('RESTORING');
});
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  await rm(folder, { recursive: true });
});

async function serve(follow: Follow, effect: Effect = 'create', options: ServerOptions = {}) {
  const { openClient, requests } = scriptedClient(async ({ method }) =>
    method === 'GET' ? reply() : answered(200, { instance: { instanceId: 'wiki' } }),
  );
  const server = await serveTaskClient(join(folder, 'journal.db'), clock, {
    operations: [{ ...(restoreInstance as Operation), effect, follow }, getInstance],
    confirm: 'off',
    openClient,
    ...options,
  });
  closing.push(server.close);
  /** The task after some seconds. */
  const after = async (seconds: number, taskId: unknown) => {
    clock.time += seconds * 1000;
    return server.get(taskId);
  };
  return { ...server, requests, reads: () => requests.filter(({ method }) => method === 'GET').length, after };
}

const working = (text: string) => ({ status: 'working', statusMessage: expect.stringContaining(text) });
const completed = (text: string) => ({
  status: 'completed',
  result: { structuredContent: { outcome: 'accepted', summary: expect.stringContaining(text) } },
});

test('an accepted change is a task, whose reads have growing pauses, until the cloud has finished', async () => {
  const server = await serve(byState);
  const task = await server.start();
  expect(task).toMatchObject({ resultType: 'task', ...working('It goes on in the cloud.') });
  const finished = completed('The change is finished. At 2026-11-21T12:00:35.000Z, Instance.State was "RUNNING".');
  const timeline: readonly (readonly [seconds: number, state: string, reads: number, expected: object])[] = [
    [4, 'RESTORING', 0, working('It goes on in the cloud.')],
    [1, 'RESTORING', 1, working('At 2026-11-21T12:00:05.000Z, Instance.State was "RESTORING".')],
    [9, 'RUNNING', 1, working('"RESTORING"')],
    [1, 'STARTING', 2, working('"STARTING"')],
    [19, 'RUNNING', 2, working('"STARTING"')],
    [1, 'RUNNING', 3, finished],
    [999, 'BROKEN', 3, finished],
  ];
  for (const [seconds, state, reads, expected] of timeline) {
    reply = () => inState(state);
    expect(await server.after(seconds, task.taskId)).toMatchObject(expected);
    expect(server.reads()).toBe(reads);
  }
  expect(server.requests).toHaveLength(4);
});

describe('the end of a task', () => {
  test.each<readonly [string, Follow, Effect, FinalReply, string]>([
    [
      'a failure in the cloud',
      byState,
      'create',
      inState('BROKEN'),
      'The change has failed in the cloud. At 2026-11-21T12:00:05.000Z',
    ],
    ['a thing that is not found after a deletion', gone, 'delete', notFound, 'the thing was not found any more'],
  ])('is %s', async (_what, follow, effect, answer, text) => {
    const server = await serve(follow, effect);
    const { taskId } = await server.start();
    reply = () => answer;
    expect(await server.after(5, taskId)).toMatchObject(completed(text));
  });

  test.each<readonly [string, Follow, FinalReply, string]>([
    ['a thing that is there after a deletion', gone, inState('RUNNING'), 'the thing was there'],
    ['a 404 of another program', gone, answered(404, 'not here'), 'its progress could not be read'],
    ['a wrong address', gone, answered(404, { error: { code: 'Client.URLNotFound' } }), '"Client.URLNotFound"'],
    ['an error', byState, answered(500, {}), 'its progress could not be read'],
    ['a thing that is not found yet', byState, notFound, 'its progress could not be read: "InstanceNotFound"'],
    ['an answer without the field', byState, answered(200, {}), 'the thing was there'],
  ])('is not %s', async (_what, follow, answer, text) => {
    const server = await serve(follow);
    const { taskId } = await server.start();
    reply = () => answer;
    expect(await server.after(5, taskId)).toMatchObject(working(text));
  });

  test('is the time limit: an hour, or that of the waiter', async () => {
    const server = await serve({ ...byState, pauseSeconds: 30, limitSeconds: 300 });
    const { taskId } = await server.start();
    expect(await server.after(29, taskId)).toMatchObject(working('It goes on'));
    expect(server.reads()).toBe(0);
    expect(await server.after(271, taskId)).toMatchObject(working('"RESTORING"'));
    expect(await server.after(60, taskId)).toMatchObject(completed('not finished within the time limit'));
    const ended = await server.get(taskId);
    expect(await server.after(999, taskId)).toEqual(ended);
  });

  test('is an hour without a waiter', async () => {
    const server = await serve(byState);
    const { taskId } = await server.start();
    expect(await server.after(3_600, taskId)).toMatchObject({ status: 'working' });
    expect(await server.after(60, taskId)).toMatchObject(completed('not finished within the time limit'));
  });

  test('is no state that an altered thing may have had before', async () => {
    const server = await serve(byState, 'alter');
    const { taskId } = await server.start();
    reply = () => inState('RUNNING');
    expect(await server.after(5, taskId)).toMatchObject({ status: 'working' });
    reply = () => inState('UPDATING');
    expect(await server.after(10, taskId)).toMatchObject({ status: 'working' });
    reply = () => inState('RUNNING');
    expect(await server.after(20, taskId)).toMatchObject(completed('The change is finished.'));
  });

  test.each([
    ['RUNNING', 'The change is finished.'],
    ['BROKEN', 'The change has failed in the cloud.'],
  ])('is that state if it stays for a minute: %s', async (state, text) => {
    const server = await serve(byState, 'alter');
    const { taskId } = await server.start();
    reply = () => inState(state);
    for (const seconds of [5, 54]) expect(await server.after(seconds, taskId)).toMatchObject({ status: 'working' });
    expect(await server.after(20, taskId)).toMatchObject(completed(text));
  });
});

const onlyChange = { readOnly: false, tools: ['restore_instance'] };

test.each<readonly [string, Follow, ServerOptions]>([
  ['the caller may not use the read', byState, { policy: onlyChange }],
  ['an argument of the read is not known', { ...byState, arguments: { InstanceId: 'answer.id' } }, {}],
  ['no read shows the end', { read: 'GetInstance', arguments: byState.arguments }, {}],
])('without a task, the result comes at once: %s', async (_why, follow, options) => {
  const server = await serve(follow, 'create', options);
  expect(await server.start()).toMatchObject({ resultType: 'complete', structuredContent: { outcome: 'accepted' } });
  expect(server.reads()).toBe(0);
});

test('a task that waited on the page ends at once if nobody can see the progress, and says so', async () => {
  const server = await serve(byState, 'create', { policy: onlyChange, confirm: 'human' });
  const { taskId } = await server.start();
  await server.click(taskId, 'accept');
  expect(await server.get(taskId)).toMatchObject(completed('nobody can see its progress here'));
});

test('a client that declares nothing gets the result at once, and nothing is read for it', async () => {
  const server = await serve(byState);
  expect((await server.send(toolCall({}))).result).toMatchObject({ structuredContent: { outcome: 'accepted' } });
  clock.time += 600_000;
  expect(server.reads()).toBe(0);
});

test('a plan that the agent confirms is a task from then on', async () => {
  const server = await serve(byState, 'create', { confirm: 'plan' });
  const { structuredContent } = await server.start();
  const args = { changeId: structuredContent.changeId, thing: restore.instanceId };
  const { result } = await server.send(request('tools/call', { name: 'confirm_change', arguments: args }));
  expect(result).toMatchObject({ resultType: 'task', taskId: args.changeId, status: 'working' });
});

test('cancelling changes nothing, because the change cannot be taken back', async () => {
  const server = await serve(byState);
  const { taskId } = await server.start();
  expect(await server.about('cancel', taskId)).toMatchObject({ result: { resultType: 'complete' } });
  expect(await server.get(taskId)).toMatchObject(working('It cannot be taken back any more.'));
});

describe('of two replicas', () => {
  const both = async () => {
    const [one, two] = [await serve(byState), await serve(byState, 'create', { host: 'two' })];
    return { one, two, reads: () => one.reads() + two.reads() };
  };
  /** Makes the cloud answer reads only when the returned function is called. */
  const hold = () => {
    let answer: (given: FinalReply) => void = () => undefined;
    const held = new Promise<FinalReply>((resolve) => {
      answer = resolve;
    });
    reply = () => held;
    return (given: FinalReply) => answer(given);
  };

  test('one reads, and the other tells what was seen last', async () => {
    const { one, two, reads } = await both();
    const { taskId } = await one.start();
    clock.time += 5_000;
    const answer = hold();
    const looks = [one.get(taskId), one.get(taskId), two.get(taskId), two.get(taskId)];
    await expect.poll(reads).toBe(1);
    expect(await Promise.race(looks)).toMatchObject(working('It goes on in the cloud.'));
    answer(inState('RUNNING'));
    expect((await Promise.all(looks)).filter(({ status }) => status === 'completed')).toHaveLength(1);
    for (const server of [one, two]) expect(await server.get(taskId)).toMatchObject(completed('"RUNNING"'));
    expect(reads()).toBe(1);
  });

  test('the other takes over when the first has gone during its read, whose late answer changes nothing', async () => {
    const { one, two, reads } = await both();
    const { taskId } = await one.start();
    clock.time += 5_000;
    const answer = hold();
    const lost = one.get(taskId);
    await expect.poll(reads).toBe(1);
    reply = () => inState('BROKEN');
    expect(await two.after(29, taskId)).toMatchObject({ status: 'working' });
    expect(await two.after(1, taskId)).toMatchObject(completed('The change has failed in the cloud.'));
    answer(inState('RUNNING'));
    await lost;
    expect(await one.get(taskId)).toMatchObject(completed('The change has failed in the cloud.'));
    expect(reads()).toBe(2);
  });

  test('the second knows after a restart what the first has seen', async () => {
    const first = await serve(byState);
    const { taskId } = await first.start();
    await first.after(5, taskId);
    await first.close();
    const second = await serve(byState, 'create', { host: 'two' });
    expect(await second.get(taskId)).toMatchObject(working('"RESTORING"'));
    expect(second.reads()).toBe(0);
    reply = () => inState('RUNNING');
    expect(await second.after(10, taskId)).toMatchObject(completed('"RUNNING"'));
  });
});
