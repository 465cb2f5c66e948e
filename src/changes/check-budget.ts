import type { Budget } from '../calls/account.js';
import { Refusal } from '../calls/refusal.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { next } from '../tools/next.js';
import { reasonOf } from '../util/log.js';
import { counted, forReader, join, type SafeText, say, time } from '../util/safe-text.js';
import type { BudgetState } from './change.js';
import type { ChangeRun } from './change-context.js';

/**
 * Returns a sentence about the budget for the plan.
 * @returns a refusal if the budget is spent or cannot be counted, except with `planOnly`
 */
export async function checkBudget(
  { budget: { key, limit }, operation, control: { planOnly } }: ResolvedChange,
  { store, log }: ChangeRun,
): Promise<SafeText | Refusal | undefined> {
  if (limit === undefined) return undefined;
  const state = await store.budgetState(key, limit).catch((error: unknown) => {
    log('error', 'journal', { tool: operation.name, error: reasonOf(error) });
    return undefined;
  });
  if (state === undefined && planOnly) return undefined;
  if (state === undefined) return new Refusal('JournalUnavailable', [say`the changes in it cannot be counted`]);

  if (state.left > 0) {
    const number = limit.mostChanges - state.left + 1;
    return say`This is change ${number} of ${limit.mostChanges} that are possible within ${spanOf(limit)}.`;
  }

  // With `planOnly`, the plan is shown even if the budget is spent.
  const refusal = budgetSpent(limit, state.nextAt);
  if (!planOnly) return refusal;
  return say`It cannot be sent: ${join(refusal.problems, '; ')}.`;
}

/** The refusal of a change beyond its budget. Without `nextAt`, no change is ever possible. */
export function budgetSpent(limit: Budget, nextAt: BudgetState['nextAt']): Refusal {
  if (nextAt === undefined)
    return new Refusal('BudgetSpent', [say`CLOUDOPS_MAX_CHANGES is 0, so that only plans are shown`], {
      next: next(
        'operator',
        'configure',
        forReader({
          agent:
            'Call with planOnly: true to show the user the plan. Only the person who runs this server can change the setting.',
          person: 'Only the person who runs this server can change the setting.',
          operator: 'Call with --plan to see the plan.',
        }),
      ),
    });
  const possibleAt = new Date(nextAt).toISOString();
  return new Refusal('BudgetSpent', [
    say`CLOUDOPS_MAX_CHANGES allows ${counted(limit.mostChanges, 'change')} within ${spanOf(limit)}; the next is possible at ${time(possibleAt)}`,
  ]);
}

function spanOf({ windowMs }: Budget): SafeText {
  const minutes = windowMs / 60_000;
  return minutes % 60 === 0 ? counted(minutes / 60, 'hour') : counted(minutes, 'minute');
}
