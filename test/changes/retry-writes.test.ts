import { beforeEach, describe, expect, test, vi } from 'vitest';
import { CommitPending, createPersistence, Permanent } from '../../src/changes/retry-writes.js';

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

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

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
  test('after it is closed there is one attempt', async () => {
    const { write, close } = createPersistence();
    await close();
    const attempt = failing(9);
    await expect(write(attempt)).rejects.toThrow('full');
    expect(attempt).toHaveBeenCalledTimes(1);
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

test('an attempt that fails after the close, but began before it, is followed by one more', async () => {
  const { write, close } = createPersistence();
  let fail = () => {};
  const attempt = vi.fn(async () => {
    if (attempt.mock.calls.length > 1) return;
    await new Promise<never>((_resolve, reject) => {
      fail = () => reject(new Error('full'));
    });
  });
  const written = write(attempt);
  const closed = close();
  fail();
  await Promise.all([written, closed]);
  expect(attempt).toHaveBeenCalledTimes(2);
});

test('what is tried soon does not keep anybody waiting, and goes on', async () => {
  clock.stands = true;
  const { writeNowOrLater, close } = createPersistence();
  const attempt = failing(2);
  await writeNowOrLater(attempt);
  await vi.waitFor(() => expect(attempt).toHaveBeenCalledTimes(2));
  await close();
  expect(attempt).toHaveBeenCalledTimes(3);
});

test('closing waits also for the attempt that follows a first one', async () => {
  const { writeNowOrLater, close } = createPersistence();
  let attempts = 0;
  let isWritten = false;
  void writeNowOrLater(async () => {
    attempts += 1;
    await nextTurn();
    if (attempts === 1) throw new Error('full');
    await nextTurn();
    isWritten = true;
  });
  await close();
  expect(isWritten).toBe(true);
});

test('a write after the close does not wait for an earlier commit', async () => {
  const { writeAfter, close } = createPersistence();
  await close();
  const attempt = failing(0);
  writeAfter(new CommitPending(new Promise(() => {})), attempt);
  await close();
  expect(attempt).toHaveBeenCalledOnce();
});

test('what is under way is counted', async () => {
  clock.stands = true;
  const { write, count, close } = createPersistence();
  const written = [write(failing(1)), write(failing(9)).catch(() => undefined)];
  expect(count()).toBe(2);
  await vi.waitFor(() => expect(clock.pauses).toEqual([50, 50]));
  await close();
  await Promise.all(written);
  expect(count()).toBe(0);
});

describe('a commit that is not confirmed yet', () => {
  /** A commit that ends when the test says so. */
  function pending() {
    let confirm = () => {};
    let fail = (_error: Error) => {};
    const committed = new Promise<void>((resolve, reject) => {
      confirm = resolve;
      fail = reject;
    });
    return { error: new CommitPending(committed), confirm: () => confirm(), fail: () => fail(new Error('lost')) };
  }

  test('is waited for, and not made again', async () => {
    const { error, confirm } = pending();
    expect(error.message).toBe('the database has not confirmed it yet');
    const attempt = failing(1, error);
    const written = createPersistence().write(attempt);
    confirm();
    await written;
    expect(attempt).toHaveBeenCalledTimes(1);
    expect(clock.pauses).toEqual([]);
  });

  test('is made again if it failed', async () => {
    const { error, fail } = pending();
    const attempt = failing(1, error);
    const written = createPersistence().write(attempt);
    fail();
    await written;
    expect(attempt).toHaveBeenCalledTimes(2);
  });

  test('is made once more when the journal is closed', async () => {
    const { write, close } = createPersistence();
    const attempt = failing(1, pending().error);
    const written = write(attempt);
    await vi.waitFor(() => expect(attempt).toHaveBeenCalledTimes(1));
    await close();
    await written;
    expect(attempt).toHaveBeenCalledTimes(2);
  });

  test.each(['confirm', 'fail'] as const)(
    'is waited for before what comes after it, which its end (%s) lets begin',
    async (end) => {
      const commit = pending();
      const { writeAfter, count } = createPersistence();
      const attempt = failing(1);
      writeAfter(commit.error, attempt);
      await new Promise(setImmediate);
      expect([attempt.mock.calls.length, count()]).toEqual([0, 1]);
      commit[end]();
      await vi.waitFor(() => expect(count()).toBe(0));
      expect(attempt).toHaveBeenCalledTimes(2);
    },
  );

  test('keeps nobody from closing: what comes after it is tried at once', async () => {
    const { writeAfter, close } = createPersistence();
    const attempt = failing(9);
    writeAfter(pending().error, attempt);
    await close();
    expect(attempt).toHaveBeenCalledTimes(1);
  });
});

test('many writes under way are no leak to warn of', async () => {
  clock.stands = true;
  const warned = vi.fn();
  process.on('warning', warned);
  const { write, close } = createPersistence();
  const writes = Array.from({ length: 20 }, () => write(failing(1)));
  await vi.waitFor(() => expect(clock.pauses).toHaveLength(20));
  await close();
  await Promise.all(writes);
  await new Promise(setImmediate);
  process.off('warning', warned);
  expect(warned).not.toHaveBeenCalled();
});
