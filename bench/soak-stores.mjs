// The journals that the soak can use. Each has its address, a way to be away for some time, and its rows for the final check.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { importSource } from '../scripts/source.mjs';

/** Rows that were decided on: `not sent Restore instance "s-1"`. `json` reads the column with the plan. */
const rowsWith = (json) =>
  `select case when state in ('approved', 'begun') then 'open' else state end || ' ' || (${json}->>'what') as line ` +
  "from cloudops_changes where state not in ('waiting', 'declined', 'withdrawn')";

/** A database server, which is away because it crashes. */
async function openPostgres() {
  const { startPostgres } = await importSource("export { startPostgres } from './test/support/postgres.ts'");
  const postgres = await startPostgres();
  return {
    address: postgres.url('soak'),
    beAway: async (ms) => {
      await postgres.stop();
      await delay(ms);
      await postgres.start();
    },
    rows: () => postgres.sql('soak', rowsWith('facts::json')).split('\n'),
    remove: () => postgres.remove(),
  };
}

/** A file that both servers write, and that is away because another process locks it. */
async function openSqlite(folder) {
  const { DatabaseSync } = await import('node:sqlite').catch(() => import('@photostructure/sqlite'));
  const address = join(folder, 'journal.db');
  const withFile = async (use) => {
    const database = new DatabaseSync(address, { timeout: 5000 });
    try {
      return await use(database);
    } finally {
      database.close();
    }
  };
  return {
    address,
    beAway: (ms) =>
      withFile(async (database) => {
        database.exec('BEGIN IMMEDIATE');
        await delay(ms);
        database.exec('ROLLBACK');
      }),
    rows: () =>
      withFile((database) =>
        database
          .prepare(rowsWith('facts'))
          .all()
          .map(({ line }) => line),
      ),
    remove: () => {},
  };
}

export const stores = { postgres: openPostgres, sqlite: openSqlite };
