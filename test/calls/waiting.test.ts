import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { unlessStopped } from '../../src/calls/context.js';

/** Work at a stop of the server. `call-tool.test.ts` has what calls get. */

test('after the stop no work begins', async () => {
  let begun = 0;
  const work = async () => {
    begun += 1;
  };
  await expect(unlessStopped(AbortSignal.abort(), work)).rejects.toMatchObject({ code: 'Stopping', problems: [] });
  expect(begun).toBe(0);
});

test.each([undefined, new AbortController().signal])(
  'work ends with its own error, or with the signal of its call and its reason',
  async (stop) => {
    await expect(unlessStopped(stop, () => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
    const call = new AbortController();
    const reasonOfEnd = unlessStopped(
      stop,
      (over) => new Promise((resolve) => over.addEventListener('abort', () => resolve(over.reason))),
      call.signal,
    );
    call.abort('cancelled');
    expect(await reasonOfEnd).toBe('cancelled');
    expect(await unlessStopped(stop, async (over) => over.aborted, call.signal)).toBe(true);
  },
);

test('work at the same time leaves no listener, also if garbage was collected meanwhile', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const [stop, call] = [new AbortController().signal, new AbortController().signal];
  const ends: (() => void)[] = [];
  const works = Array.from({ length: 5 }, () =>
    unlessStopped(stop, () => new Promise<void>((resolve) => ends.push(resolve)), call),
  );
  // Weak references are kept until the present turn of the event loop is over.
  await nextTurn();
  collectGarbage();
  for (const end of ends) end();
  await Promise.all(works);
  expect([...getEventListeners(stop, 'abort'), ...getEventListeners(call, 'abort')]).toEqual([]);
});
