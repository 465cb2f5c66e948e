import { expect, test, vi } from 'vitest';
import { createQueue, QueueTimeout } from '../../src/util/queue.js';

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
