import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stateOfBudget } from '../../src/changes/budget.js';

/** The changes that a budget leaves, and when the next one is possible. */

const hour = 3_600_000;
const now = Date.parse('2026-11-22T12:00:00Z');

describe('of 3 changes within an hour', () => {
  const budget = { mostChanges: 3, windowMs: hour };
  const ago = (...minutes: readonly number[]) => minutes.map((each) => now - each * 60_000);
  test.each<readonly [string, readonly number[], number, number | undefined]>([
    ['none was made', [], 3, undefined],
    ['two were made', ago(5, 10), 1, undefined],
    ['three were made: the oldest one makes room', ago(50, 40, 10), 0, 10],
    ['one was made just an hour ago, which is over', ago(60, 40, 10), 1, undefined],
    ['more were made, with a larger budget: all but two have to pass', ago(50, 40, 30, 20), 0, 20],
    ['one is in the future, since the clock was set back', ago(-30, 40, 10), 0, 20],
  ])('%s', (_what, times, left, minutes) => {
    const nextAt = minutes === undefined ? undefined : now + minutes * 60_000;
    const ascending = times.toSorted((a, b) => a - b);
    expect(stateOfBudget(ascending, budget, now)).toEqual({ left, nextAt });
  });
});

test('when the next one is possible, it is, and not a moment before', () => {
  const times = fc
    .array(fc.integer({ min: now - 2 * hour, max: now }), { maxLength: 12 })
    .map((given) => given.toSorted((a, b) => a - b));
  fc.assert(
    fc.property(times, fc.integer({ min: 1, max: 5 }), (given, mostChanges) => {
      const budget = { mostChanges, windowMs: hour };
      const { left, nextAt } = stateOfBudget(given, budget, now);
      expect(nextAt === undefined).toBe(left > 0);
      if (nextAt === undefined) return;
      expect(stateOfBudget(given, budget, nextAt).left).toBeGreaterThan(0);
      expect(stateOfBudget(given, budget, nextAt - 1).left).toBe(0);
    }),
  );
});

test('of a budget of none, there is no next one', () => {
  expect(stateOfBudget([], { mostChanges: 0, windowMs: hour }, now)).toEqual({ left: 0, nextAt: undefined });
});
