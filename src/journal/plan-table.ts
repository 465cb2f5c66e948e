import * as z from 'zod';
import { mostDecided, type PlanStore, type StoredPlan } from './plan-store.js';
import type { Database } from './postgres-database.js';

/** Limit of the connections for plans. The journal has connections of its own. */
const mostConnections = 2;

/** The most plans that `list` returns. The table may have the plans of many callers. */
const mostListed = 1_000;

/** A store in a table of the journal's database, which servers share. */
export function createPlanTable(database: Database): PlanStore {
  const { run, close } = database.connect(mostConnections);
  const query = (text: string, values: unknown[]) => run(({ client }) => client.query(text, values));
  return {
    add: ({ nonce, owner, expiresAt, sealed }, mostWaiting) =>
      run(async ({ client }) => {
        // Locks the owner until the commit, because two transactions at once would both count before either adds its plan.
        await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`cloudops plans ${owner}`]);
        const { rowCount } = await client.query(
          `insert into cloudops_plans (nonce, owner, expires, sealed) select $1, $2, $3, $4
           where (select count(*) from cloudops_plans where owner = $2 and not decided) < $5
           on conflict do nothing`,
          [nonce, owner, new Date(expiresAt), sealed, mostWaiting],
        );
        // No row was inserted if the owner has `mostWaiting` plans, or if the nonce exists already.
        const isAdded = rowCount === 1;

        // Keeps only the owner's decided plans that expire last.
        await client.query(
          `delete from cloudops_plans where nonce in (
             select nonce from cloudops_plans where owner = $1 and decided order by expires desc offset $2)`,
          [owner, mostDecided],
        );
        return isAdded;
      }),
    find: async (nonce) => {
      const { rows } = await query(`${select} where nonce = $1`, [nonce]);
      return plansIn(rows)[0];
    },
    claim: async (nonce, sealed) => {
      const text = 'update cloudops_plans set decided = true, sealed = $2 where nonce = $1 and not decided';
      const { rowCount } = await query(text, [nonce, sealed]);
      return rowCount === 1;
    },
    update: async (nonce, sealed) => {
      await query('update cloudops_plans set sealed = $2 where nonce = $1 and decided', [nonce, sealed]);
    },
    list: async (owner) => {
      // Waiting plans come first (`decided` is false), so the limit first leaves out the decided plans that expire soonest.
      const text = `${select} where $2::text is null or owner = $2 order by decided, expires desc limit $1`;
      const { rows } = await query(text, [mostListed, owner]);
      return plansIn(rows);
    },
    countWaiting: async (time) => {
      // Without columns, because only the number of rows is wanted.
      const text = 'select from cloudops_plans where not decided and expires >= $1';
      const { rowCount } = await query(text, [new Date(time)]);
      return rowCount ?? 0;
    },
    eraseBefore: async (time) => {
      await query('delete from cloudops_plans where expires < $1', [new Date(time)]);
    },
    close,
  };
}

const select = 'select nonce, owner, expires, decided, sealed from cloudops_plans';

const rowSchema = z
  .object({ nonce: z.string(), owner: z.string(), expires: z.date(), decided: z.boolean(), sealed: z.string() })
  .transform(
    ({ expires, decided, ...row }): StoredPlan => ({
      ...row,
      expiresAt: expires.getTime(),
      state: decided ? 'decided' : 'waiting',
    }),
  );

const plansIn = (rows: unknown): StoredPlan[] => z.array(rowSchema).parse(rows);
