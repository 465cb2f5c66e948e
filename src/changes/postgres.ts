import { join, own, type SafeText, say, words } from '../util/safe-text.js';
import { clockWarnings, createClockWarning } from './clock-warnings.js';
import { JournalFault } from './journal-fault.js';
import { type DatabaseOptions, type DatabaseTransaction, openDatabase, requireSameTime } from './postgres-database.js';
import { missingParts, otherOwner } from './postgres-tables.js';
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

/**
 * Checks a database, as `Changes.healthCheck` describes.
 * @throws if changes would be refused because of the role's rights, a standby or the clocks
 */
async function checkHealth(transaction: DatabaseTransaction): Promise<readonly SafeText[]> {
  const { client, offsetMs } = transaction;
  const { rows } = await client.query<{
    isReadOnly: boolean;
    /** True if a standby could take over without changes that were confirmed. A standby that is away may still have a replication slot. */
    losesChanges: boolean;
    /** Missing rights on tables, such as `cloudops_changes select`. */
    lacking: string[];
    /** Null if this role can build indexes itself. */
    otherOwner: string | null;
  }>(
    `select current_setting('transaction_read_only') = 'on' as "isReadOnly",
       current_setting('synchronous_standby_names') = '' and (exists (select from pg_stat_replication) or
         exists (select from pg_replication_slots where slot_type = 'physical')) as "losesChanges",
       array(select name || ' ' || privilege from unnest(array['cloudops_changes', 'cloudops_processes']) name,
         unnest(array['select', 'insert', 'update', 'delete']) privilege
         where not has_table_privilege(name, privilege)) as "lacking",
       ${otherOwner} as "otherOwner"`,
  );
  const [state] = rows;

  if (state?.isReadOnly !== false)
    throw new JournalFault('standby', words('the database is read-only, as a standby is'));
  // Word by word, because `own` shows single words as they are, and quotes any other text.
  const lacking = state.lacking.map((right) => join(right.split(' ').map(own), ' '));
  if (lacking.length > 0)
    throw new JournalFault('rights', say`the role of this server lacks rights: ${join(lacking, ', ')}`);
  requireSameTime(offsetMs);

  const { indexes } = await missingParts(client);
  const warnings = [...clockWarnings(offsetMs)];
  if (state.losesChanges)
    warnings.push(
      words('replication is not synchronous: when a standby takes over, changes that it did not get can be made twice'),
    );
  if (indexes.length > 0) {
    const condition =
      state.otherOwner === null ? words('') : say`, if ${own(state.otherOwner)} runs it, who owns the tables`;
    warnings.push(say`indexes are missing or being built: cloudops-mcp journal migrate builds them${condition}`);
  }
  return warnings;
}
