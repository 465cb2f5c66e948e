import { afterEach, expect, test, vi } from 'vitest';
import { createInFlightCalls } from '../../src/changes/change-run.js';

/** A change ends with its client, unless the server is ending: then it gets its time, and no more. */

afterEach(() => vi.useRealTimers());

/** Work that goes on until the test ends it. */
function begin(calls = createInFlightCalls(), client = new AbortController()) {
  let signal = client.signal;
  let end = (_result: string) => {};
  const done = calls.track(client.signal, (tracked) => {
    signal = tracked;
    return new Promise<string>((resolve) => {
      end = resolve;
    });
  });
  return {
    calls,
    client,
    done,
    isAborted: () => signal.aborted,
    reason: () => signal.reason,
    end: () => end('result'),
  };
}

test.each([false, true])('work is aborted with its client, unless the server is ending: %s', async (isEnding) => {
  const { calls, client, done, isAborted, reason, end } = begin();
  if (isEnding) calls.detach();
  expect(isAborted()).toBe(false);
  client.abort('gone');
  expect([isAborted(), reason()]).toEqual(isEnding ? [false, undefined] : [true, 'gone']);
  expect(begin(calls, client).isAborted()).toBe(!isEnding);
  end();
  expect(await done).toBe('result');
});

test('the end waits for work, aborts it when its time is up, and leaves alone what has ended', async () => {
  vi.useFakeTimers();
  const ended = begin();
  const { calls } = ended;
  ended.end();
  await ended.done;
  const { isAborted, reason, end } = begin(calls);
  const failing = calls.track(new AbortController().signal, () => Promise.reject(new Error('failed')));
  const finish = vi.fn();
  const finished = Promise.all([calls.finish(1000).then(finish), expect(failing).rejects.toThrow('failed')]);
  await vi.advanceTimersByTimeAsync(999);
  expect(isAborted()).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect([isAborted(), reason().name, ended.isAborted()]).toEqual([true, 'TimeoutError', false]);
  expect(finish).not.toHaveBeenCalled();
  end();
  await finished;
  expect(vi.getTimerCount()).toBe(0);
});
