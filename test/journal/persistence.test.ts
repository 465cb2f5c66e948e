import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createPersistence, Permanent } from '../../src/journal/persistence.js';

/** Writes that are tried until they succeed. Pauses take no time but are noted, or end only when they are cut short. */

const clock = vi.hoisted(() => ({ pauses: [] as number[], stands: false }));
vi.mock('node:timers/promises', () => ({
  setTimeout: async (milliseconds: number, _value: unknown, { signal }: { signal?: AbortSignal } = {}) => {
    clock.pauses.push(milliseconds);
    if (!clock.stands) return;
    await new Promise((_resolve, reject) => signal?.addEventListener('abort', reject));
  },
}));
beforeEach(() => {
  clock.pauses = [];
  clock.stands = false;
});

const failing = (times: number, error = new Error('full')) => {
  const attempt = vi.fn(async () => {
    if (attempt.mock.calls.length <= times) throw error;
  });
  return attempt;
};

test('pauses double from 50 ms, to 5 s at most', async () => {
  const attempt = failing(10);
  await createPersistence().write(attempt);
  expect(attempt).toHaveBeenCalledTimes(11);
  expect(clock.pauses).toEqual([50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
});

test('what no further attempt can change is an error at once', async () => {
  const attempt = failing(1, new Permanent('lost'));
  await expect(createPersistence().write(attempt)).rejects.toThrow('lost');
  expect(attempt).toHaveBeenCalledTimes(1);
});

describe('ending', () => {
  test('with an aborted signal there is one attempt', async () => {
    const attempt = failing(9);
    await expect(createPersistence().write(attempt, AbortSignal.abort())).rejects.toThrow('full');
    expect(attempt).toHaveBeenCalledTimes(1);
  });

  test('when the signal aborts there is one more, without waiting', async () => {
    clock.stands = true;
    const controller = new AbortController();
    const attempt = failing(99);
    const written = createPersistence().write(attempt, controller.signal);
    await vi.waitFor(() => expect(clock.pauses).toEqual([50]));
    controller.abort();
    await expect(written).rejects.toThrow('full');
    expect(attempt).toHaveBeenCalledTimes(2);
  });

  test('when it is closed there is one more, which closing waits for', async () => {
    clock.stands = true;
    const { write, close } = createPersistence();
    const attempt = failing(1);
    const written = write(attempt);
    await vi.waitFor(() => expect(clock.pauses).toEqual([50]));
    await close();
    expect(attempt).toHaveBeenCalledTimes(2);
    await written;
  });
});

test('what is tried soon does not keep anybody waiting, and goes on', async () => {
  clock.stands = true;
  const { writeSoon, close } = createPersistence();
  const attempt = failing(2);
  await writeSoon(attempt);
  await vi.waitFor(() => expect(attempt).toHaveBeenCalledTimes(2));
  await close();
  expect(attempt).toHaveBeenCalledTimes(3);
});
