import type { Budget, BudgetState } from './change.js';

/** Limit of budget windows (milliseconds). */
export const longestWindowMs = 24 * 60 * 60 * 1000;

/** The state of a budget after changes at `times`, which are by the same clock as `now` and in ascending order. */
export function stateOfBudget(times: readonly number[], { mostChanges, windowMs }: Budget, now: number): BudgetState {
  const spent = times.filter((time) => time > now - windowMs);
  const left = Math.max(0, mostChanges - spent.length);
  if (left > 0) return { left, nextAt: undefined };
  // When this change leaves the window, fewer than `mostChanges` remain in it.
  const blockingTime = spent[spent.length - mostChanges];
  return { left, nextAt: blockingTime === undefined ? undefined : blockingTime + windowMs };
}
