import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { awaitOutcomes, reportStore, watchStore } from '../../src/changes/watch-store.js';
import { words } from '../../src/util/safe-text.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A store with the problem or the warnings of the moment. */
function broken() {
  const store = {
    problem: '',
    warnings: [words('Replication is asynchronous.')],
    checks: 0,
    healthCheck: async () => {
      store.checks += 1;
      if (store.problem !== '') throw Object.assign(new Error(), { code: store.problem });
      return store.warnings;
    },
  };
  const logged: string[] = [];
  const log = (level: string, event: string, fields: object = {}) => {
    logged.push([level, ...(event === 'journal' ? [] : [event]), ...Object.values(fields)].join(' '));
  };
  return { store, logged, log };
}

test('is ready as soon as changes can be recorded, and stays so in an outage, which metrics show', async () => {
  const { store, log, logged } = broken();
  store.problem = 'ECONNREFUSED';
  const watch = watchStore(store, log);
  const after = async (milliseconds: number) => {
    await vi.advanceTimersByTimeAsync(milliseconds);
    return [watch.isReady(), watch.lastCheckSucceeded()];
  };
  expect(await after(10_000)).toEqual([false, false]);
  store.problem = '';
  expect(await after(3_000)).toEqual([true, true]);
  store.problem = 'ECONNREFUSED';
  expect(await after(60_000)).toEqual([true, false]);
  store.problem = '';
  expect(await after(3_000)).toEqual([true, true]);
  expect(await after(90_000)).toEqual([true, true]);
  expect(logged.map((line) => line.replace(/ Every change.*/, ''))).toEqual([
    'error ECONNREFUSED',
    'warn Replication is asynchronous.',
    'info Changes can be recorded again.',
    'error ECONNREFUSED',
    'info Changes can be recorded again.',
  ]);
  const { checks } = store;
  watch.stop();
  await after(600_000);
  expect(store.checks).toBe(checks);
});

test('is checked at once if a call could not use it, but not twice at a time, nor while the next check is near', async () => {
  const { store, log, logged } = broken();
  const watch = watchStore(store, log);
  await vi.advanceTimersByTimeAsync(1_000);
  store.problem = '25006';
  watch.checkNow();
  watch.checkNow();
  await vi.advanceTimersByTimeAsync(0);
  expect([watch.lastCheckSucceeded(), store.checks, logged.at(-1)]).toEqual([
    false,
    2,
    expect.stringMatching(/^error 25006/),
  ]);
  watch.checkNow();
  await vi.advanceTimersByTimeAsync(2_999);
  expect(store.checks).toBe(2);
  store.problem = '';
  await vi.advanceTimersByTimeAsync(1);
  expect([watch.lastCheckSucceeded(), store.checks]).toEqual([true, 3]);
  watch.checkNow();
  await vi.advanceTimersByTimeAsync(29_999);
  expect(store.checks).toBe(4);
  watch.stop();
  watch.checkNow();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(store.checks).toBe(4);
});

test('a server that is not watched logs once, at its start, what refuses every change', async () => {
  const { store, log, logged } = broken();
  await reportStore(store, log);
  store.problem = 'EROFS';
  await reportStore(store, log);
  expect(logged).toEqual(['warn Replication is asynchronous.', expect.stringMatching(/^error EROFS Every change/)]);
});

test.each([
  ['until all are written', [2, 1, 0], 60_000, 3],
  ['no longer than it may', [1, 1, 1, 1, 1], 250, 4],
  ['not at all if none is left', [0], 60_000, 1],
  ['not at all if the time is over', [1], -1, 1],
])('outcomes are awaited %s', async (_what, counts, graceMs, looks) => {
  const unwritten = vi.fn(() => counts.shift() ?? 1);
  const awaited = awaitOutcomes({ unwritten }, graceMs);
  await vi.advanceTimersByTimeAsync(1_000);
  await awaited;
  expect(unwritten).toHaveBeenCalledTimes(looks);
});
