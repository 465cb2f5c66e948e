import { setImmediate as tick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTurns } from '../../src/util/turns.js';

test('each turn is one of the event loop, so that others come in between', async () => {
  const take = createTurns();
  const order: string[] = [];
  const turns = ['a', 'b', 'c'].map((name) => take().then(() => order.push(name)));
  const between = async () => {
    for (const name of ['1', '2', '3']) {
      await tick();
      order.push(name);
    }
  };
  await Promise.all([...turns, between()]);
  expect(order.indexOf('2')).toBeLessThan(order.indexOf('c'));
});
