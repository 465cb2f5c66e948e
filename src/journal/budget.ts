import type { Ending } from './entry.js';

/** How many changes each caller may make to an account within a window of time. */
export interface Budget {
  readonly mostChanges: number;
  readonly windowMs: number;
}

/** The longest time that a budget or a consent lasts. A journal has to know the changes that ended within this time. */
export const longestWindowMs = 24 * 60 * 60 * 1000;

/** The number of changes that are left. */
export interface BudgetState {
  readonly left: number;
  /** If no change is left: when the next is possible (milliseconds). Undefined if the budget allows no changes at all. */
  readonly nextAt?: number | undefined;
}

/** Outcomes of changes that were or may have been made. */
export const spendingOutcomes: readonly Ending['outcome'][] = ['accepted', 'unknown'];

/** True if a change with this ending was or may have been made. An unfinished change may have been. */
export const mayBeMade = (ending: Pick<Ending, 'outcome'> | undefined): boolean =>
  ending === undefined || spendingOutcomes.includes(ending.outcome);

/** The state of a budget after changes at some times. Times in the future count as spent, because the clock may have been set back. */
export function budgetState(times: readonly number[], { mostChanges, windowMs }: Budget, now: number): BudgetState {
  const spent = times.filter((time) => time > now - windowMs).sort((a, b) => a - b);
  const left = Math.max(0, mostChanges - spent.length);
  if (left > 0) return { left };
  const last = spent[spent.length - mostChanges];
  return { left, nextAt: last === undefined ? undefined : last + windowMs };
}
