import type { Ending } from './entry.js';

/** How many changes each caller may make to an account within a window of time. */
export interface Budget {
  readonly mostChanges: number;
  readonly windowMs: number;
}

/** Limit of budget windows and of the validity of consent (milliseconds). A journal needs only the changes that ended within this time. */
export const longestWindowMs = 24 * 60 * 60 * 1000;

/** How many changes a budget still allows. */
export interface BudgetState {
  readonly left: number;
  /** The time when the next change is possible (milliseconds), if `left` is 0. Undefined if the budget allows no changes at all. */
  readonly nextAt?: number | undefined;
}

/** Outcomes of changes that were or may have been made. */
export const spendingOutcomes: readonly Ending['outcome'][] = ['accepted', 'unknown'];

/** True if a change with this ending was made or may have been made. A change without an ending may have been made. */
export const mayBeMade = (ending: Pick<Ending, 'outcome'> | undefined): boolean =>
  ending === undefined || spendingOutcomes.includes(ending.outcome);

/** The state of a budget after changes at `times`. Times in the future count as spent, because the clock may have been set back. */
export function stateOfBudget(times: readonly number[], { mostChanges, windowMs }: Budget, now: number): BudgetState {
  const spent = times.filter((time) => time > now - windowMs).sort((a, b) => a - b);
  const left = Math.max(0, mostChanges - spent.length);
  if (left > 0) return { left };
  // When this change leaves the window, fewer than `mostChanges` remain in it.
  const blockingTime = spent[spent.length - mostChanges];
  return { left, nextAt: blockingTime === undefined ? undefined : blockingTime + windowMs };
}
