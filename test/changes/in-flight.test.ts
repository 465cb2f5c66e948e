import { afterEach, expect, test, vi } from 'vitest';
import { createInFlightCalls } from '../../src/changes/change-context.js';

/** A change ends with its client, unless the server is ending: then it gets its time, and no more. */

afterEach(() => vi.useRealTimers());

/** Work that goes on until the test ends it. */
function begin({ calls = createInFlightCalls(), client = new AbortController() } = {}) {
  const signals: AbortSignal[] = [];
  let end = (_result: string) => {};
  const done = calls.track(client.signal, (signal) => {
    signals.push(signal);
    return new Promise<string>((resolve) => {
      end = resolve;
    });
  });
  const signal = () => ({ aborted: signals[0]?.aborted, reason: signals[0]?.reason });
  return { calls, client, done, signal, end: (result: string) => end(result) };
}

test('work is aborted with its client, for the same reason, and its result is given back all the same', async () => {
  const { client, done, signal, end } = begin();
  expect(signal().aborted).toBe(false);
  client.abort('gone');
  expect(signal()).toEqual({ aborted: true, reason: 'gone' });
  end('result');
  expect(await done).toBe('result');
});

test('work of a client that has gone before is aborted from the start', () => {
  const client = new AbortController();
  client.abort('gone');
  expect(begin({ client }).signal()).toEqual({ aborted: true, reason: 'gone' });
});

test('work whose client goes while the server is ending is not aborted', () => {
  const { calls, client, signal } = begin();
  calls.detach();
  client.abort('gone');
  expect(signal().aborted).toBe(false);
});

test('work that has ended is left alone', async () => {
  vi.useFakeTimers();
  const { calls, client, done, signal, end } = begin();
  end('result');
  await done;
  client.abort('gone');
  const other = begin({ calls });
  const finished = calls.finish(1000);
  vi.advanceTimersByTime(1000);
  expect([signal().aborted, other.signal().aborted]).toEqual([false, true]);
  other.end('result');
  await finished;
});

test('the end waits for work, and aborts it when its time is up', async () => {
  vi.useFakeTimers();
  const { calls, signal, end } = begin();
  const finish = vi.fn();
  const finished = calls.finish(1000).then(finish);
  await vi.advanceTimersByTimeAsync(999);
  expect(signal().aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(signal()).toMatchObject({ aborted: true, reason: { name: 'TimeoutError' } });
  expect(finish).not.toHaveBeenCalled();
  end('result');
  await finished;
});

test('the end takes no longer than the work, even if that fails', async () => {
  vi.useFakeTimers();
  const calls = createInFlightCalls();
  const failing = calls.track(new AbortController().signal, () => Promise.reject(new Error('failed')));
  await Promise.all([calls.finish(1000), expect(failing).rejects.toThrow('failed')]);
  expect(vi.getTimerCount()).toBe(0);
});
