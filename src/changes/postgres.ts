import { createClockWarning } from './clock-warnings.js';
import { type DatabaseOptions, type DatabaseTransaction, openDatabase, requireSameTime } from './postgres-database.js';
import { checkHealth } from './postgres-health-check.js';
import type { Engine, Transaction, Work } from './sql.js';
import { storePlace } from './store-place.js';

const mostConnections = 5;
const mostScanningConnections = 2;

/**
 * Creates an engine on a database, which several servers may share. No connection keeps state between transactions, so a connection pooler may
 * be used.
 */
export function createPostgres(url: string, now: () => Date, options: DatabaseOptions = {}): Engine {
  const connect = openDatabase(url, now, options);
  const connections = connect(mostConnections);
  const scanningConnections = connect(mostScanningConnections);
  const warnOfClock = createClockWarning(options.log ?? (() => undefined));

  const transactionOn = ({ client, databaseNow, serverNow, offsetMs }: DatabaseTransaction): Transaction => ({
    now: Math.floor(databaseNow),
    wall: serverNow,
    forUpdate: ' for update',
    all: async (sql, ...values) => (await client.query(numbered(sql), [...values])).rows,
    run: async (sql, ...values) => (await client.query(numbered(sql), [...values])).rowCount ?? 0,
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
    name: storePlace(url).name,
    write,
    read: (work) => connections.run((transaction) => work(transactionOn(transaction))),
    scan: (work) => scanningConnections.run((transaction) => work(transactionOn(transaction))),
    healthCheck: () => connections.run(checkHealth),
    close: async () => {
      await Promise.all([connections.close(), scanningConnections.close()]);
    },
  };
}

/** Writes the values of a statement as PostgreSQL does: `$1` in place of the first `?`. */
const numbered = (sql: string): string => sql.split('?').reduce((text, part, index) => `${text}$${index}${part}`);
