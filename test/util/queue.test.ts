import { setImmediate as tick } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { createQueue, createTurns, QueueTimeout } from '../../src/util/queue.js';

test('places are passed on in order, except to work that ran before', async () => {
  const queue = createQueue(1);
  const leave = await queue.enter();
  const order: string[] = [];
  const run = (name: string) => (leaveAgain: () => void) => {
    order.push(name);
    leaveAgain();
  };
  const all = [queue.enter().then(run('one')), queue.enter().then(run('two')), queue.enterFirst().then(run('back'))];
  expect([queue.taken(), queue.waiting()]).toEqual([1, 3]);
  leave();
  await Promise.all(all);
  expect([order, queue.taken(), queue.waiting()]).toEqual([['back', 'one', 'two'], 0, 0]);
});

test('work that waited too long gets no place, and loses none', async () => {
  vi.useFakeTimers();
  const queue = createQueue(1);
  const leave = await queue.enter();
  const late = expect(queue.enter(100)).rejects.toThrow(QueueTimeout);
  await vi.advanceTimersByTimeAsync(100);
  await late;
  leave();
  expect([queue.taken(), queue.waiting()]).toEqual([0, 0]);
  vi.useRealTimers();
});

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
