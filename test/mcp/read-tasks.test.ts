import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createReadTasks } from '../../src/mcp/read-tasks.js';
import { answeredBy, scriptedClient } from '../support/scripted-client.js';
import { request, type ServerOptions, serveTaskClient, withTasks } from '../support/task-server.js';

/** A read that takes long is a task for clients that declare the extension. Every answer fits the schemas of the extension. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-read-tasks-'));
let closing: (() => Promise<unknown>)[];
beforeEach(() => {
  closing = [];
});
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

const uploads = { bucket: 'photos', object: 'a.jpg', uploadId: 'u-1' };
const call = (capabilities?: object) => request('tools/call', { name: 'list_parts', arguments: uploads }, capabilities);

const page = (number: number) => {
  const Part = { PartNumber: `${number}`, Size: '5', ETag: '"e"', LastModified: '2026-11-20T12:00:00Z' };
  const position = { IsTruncated: `${number === 1}`, NextPartNumberMarker: `${number}`, Part };
  const ListPartsResult = { Bucket: 'photos', Key: 'a.jpg', UploadId: 'u-1', ...position };
  return answeredBy(200, { kind: 'xml', value: { ListPartsResult } });
};

/** A server whose second page comes when the test lets it. */
async function serve(options: ServerOptions = {}) {
  let answer: () => void = () => undefined;
  const second = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let sent = 0;
  const { openClient, opened } = scriptedClient(async () => {
    sent += 1;
    if (sent === 2) await second;
    return page(Math.min(sent, 2));
  });
  const server = await serveTaskClient(join(folder, 'journal.db'), { time: Date.now() }, { openClient, ...options });
  closing.push(server.close);
  return { ...server, answer, opened };
}

test('a long read is a task, which says how far it is, and ends with the result of the call', async () => {
  const server = await serve({ taskAfterMs: 50 });
  const { result: task } = await server.send(call());
  expect(task).toMatchObject({ resultType: 'task', status: 'working' });
  await expect
    .poll(() => server.get(task?.taskId))
    .toMatchObject({
      status: 'working',
      statusMessage: expect.stringMatching(
        /^list_parts: 1 page read, 1 entry\. .* a restart loses it, and then call again\.$/,
      ),
    });
  server.answer();
  await expect.poll(async () => (await server.get(task?.taskId)).status).toBe('completed');
  const { result } = await server.get(task?.taskId);
  expect(result).toMatchObject({ resultType: 'complete', structuredContent: { answer: { partCount: 2 } } });
});

test('cancelling stops the read', async () => {
  const server = await serve({ taskAfterMs: 50 });
  const { taskId } = Object((await server.send(call())).result);
  await expect.poll(() => server.opened).toHaveLength(1);
  const signal = server.opened[0]?.[1].signal;
  expect(signal?.aborted).toBe(false);
  expect(await server.about('cancel', taskId)).toMatchObject({ result: { resultType: 'complete' } });
  expect(signal?.aborted).toBe(true);
  server.answer();
  expect(await server.get(taskId)).toMatchObject({
    status: 'cancelled',
    statusMessage: expect.stringContaining('was cancelled'),
  });
});

test.each<[string, object, number]>([
  ['a short read', withTasks, 60_000],
  ['the read of a client without tasks', {}, 1],
])('%s is no task', async (_what, capabilities, taskAfterMs) => {
  const server = await serve({ taskAfterMs });
  const answer = server.send(call(capabilities));
  setTimeout(server.answer, 100);
  expect((await answer).result).toMatchObject({
    resultType: 'complete',
    structuredContent: { answer: { partCount: 2 } },
  });
});

test('another process does not know it', async () => {
  const first = await serve({ taskAfterMs: 50 });
  const { taskId } = Object((await first.send(call())).result);
  first.answer();
  const second = await serve({ host: 'two' });
  expect(await second.about('get', taskId)).toMatchObject({ error: { code: -32602 } });
});

test('other callers do not find it, it is forgotten after a time, and there are not more than twenty', async () => {
  const clock = { time: Date.now() };
  const tasks = createReadTasks(() => new Date(clock.time), 1);
  const waiting: (() => void)[] = [];
  const start = () => {
    const { signal } = new AbortController();
    const read = () => new Promise<{ content: [] }>((resolve) => waiting.push(() => resolve({ content: [] })));
    return tasks.run(read, { tool: 'list_parts', caller: 'alice' }, signal, () => undefined);
  };
  const started = await Promise.all(Array.from({ length: 20 }, start));
  const id = String(started[0]?.taskId);
  expect(tasks.find(id, 'mallory')).toBeUndefined();
  expect(tasks.find(id, 'alice')).toMatchObject({ task: { status: 'working' } });
  const further = start();
  setTimeout(() => waiting.at(-1)?.(), 50);
  expect(await further).toEqual({ content: [] });
  clock.time += 16 * 60_000;
  expect(tasks.find(id, 'alice')).toBeUndefined();
});

test('a read that ends after it was cancelled stays cancelled', async () => {
  const tasks = createReadTasks(() => new Date(), 1);
  let end: () => void = () => undefined;
  const promise = new Promise<{ content: [] }>((resolve) => {
    end = () => resolve({ content: [] });
  });
  const { signal } = new AbortController();
  const started = await tasks.run(
    () => promise,
    { tool: 'list_parts', caller: undefined },
    signal,
    () => undefined,
  );
  const found = () => tasks.find(String(started.taskId), undefined);
  found()?.cancel();
  end();
  await promise;
  await new Promise(setImmediate);
  expect(found()).toMatchObject({ task: { status: 'cancelled' } });
  expect(found()?.result()).toBeUndefined();
});
