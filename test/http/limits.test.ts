import { setImmediate as tick } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { createConcurrencyLimiter, createRateLimiter, defaultHttpLimits } from '../../src/http/limits.js';

const limiterOf = (limits: object) => createConcurrencyLimiter({ ...defaultHttpLimits, ...limits });

const busy = { status: 503, reason: 'busy' };

test('so many calls run, so many wait, the rest is refused at once; one that ends lets the longest waiting run', async () => {
  const limiter = limiterOf({ concurrentCalls: 2, waitingCalls: 2 });
  const [first] = [await limiter.acquire(), await limiter.acquire()];
  const order: string[] = [];
  const third = limiter.acquire().then((release) => {
    order.push('third');
    return release;
  });
  const fourth = limiter.acquire().then(() => order.push('fourth'));
  await expect(limiter.acquire()).rejects.toMatchObject(busy);
  expect([limiter.running, order]).toEqual([2, []]);
  first?.();
  first?.();
  const release = await third;
  await tick();
  expect([limiter.running, order]).toEqual([2, ['third']]);
  release?.();
  await fourth;
  expect(order).toEqual(['third', 'fourth']);
});

test('a call waits no longer than allowed, and one that gave up takes no place', async () => {
  vi.useFakeTimers();
  const limiter = limiterOf({ concurrentCalls: 1, waitingCalls: 1, waitMs: 5000 });
  const release = await limiter.acquire();
  const impatient = expect(limiter.acquire()).rejects.toMatchObject(busy);
  await vi.advanceTimersByTimeAsync(5000);
  await impatient;
  release?.();
  expect(limiter.running).toBe(0);
  expect(await limiter.acquire()).toBeDefined();
  vi.useRealTimers();
});

test('one caller leaves room for others', async () => {
  const limiter = limiterOf({ callsOfCaller: 2 });
  const [first] = [limiter.enter('alice'), limiter.enter('alice')];
  expect(() => limiter.enter('alice')).toThrow(expect.objectContaining(busy));
  expect(limiter.enter('bob')).toBeDefined();
  first();
  expect(limiter.enter('alice')).toBeDefined();
});

test('each caller has twice its rate at once, then its rate, and is told when to come back', () => {
  let time = 0;
  const waitFor = createRateLimiter(2, () => new Date(time));
  const burst = () => Array.from({ length: 6 }, () => waitFor('alice'));
  expect(burst()).toEqual([0, 0, 0, 0, 1, 1]);
  expect(waitFor('bob')).toBe(0);
  time = 500;
  expect(burst()).toEqual([0, 1, 1, 1, 1, 1]);
  time = 60_000;
  expect(burst()).toEqual([0, 0, 0, 0, 1, 1]);
  time = 0;
  expect(waitFor('alice')).toBe(1);
});

test('callers who are many are not remembered for ever, those who are busy are', () => {
  const waitFor = createRateLimiter(1, () => new Date(0));
  const busy = () => waitFor('busy');
  expect([busy(), busy(), busy()]).toEqual([0, 0, 1]);
  for (let count = 0; count < 30_000; count += 1) {
    waitFor(`caller ${count}`);
    if (count % 1000 === 0) expect(busy()).toBe(1);
  }
  for (let count = 0; count < 10_000; count += 1) waitFor(`other ${count}`);
  expect(busy()).toBe(0);
});
