import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { unlessStopped } from '../../src/calls/context.js';

/** Whoever is asked while the server ends answers too late, and has refused nothing. */

const stopping = { code: 'Stopping', problems: [] };

test('without a stop, or before it, work has its own end', async () => {
  const gone = () => Promise.reject(new Error('gone'));
  for (const stop of [undefined, new AbortController().signal]) {
    expect(await unlessStopped(stop, async () => 'yes')).toBe('yes');
    await expect(unlessStopped(stop, gone)).rejects.toThrow('gone');
  }
});

test('after the stop no work begins', async () => {
  let begun = 0;
  const work = async () => {
    begun += 1;
  };
  await expect(unlessStopped(AbortSignal.abort(), work)).rejects.toMatchObject(stopping);
  expect(begun).toBe(0);
});

test('at the stop nobody waits for work any longer, and the work learns that', async () => {
  const stop = new AbortController();
  const never = new Promise<never>(() => {});
  let isOver: AbortSignal | undefined;
  const waiting = unlessStopped(stop.signal, (over) => {
    isOver = over;
    return never;
  });
  expect(isOver?.aborted).toBe(false);
  stop.abort();
  await expect(waiting).rejects.toMatchObject(stopping);
  expect(isOver?.aborted).toBe(true);
});

test('a stop after the end of the work is nothing to it', async () => {
  const { signal } = new AbortController();
  await unlessStopped(signal, async () => 'yes');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test.each([undefined, new AbortController().signal])(
  'work ends with the signal of its call, with its reason',
  async (stop) => {
    const call = new AbortController();
    const reasonOfEnd = unlessStopped(
      stop,
      (over) => new Promise((resolve) => over.addEventListener('abort', () => resolve(over.reason))),
      call.signal,
    );
    call.abort('cancelled');
    expect(await reasonOfEnd).toBe('cancelled');
  },
);

test('work of a call that was cancelled before learns that at once', async () => {
  const isOver = await unlessStopped(undefined, async (over) => over.aborted, AbortSignal.abort());
  expect(isOver).toBe(true);
});

test('work at the same time leaves no listener, also if garbage was collected meanwhile', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const stop = new AbortController().signal;
  const ends: (() => void)[] = [];
  const works = Array.from({ length: 5 }, () =>
    unlessStopped(stop, () => new Promise<void>((resolve) => ends.push(resolve))),
  );
  // Weak references are kept until the present turn of the event loop is over.
  await nextTurn();
  collectGarbage();
  for (const end of ends) end();
  await Promise.all(works);
  expect(getEventListeners(stop, 'abort')).toEqual([]);
});

test('a call keeps no listener of work that has ended', async () => {
  const { signal } = new AbortController();
  await unlessStopped(undefined, async () => 'yes', signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
