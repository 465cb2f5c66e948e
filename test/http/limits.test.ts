import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createConcurrencyLimiter, createRateLimiter, defaultHttpLimits } from '../../src/http/limits.js';

const limiterOf = (limits: object) => createConcurrencyLimiter({ ...defaultHttpLimits, ...limits });

test('one caller leaves room for others', async () => {
  const limiter = limiterOf({ callsOfCaller: 2 });
  const [first] = [limiter.count('alice'), limiter.count('alice')];
  expect(() => limiter.count('alice')).toThrow(expect.objectContaining({ status: 503, reason: 'busy' }));
  expect(limiter.count('bob')).toBeDefined();
  first?.();
  expect(limiter.count('alice')).toBeDefined();
});

describe('a call that waits for a person', () => {
  /** A person who has not answered yet. */
  const person = () => {
    let resolve: (reply: string) => void = () => {};
    const promise = new Promise<string>((settle) => {
      resolve = settle;
    });
    return { promise, resolve };
  };

  test('gives its place to others, and has one again before all that wait', async () => {
    const limiter = limiterOf({ concurrentCalls: 1 });
    const { promise, resolve } = person();
    const asking = await limiter.take();
    const asked = asking.waitOutside(() => promise);
    expect(limiter.running()).toBe(0);
    const other = await limiter.take();
    const order: string[] = [];
    const waiting = limiter.take().then((place) => {
      order.push('waiting');
      return place;
    });
    resolve('yes');
    await tick();
    expect(order).toEqual([]);
    other.leave();
    expect(await asked).toBe('yes');
    await tick();
    expect([limiter.running(), order]).toEqual([1, []]);
    asking.leave();
    (await waiting).leave();
    expect(limiter.running()).toBe(0);
  });
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
