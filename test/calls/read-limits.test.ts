import { expect, test } from 'vitest';
import { createReadCounts, defaultReadLimits } from '../../src/calls/read-limits.js';

/** One bound on bytes and values for each read, and one for all reads together. */

const limits = {
  ...defaultReadLimits,
  bytes: 16,
  values: 30,
  bytesOfAll: 20,
  valuesOfAll: 50,
  bytesAlways: 2,
  bytesOfStep: 4,
};

test.each<[string, [bytes: number, values?: number][], [bytes: number, values?: number]]>([
  ['bytes', [[5], [5], [6]], [1]],
  [
    'values',
    [
      [0, 20],
      [0, 10],
    ],
    [0, 1],
  ],
])('a call has as many %s as one call may, however many pages they come in', (_what, admitted, refused) => {
  const count = createReadCounts(limits)();
  for (const more of admitted) expect(count.admit(...more)).toBe(true);
  expect([count.admit(...refused), count.exceeded]).toEqual([false, 'call']);
});

test('all calls have no more bytes than all may, until calls end', () => {
  const start = createReadCounts(limits);
  const [first, second] = [start(), start()];
  expect([first.admit(14), second.admit(4), second.admit(1), second.exceeded]).toEqual([true, true, false, 'others']);
  first[Symbol.dispose]();
  second[Symbol.dispose]();
  expect(start().admit(16)).toBe(true);
});

test('a usual call reads whatever the others hold', () => {
  const start = createReadCounts(limits);
  const full = Array.from({ length: 5 }, start);
  for (const count of full) expect(count.admit(4, 10)).toBe(true);
  const usual = start();
  expect([usual.admit(2, 5), usual.exceeded]).toEqual([true, undefined]);
  expect([usual.admit(1), usual.exceeded]).toEqual([false, 'others']);
});
