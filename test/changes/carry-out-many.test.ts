import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../sandbox/sandbox.js';
import { createSqlite } from '../../src/changes/sqlite.js';
import { createChanges } from '../../src/changes/store.js';
import { leaseMs } from '../../src/changes/system.js';
import { abortMultipartUploads } from '../../src/tools/abort-multipart-uploads.js';
import { createHttpClient, defaultLimits, type HttpClient } from '../../src/transport/http-client.js';
import { testCaller } from '../support/caller.js';
import { processOn, wallClock } from '../support/changes.js';

/** A change of several things whose process goes away: another process takes it over, and looks before it sends. */

const started = Date.parse('2026-11-29T12:00:00Z');
const count = 12;

/** What a process does from its fourth request to abort on: it goes away before the cloud gets it, or after. */
type Loss = 'before' | 'after';

async function twoProcesses(loss: Loss) {
  const clock = { time: started };
  const now = () => new Date(clock.time);
  const sandbox = await startSandbox({ now });
  const { storage, cloud } = sandbox;
  storage.uploads.clear();
  storage.buckets.set('b', { created: now().toISOString() });
  for (let index = 0; index < count; index += 1) {
    const uploadId = `u${index}`;
    const initiated = new Date(started - (10 + index) * 24 * 3600_000).toISOString();
    storage.uploads.set(uploadId, { bucket: 'b', key: `k/${index}`, uploadId, initiated, headers: {} });
  }
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-many-'));
  const aborts: string[] = [];
  let hosts = 0;
  const wakeUp: (() => void)[] = [];
  const serve = (goesAway: boolean, readOnly = false, tools?: readonly string[]) => {
    const engine = createSqlite(join(folder, 'journal.db'), { clock: wallClock(now) });
    const store = createChanges(engine, { process: processOn(`host-${hosts++}`) });
    const httpClient = createHttpClient({}, defaultLimits);
    const caller = testCaller('', {
      ...{ cloud, now, store, confirm: 'plan', maximumAttempts: 1 },
      policy: { readOnly, tools, extensions: ['s3'] },
      httpClient: {
        ...httpClient,
        send: async (request, signal) => {
          const send = () => httpClient.send(request, signal);
          if (request.method !== 'DELETE') return send();
          const isLost = goesAway && aborts.length >= 3;
          if (!isLost || loss === 'after') aborts.push(request.path);
          if (!isLost) return send();
          const reply = loss === 'after' ? await send() : undefined;
          await new Promise<void>((resolve) => wakeUp.push(resolve));
          return reply ?? send();
        },
      },
    });
    onTestFinished(() => caller.close());
    return { ...caller, store };
  };
  onTestFinished(async () => {
    await sandbox.close();
    rmSync(folder, { recursive: true });
  });
  const first = serve(true);
  const plan = await first.call(abortMultipartUploads, {});
  const changeId = (plan.ok && plan.structured.changeId) || 'none';
  const ended = first.confirm(changeId, `abort ${count}`);
  // Eight at a time are under way when the process goes away.
  await expect.poll(() => wakeUp.length).toBe(8);
  clock.time += 2 * leaseMs;
  return { serve, first, changeId, aborts, ended, wakeUp, clock, open: () => storage.uploads.size };
}

async function statesIn({ store }: ReturnType<typeof testCaller>) {
  const states: string[] = [];
  for await (const { tool, state, ending } of store.read({}))
    states.push([tool, state, ending?.code].filter(Boolean).join(' '));
  return states.sort();
}

test.each<[Loss, string]>([
  ['before', 'abort_multipart_upload accepted'],
  ['after', 'abort_multipart_upload accepted GoneAfterRestart'],
])(
  'what the lost process was sending (%s the cloud got it) is looked for, and each is aborted once',
  async (loss, state) => {
    const { serve, changeId, aborts, open, ended, wakeUp } = await twoProcesses(loss);
    const second = serve(false);
    const [change, ...others] = await second.store.recover();
    expect(others).toEqual([]);
    if (change === undefined) throw new Error('nothing was taken over');
    expect(await second.changes.resume(change)).toMatchObject({
      kind: 'succeeded',
      success: { outcome: 'accepted', changeId, answer: { done: count, gone: 0, unverified: 0, failed: 0 } },
    });
    expect(open()).toBe(0);
    expect(aborts).toHaveLength(count);
    expect(new Set(aborts).size).toBe(count);
    const accepted = [...Array(3 + 1).fill('abort_multipart_upload accepted'), ...Array(8).fill(state)];
    expect(await statesIn(second)).toEqual([...accepted, 'abort_multipart_uploads accepted'].sort());

    // The first process was only suspended. It sends nothing more, and its endings change nothing.
    for (const wake of wakeUp) wake();
    await ended;
    expect(await statesIn(second)).toEqual([...accepted, 'abort_multipart_uploads accepted'].sort());
    expect(await second.get(changeId)).toMatchObject({ ok: true, structured: { outcome: 'accepted' } });
  },
);

test('a process that may not make the change sends nothing, and calls the outcome unknown', async () => {
  const { serve, aborts } = await twoProcesses('before');
  const second = serve(false, true);
  const [change] = await second.store.recover();
  if (change === undefined) throw new Error('nothing was taken over');
  expect(await second.changes.resume(change)).toMatchObject({
    kind: 'failed',
    failure: { outcome: 'unknown', mayHaveHappened: true },
  });
  expect(aborts).toHaveLength(3);
});

test.each<[string, tools: readonly string[] | undefined, waitedMs: number]>([
  ['whose thing may not be read', ['abort_multipart_uploads', 'abort_multipart_upload'], 0],
  ['that was decided too long ago', undefined, 11 * 60_000],
])('what may have been sent, %s, is not sent again, and its outcome is unknown', async (_what, tools, waitedMs) => {
  const { serve, aborts, clock } = await twoProcesses('before');
  clock.time += waitedMs;
  const second = serve(false, false, tools);
  const [change] = await second.store.recover();
  if (change === undefined) throw new Error('nothing was taken over');
  await second.changes.resume(change);
  const states = await statesIn(second);
  expect(states.filter((state) => state.startsWith('abort_multipart_upload unknown'))).toHaveLength(8);
  // At most the one that nobody had begun.
  expect(aborts.length).toBeLessThanOrEqual(4);
});

test('if the journal cannot be written at the takeover, the outcome is unknown, and not "not sent"', async () => {
  const { serve, changeId } = await twoProcesses('after');
  const second = serve(false);
  const [change] = await second.store.recover();
  if (change === undefined) throw new Error('nothing was taken over');
  Object.assign(second.store, { addParts: () => Promise.reject(new Error('the disk is full')) });
  await second.changes.resume(change);
  expect(await second.store.find(changeId)).toMatchObject({ state: 'unknown' });
});

test('of two processes, one takes the change over', async () => {
  const { serve } = await twoProcesses('before');
  const others = [serve(false), serve(false)];
  const recovered = await Promise.all(others.map(({ store }) => store.recover()));
  expect(recovered.flat()).toHaveLength(1);
  expect(await others[0]?.store.recover()).toEqual([]);
});

test('while it runs, get_change says how many parts have ended', async () => {
  const { first, changeId } = await twoProcesses('before');
  expect(await first.get(changeId)).toMatchObject({
    ok: true,
    structured: { summary: expect.stringContaining(`It is being carried out: 3 of ${count} have ended.`) },
  });
});

/** A caller with three old uploads, and the plan to abort them. */
async function threeUploads(answer?: HttpClient['send']) {
  const sandbox = await startSandbox({ now: () => new Date(started) });
  onTestFinished(() => sandbox.close());
  const { storage, cloud } = sandbox;
  storage.uploads.clear();
  storage.buckets.set('b', { created: new Date(started).toISOString() });
  const initiated = new Date(started - 10 * 24 * 3600_000).toISOString();
  for (const uploadId of ['u0', 'u1', 'u2'])
    storage.uploads.set(uploadId, { bucket: 'b', key: uploadId, uploadId, initiated, headers: {} });
  const httpClient = createHttpClient({}, defaultLimits);
  const caller = testCaller('', {
    ...{ cloud, now: () => new Date(started), confirm: 'plan', maximumAttempts: 1 },
    policy: { readOnly: false, tools: undefined, extensions: ['s3'] },
    httpClient: {
      ...httpClient,
      send: (request, signal) => ((request.method === 'DELETE' && answer) || httpClient.send)(request, signal),
    },
  });
  onTestFinished(() => caller.close());
  const plan = await caller.call(abortMultipartUploads, {});
  const changeId = (plan.ok && plan.structured.changeId) || 'none';
  return { ...caller, changeId, open: () => storage.uploads.size };
}

test('if all parts fail, the failure is that of the whole, with the number and the codes', async () => {
  const { confirm, changeId } = await threeUploads(async ({ path }) => {
    const code = path.includes('u0') ? 'AccessDenied' : 'InvalidRequest';
    const body = `<Error><Code>${code}</Code></Error>`;
    return { kind: 'response', status: 403, headers: { 'content-type': 'application/xml' }, body };
  });
  expect(await confirm(changeId, 'abort 3')).toMatchObject({
    ok: false,
    failure: {
      code: 'AllEntriesFailed',
      outcome: 'rejected',
      problems: [expect.stringMatching(/^3 of 3 entries failed: .*\(codes "AccessDenied", "InvalidRequest"\)\.$/)],
    },
  });
});

test('if the server is stopped before the first part is sent, the whole was not sent', async () => {
  const { confirm, changeId, store, inFlight, open } = await threeUploads();
  const { addParts } = store;
  const stopFirst: typeof addParts = async (...given) => {
    const parts = await addParts(...given);
    void inFlight.finish(0);
    await delay(20);
    return parts;
  };
  Object.assign(store, { addParts: stopFirst });
  expect(await confirm(changeId, 'abort 3')).toMatchObject({ ok: false, failure: { outcome: 'not sent' } });
  expect(await store.find(changeId)).toMatchObject({ state: 'not sent' });
  expect(open()).toBe(3);
});
