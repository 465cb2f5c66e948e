import { expect, test, vi } from 'vitest';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { NotSent } from '../../src/transport/signed-client.js';
import { say } from '../../src/util/safe-text.js';
import { memoryStore, never, testCaller } from '../support/caller.js';

/** Faults of this server itself, at the worst moment: after the change was written as begun. */

const brokenClient = () => ({
  send: () => Promise.reject(new TypeError('MARKER')),
  [Symbol.dispose]: () => undefined,
});

const args = { backupId: 'a'.repeat(32), instanceId: 'restored' };

test('if the request cannot be signed, nothing was sent, the journal says so, and the call can be made again', async () => {
  const store = memoryStore();
  const openClient = () => ({ ...brokenClient(), send: () => Promise.reject(new NotSent('MARKER')) });
  const { call, close } = testCaller('http://127.0.0.1:1', { store, openClient });
  for (const _ of ['once', 'again'])
    expect(await call(restoreInstance, args, { signal: never })).toMatchObject({
      ok: false,
      failure: { code: 'InternalError', mayHaveHappened: false },
    });
  const notSent = { state: 'not sent', ending: { code: 'InternalError' } };
  expect(await store.newest({ limit: 99 })).toMatchObject([notSent, notSent]);
  await close();
});

test('if sending goes wrong in a way that nobody thought of, the outcome is unknown, and the journal says so', async () => {
  const store = memoryStore();
  const openClient = brokenClient;
  const { call, logged, close } = testCaller('http://127.0.0.1:1', { store, openClient });
  const { text } = await call(restoreInstance, args, { signal: never });
  expect(text).toMatch(/code: InternalError\nmayHaveHappened: yes/);
  expect(text + JSON.stringify(logged)).not.toContain('MARKER');
  expect(await store.newest({ limit: 99 })).toMatchObject([{ state: 'unknown' }]);
  await close();
});

test('an outcome that cannot be written, and what earlier changes left open, are both told', async () => {
  const store = { ...memoryStore(), end: () => Promise.reject(new Error('full')) };
  const openClient = brokenClient;
  const { call, close } = testCaller('http://127.0.0.1:1', {
    store,
    openClient,
    reports: [say`An earlier one is open.`],
  });
  const { text } = await call(restoreInstance, args, { signal: never });
  expect(text).toContain('could not be written into the journal');
  expect(text).toContain('note: An earlier one is open.');
  await close();
});

test('an outcome that the journal does not take at once is written on, and the answer does not wait for it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let take = () => {};
  const taken = new Promise<void>((resolve) => {
    take = resolve;
  });
  const memory = memoryStore();
  let isBegun = false;
  const end: typeof memory.end = async (...ending) => {
    isBegun = true;
    await taken;
    await memory.end(...ending);
  };
  const { call, close } = testCaller('http://127.0.0.1:1', { store: { ...memory, end }, openClient: brokenClient });
  const answer = call(restoreInstance, args, { signal: never });
  await vi.waitFor(() => expect(isBegun).toBe(true));
  vi.advanceTimersByTime(10_000);
  expect((await answer).text).toContain('note: The outcome is not in the journal yet.');
  expect(vi.getTimerCount()).toBe(0);
  take();
  await vi.waitFor(async () => expect(await memory.newest({ limit: 99 })).toMatchObject([{ state: 'unknown' }]));
  vi.useRealTimers();
  await close();
});
