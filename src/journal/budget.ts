import type { RecordedChange } from './entry.js';

/** The most changes of an account that one caller may make within a window of time. */
export interface Budget {
  readonly mostChanges: number;
  readonly windowMs: number;
}

/** No window is longer: a journal has to remember all changes in it. */
export const longestWindowMs = 24 * 60 * 60 * 1000;

/** The changes that are left. */
export interface BudgetState {
  readonly left: number;
  /** When the next change is possible (milliseconds), if none is left now. Undefined also for a budget of none at all. */
  readonly nextAt?: number | undefined;
}

/** The outcomes of changes that were, or may have been, made. A change without one counts too. */
export const spendingOutcomes: readonly string[] = ['accepted', 'unknown'];

/** The times (milliseconds) of changes that count against a budget, by the key that their intents carry. */
export const spentTimes = (changes: readonly RecordedChange[], key: string | undefined): readonly number[] =>
  changes
    .filter(
      ({ budget, ending }) => budget === key && (ending === undefined || spendingOutcomes.includes(ending.outcome)),
    )
    .map(({ time }) => Date.parse(time));

/** The state of a budget at a time, after changes at other times. A time in the future is one of a clock that was set back. */
export function budgetState(times: readonly number[], { mostChanges, windowMs }: Budget, now: number): BudgetState {
  const spent = times.filter((time) => time > now - windowMs).sort((one, other) => one - other);
  const left = Math.max(0, mostChanges - spent.length);
  if (left > 0) return { left };
  const last = spent[spent.length - mostChanges];
  return { left, nextAt: last === undefined ? undefined : last + windowMs };
}
