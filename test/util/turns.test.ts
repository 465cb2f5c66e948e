import { setImmediate as tick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTurns } from '../../src/util/turns.js';

test('each turn is one of the event loop, so that others come in between', async () => {
  const take = createTurns();
  const order: string[] = [];
  const turns = ['a', 'b', 'c'].map((name) => take(() => order.push(name)));
  const between = async () => {
    for (const name of ['1', '2', '3']) {
      await tick();
      order.push(name);
    }
  };
  await Promise.all([...turns, between()]);
  expect(order.indexOf('2')).toBeLessThan(order.indexOf('c'));
});

test('work that takes several turns is over before that of the next begins', async () => {
  const take = createTurns();
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} begins`);
    await tick();
    order.push(`${name} ends`);
  };
  await Promise.all(['a', 'b'].map((name) => take(work(name))));
  expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
});

test('work that fails tells who asked for it, and nobody else', async () => {
  const take = createTurns();
  const failed = take(() => Promise.reject(new Error('it failed')));
  await expect(failed).rejects.toThrow('it failed');
  expect(await take(() => 'done')).toBe('done');
});
