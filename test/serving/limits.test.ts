import { setImmediate as tick } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { createGate, createRateLimiter, defaultHttpLimits } from '../../src/serving/limits.js';

const gateOf = (limits: object) => createGate({ ...defaultHttpLimits, ...limits });

test('so many enter, so many wait, the rest is turned away at once; who leaves lets the longest waiting in', async () => {
  const gate = gateOf({ concurrentCalls: 2, waitingCalls: 2 });
  const [first] = [await gate.enter(), await gate.enter()];
  const order: string[] = [];
  const third = gate.enter().then((leave) => {
    order.push('third');
    return leave;
  });
  const fourth = gate.enter().then(() => order.push('fourth'));
  expect(await gate.enter()).toBeUndefined();
  expect([gate.size, order]).toEqual([2, []]);
  first?.();
  first?.();
  const leave = await third;
  await tick();
  expect([gate.size, order]).toEqual([2, ['third']]);
  leave?.();
  await fourth;
  expect(order).toEqual(['third', 'fourth']);
});

test('nobody waits for longer than allowed, and who gave up takes nobody’s place', async () => {
  vi.useFakeTimers();
  const gate = gateOf({ concurrentCalls: 1, waitingCalls: 1, waitMs: 5000 });
  const leave = await gate.enter();
  const impatient = gate.enter();
  await vi.advanceTimersByTimeAsync(5000);
  expect(await impatient).toBeUndefined();
  leave?.();
  expect(gate.size).toBe(0);
  expect(await gate.enter()).toBeDefined();
  vi.useRealTimers();
});

test('one caller leaves room for others', async () => {
  const gate = gateOf({ concurrentCalls: 4, callsOfCaller: 2 });
  const [first] = [await gate.enter('alice'), await gate.enter('alice')];
  expect(await gate.enter('alice')).toBeUndefined();
  expect(await gate.enter('bob')).toBeDefined();
  first?.();
  expect(await gate.enter('alice')).toBeDefined();
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
