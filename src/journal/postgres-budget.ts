import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { type Budget, spendingOutcomes } from './budget.js';
import type { Transaction } from './postgres-database.js';

/** The times (milliseconds) of the changes within a budget's window that count against it, by the database's clock. */
export async function selectSpent(
  { client, now }: Transaction,
  key: string | undefined,
  { windowMs }: Budget,
): Promise<readonly number[]> {
  const { rows } = await client.query(
    `select extract(epoch from time)::float8 * 1000 as time from cloudops_mutations
     where budget = $1 and time > $2 and (outcome is null or outcome = any($3))`,
    [key, new Date(now - windowMs), spendingOutcomes],
  );
  return timesSchema()
    .parse(rows)
    .map(({ time }) => time);
}

const timesSchema = lazy(() => z.array(z.object({ time: z.number() })));
