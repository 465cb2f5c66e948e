import type pg from 'pg';
import * as z from 'zod';
import { once } from '../util/objects.js';
import { type Budget, type BudgetState, budgetState, spendingOutcomes } from './budget.js';
import type { Intent } from './entry.js';
import type { BeginResult } from './journal.js';

/** The state of a budget, by the database's clock: those of servers may differ. */
export async function selectBudget(
  client: pg.PoolClient,
  key: string | undefined,
  budget: Budget,
): Promise<BudgetState> {
  const { rows } = await client.query(
    `select extract(epoch from clock_timestamp())::float8 * 1000 as now, array(
       select extract(epoch from written)::float8 * 1000 from cloudops_mutations
       where budget = $1 and written > clock_timestamp() - make_interval(secs => $2) and (outcome is null or outcome = any($3))
     ) as times`,
    [key, budget.windowMs / 1000, spendingOutcomes],
  );
  const [{ now, times }] = budgetRows().parse(rows);
  return budgetState(times, budget, now);
}

const budgetRows = once(() => z.tuple([z.object({ now: z.number(), times: z.array(z.number()) })]));

/** Checks the budget of an intent under a lock, so that no other intent of it is written meanwhile. */
export async function checkBudget(
  client: pg.PoolClient,
  intent: Intent,
  budget: Budget | undefined,
): Promise<BeginResult> {
  if (budget === undefined) return { kind: 'begun' };
  const state = await selectBudget(client, intent.budget, budget);
  return state.left > 0 ? { kind: 'begun' } : { kind: 'budgetSpent', budget, ...state };
}
