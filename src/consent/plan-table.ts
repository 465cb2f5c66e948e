import * as z from 'zod';
import { createDatabase } from '../journal/postgres-database.js';
import { createTables } from '../journal/postgres-tables.js';
import type { Log } from '../util/log.js';
import { mostDecided, type PlanStore, type StoredPlan } from './plan-store.js';

const connections = 2;

/** No page shows more. */
const mostListed = 1_000;

/**
 * A store in a table of the journal's database. No state is kept in the process or the connection.
 * @param url its password is in no error
 */
export function createPlanTable(url: string, now: () => Date, log: Log): PlanStore {
  const { ready, forget } = createTables(url, log);
  const database = createDatabase({ url, connections, now, prepare: ready, onFailure: forget });
  const query = (text: string, values: unknown[]) => database.run(({ client }) => client.query(text, values));
  return {
    add: ({ nonce, owner, expiresAt, sealed }, most) =>
      database.run(async ({ client }) => {
        // Of one owner, one at a time is counted and added.
        await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`cloudops plans ${owner}`]);
        const { rowCount } = await client.query(
          `insert into cloudops_plans (nonce, owner, expires, sealed) select $1, $2, $3, $4
           where (select count(*) from cloudops_plans where owner = $2 and not decided) < $5
           on conflict do nothing`,
          [nonce, owner, new Date(expiresAt), sealed, most],
        );
        await client.query(
          `delete from cloudops_plans where nonce in (
             select nonce from cloudops_plans where owner = $1 and decided order by expires desc offset $2)`,
          [owner, mostDecided],
        );
        return rowCount === 1;
      }),
    find: async (nonce) => plansIn((await query(`${select} where nonce = $1`, [nonce])).rows)[0],
    claim: async (nonce) =>
      (await query('update cloudops_plans set decided = true where nonce = $1 and not decided', [nonce])).rowCount ===
      1,
    update: async (nonce, sealed) =>
      void (await query('update cloudops_plans set sealed = $2 where nonce = $1 and decided', [nonce, sealed])),
    list: async () => plansIn((await query(`${select} order by decided, expires desc limit $1`, [mostListed])).rows),
    countWaiting: async (time) => {
      const text = 'select from cloudops_plans where not decided and expires >= $1';
      return (await query(text, [new Date(time)])).rowCount ?? 0;
    },
    eraseBefore: async (time) => void (await query('delete from cloudops_plans where expires < $1', [new Date(time)])),
    close: () => database.close(),
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
