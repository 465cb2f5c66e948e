import type { Log } from '../util/log.js';
import { createClockWarning } from './clock-warnings.js';
import { type Database, type DatabaseTransaction, requireSameTime } from './postgres-database.js';
import { checkHealth } from './postgres-health-check.js';
import type { Engine, Transaction, Work } from './sql.js';

const mostConnections = 5;
const mostScanningConnections = 2;

/**
 * Creates an engine on a database, which several servers may share. No connection keeps state between transactions, so a connection pooler may
 * be used.
 */
export function createPostgres(database: Database, log: Log): Engine {
  const connections = database.connect(mostConnections);
  const scanningConnections = database.connect(mostScanningConnections);
  const warnOfClock = createClockWarning(log);
  const sqlFor = createNumbering();

  const transactionOn = ({ client, databaseNow, serverNow, offsetMs }: DatabaseTransaction): Transaction => ({
    now: Math.floor(databaseNow),
    wall: serverNow,
    forUpdate: ' for update',
    all: async (sql, ...values) => (await client.query(sqlFor(sql), [...values])).rows,
    run: async (sql, ...values) => (await client.query(sqlFor(sql), [...values])).rowCount ?? 0,
    lock: async (key) => {
      await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`cloudops ${key}`]);
    },
    requireSameTime: () => requireSameTime(offsetMs),
  });

  const write = <Result>(work: Work<Result>, beforeCommit?: () => void): Promise<Result> =>
    connections.run((transaction) => {
      warnOfClock(transaction.offsetMs);
      return work(transactionOn(transaction));
    }, beforeCommit);

  return {
    name: database.name,
    write,
    read: (work) => connections.run((transaction) => work(transactionOn(transaction))),
    scan: (work) => scanningConnections.run((transaction) => work(transactionOn(transaction))),
    healthCheck: () => connections.run(checkHealth),
    close: async () => {
      await Promise.all([connections.close(), scanningConnections.close()]);
    },
  };
}

/** Returns a function that writes the values of a statement as PostgreSQL does: `$1` in place of the first `?`. */
function createNumbering(): (sql: string) => string {
  const numbered = new Map<string, string>();
  return (sql) => {
    let count = 0;
    const text =
      numbered.get(sql) ??
      sql.replace(/\?/g, () => {
        count += 1;
        return `$${count}`;
      });
    numbered.set(sql, text);
    return text;
  };
}
