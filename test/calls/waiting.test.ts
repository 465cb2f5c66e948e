import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
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

test('a stop ends the wait at once, and then the work; afterwards nothing listens to the stop', async () => {
  const stop = new AbortController();
  const signals: AbortSignal[] = [];
  const work = (over: AbortSignal) => {
    signals.push(over);
    return new Promise<never>(() => {});
  };
  const ending = unlessStopped(stop.signal, work).catch(({ code }: { code?: unknown }) => code);
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
  stop.abort();
  expect(await Promise.race([ending, nextTurn('still waiting')])).toBe('Stopping');
  expect(signals.map(({ reason }) => reason)).toEqual(['the work has ended']);
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});
