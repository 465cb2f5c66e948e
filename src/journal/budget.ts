import type { Ending } from './entry.js';

/** The most changes of an account that one caller may make within a window of time. */
export interface Budget {
  readonly mostChanges: number;
  readonly windowMs: number;
}

/** No budget and no consent lasts longer. A journal has to remember the changes that ended within this time. */
export const longestWindowMs = 24 * 60 * 60 * 1000;

/** The changes that are left. */
export interface BudgetState {
  readonly left: number;
  /** The time at which the next change is possible (milliseconds), if none is left now. Undefined also for a budget of none at all. */
  readonly nextAt?: number | undefined;
}

/** The outcomes of changes that were, or may have been, made. */
export const spendingOutcomes: readonly Ending['outcome'][] = ['accepted', 'unknown'];

/** True for a change that was, or may have been, made, as one without an outcome may. */
export const mayBeMade = (ending: Pick<Ending, 'outcome'> | undefined): boolean =>
  ending === undefined || spendingOutcomes.includes(ending.outcome);

/** The state of a budget at a time, after changes at other times. A time in the future is one of a clock that was set back. */
export function budgetState(times: readonly number[], { mostChanges, windowMs }: Budget, now: number): BudgetState {
  const spent = times.filter((time) => time > now - windowMs).sort((one, other) => one - other);
  const left = Math.max(0, mostChanges - spent.length);
  if (left > 0) return { left };
  const last = spent[spent.length - mostChanges];
  return { left, nextAt: last === undefined ? undefined : last + windowMs };
}
