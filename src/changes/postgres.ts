import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { join, own, type SafeText, say, words } from '../util/safe-text.js';
import { connectionString, createTableCheck, followPassword, namingFile } from './postgres-tables.js';
import { CommitPending } from './retry-writes.js';
import { type Engine, JournalFault, type Transaction, type Value } from './sql.js';
import { storePlace } from './store-place.js';

/** Time limits in milliseconds. */
const defaultLimits = {
  connectMs: 3_000,
  statementMs: 5_000,
  /** Longer than `statementMs`, so that the database stops a slow statement first, which leaves no doubt. */
  answerMs: 7_000,
};
/** Node's longest timeout (25 days), because 0 would mean `answerMs`. */
const commit = { text: 'commit', query_timeout: 2 ** 31 - 1 };
const keepAliveMs = 10_000;

interface DatabaseTransaction extends Transaction {
  readonly client: pg.PoolClient;
  readonly offsetMs: number;
}

/** If the clocks differ by more than this (milliseconds), no change may begin. */
const toleratedMs = 60_000;

function requireSameTime(offsetMs: number): void {
  const [problem] = clockWarnings(offsetMs);
  if (problem !== undefined && Math.abs(offsetMs) > toleratedMs)
    throw new JournalFault('clocks', say`${problem}: correct it`);
}

export interface DatabaseOptions {
  /** Each new connection takes the password from this file. */
  readonly addressFile?: string | undefined;
  readonly createsTables?: boolean | undefined;
  /** The database's clock in tests (milliseconds). */
  readonly databaseTime?: ((clockMs: number) => number) | undefined;
  readonly limits?: typeof defaultLimits | undefined;
}

const mostConnections = 5;
const mostScanningConnections = 2;

/** Creates an engine on a database, which several servers and a connection pooler may share. */
export function createPostgres(url: string, now: () => Date, options: DatabaseOptions = {}): Engine {
  const connect = openDatabase(url, now, options);
  const connections = connect(mostConnections);
  const scanningConnections = connect(mostScanningConnections);

  return {
    name: storePlace(url).name,
    write: connections.run,
    read: connections.run,
    scan: scanningConnections.run,
    healthCheck: () => connections.run(checkHealth),
    close: async () => {
      await Promise.all([connections.close(), scanningConnections.close()]);
    },
  };
}

const numbered = (sql: string): string => sql.split('?').reduce((text, part, index) => `${text}$${index}${part}`);

/** Returns a function that makes pools of connections. Errors never contain the password of `url`. */
function openDatabase(url: string, now: () => Date, options: DatabaseOptions) {
  const { createsTables = true, limits = defaultLimits } = options;
  const { databaseTime = (clockMs) => clockMs } = options;
  const currentUrl = followPassword(url, options.addressFile);
  const tables = createTableCheck(currentUrl, createsTables);

  /** After an error, the state of the connection is unknown, so it is closed. */
  const closeAndRecheckOnError = async <Result>(client: pg.PoolClient, step: () => Promise<Result>) => {
    try {
      return await step();
    } catch (error) {
      client.release(true);
      tables.recheck();
      return failWithCode(error);
    }
  };

  return (mostConnections: number) => {
    const pool = createPool(currentUrl, mostConnections, limits);
    let unconfirmed = 0;
    return {
      /** See `Engine.write`. Waits at most `answerMs` for the commit, which is not given up. */
      run: async <Result>(
        work: (transaction: DatabaseTransaction) => Promise<Result>,
        beforeCommit = () => {},
      ): Promise<Result> => {
        if (unconfirmed >= mostConnections)
          throw new Error('the database does not confirm what was written on any connection');

        const client = await connectTo(pool);
        const result = await closeAndRecheckOnError(client, async () => {
          await tables.ensure(client);
          return work(await begin(client, now, limits, databaseTime));
        });

        beforeCommit();
        // The commit may wait for a standby. It is never cancelled, because the database would then commit without the
        // standby.
        const committed = closeAndRecheckOnError(client, async () => {
          await client.query(commit);
          client.release();
        });
        const isConfirmed = await isConfirmedInTime(committed, limits.answerMs);
        if (isConfirmed) return result;

        // The commit goes on, and keeps its connection until it ends.
        unconfirmed += 1;
        const settle = () => {
          unconfirmed -= 1;
        };
        committed.then(settle, settle);
        throw new CommitPending(committed);
      },
      close: async () => {
        const ended = pool.end();
        // The commit may wait for a standby for days.
        if (unconfirmed === 0) await ended;
      },
    };
  };
}

function createPool(currentUrl: () => string, mostConnections: number, limits: typeof defaultLimits): pg.Pool {
  const pool = new pg.Pool({
    Client: class extends pg.Client {
      constructor(config: pg.ClientConfig = {}) {
        super({ ...config, connectionString: connectionString(currentUrl()) });
      }
    },
    max: mostConnections,
    connectionTimeoutMillis: limits.connectMs,
    query_timeout: limits.answerMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    application_name: 'cloudops-mcp',
    allowExitOnIdle: true,
  });
  // Without listeners, these errors would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  return pool;
}

async function connectTo(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    return failWithCode(namingFile(error));
  }
}

async function begin(
  client: pg.PoolClient,
  now: () => Date,
  { statementMs }: typeof defaultLimits,
  databaseTime: (clockMs: number) => number,
): Promise<DatabaseTransaction> {
  const sentAt = now().getTime();
  const results: unknown = await client.query(
    // With `synchronous_commit`, a confirmed commit survives a crash.
    `begin isolation level read committed; set local synchronous_commit = on; set local statement_timeout = ${statementMs};
     set local idle_in_transaction_session_timeout = ${statementMs};
     select extract(epoch from clock_timestamp())::float8 * 1000 as clock_ms`,
  );

  const clockMs: unknown = Array.isArray(results) ? results.at(-1)?.rows?.[0]?.clock_ms : undefined;
  const databaseNow = databaseTime(Number(clockMs));
  const serverNow = now().getTime();
  // The database read its clock in between, so only a time outside shows a difference.
  const nearest = Math.min(Math.max(databaseNow, sentAt), serverNow);
  const offsetMs = nearest - databaseNow;
  const query = (sql: string, values: readonly Value[]) => client.query(numbered(sql), [...values]);
  return {
    client,
    offsetMs,
    now: Math.floor(databaseNow),
    wall: serverNow,
    forUpdate: ' for update',
    all: async (sql, ...values) => (await query(sql, values)).rows,
    run: async (sql, ...values) => (await query(sql, values)).rowCount ?? 0,
    lock: async (key) => {
      await query('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`cloudops ${key}`]);
    },
    requireSameTime: () => requireSameTime(offsetMs),
  };
}

async function isConfirmedInTime(committed: Promise<void>, answerMs: number): Promise<boolean> {
  const waiting = new AbortController();
  const late = delay(answerMs, false, { signal: waiting.signal, ref: false }).catch(() => false);
  return Promise.race([committed.then(() => true), late]).finally(() => waiting.abort());
}

/** Hides the text of an error without an SQL code, because its sender may be anybody without encryption. */
function failWithCode(error: unknown): never {
  if (error instanceof pg.DatabaseError && !/^[0-9A-Z]{5}$/.test(error.code ?? ''))
    throw new Error('the database answers with an error that has no code');
  throw error;
}

async function checkHealth({ client, offsetMs }: DatabaseTransaction): Promise<readonly SafeText[]> {
  const { rows } = await client.query<{
    isReadOnly: boolean;
    /** True if a standby could take over without changes that were confirmed. */
    losesChanges: boolean;
    lacking: string[];
  }>(
    `select current_setting('transaction_read_only') = 'on' as "isReadOnly",
       current_setting('synchronous_standby_names') = '' and (exists (select from pg_stat_replication) or
         exists (select from pg_replication_slots where slot_type = 'physical')) as "losesChanges",
       array(select name || ' ' || privilege from unnest(array['cloudops_changes', 'cloudops_processes']) name,
         unnest(array['select', 'insert', 'update', 'delete']) privilege
         where not has_table_privilege(name, privilege)) as "lacking"`,
  );
  const [state] = rows;

  if (state?.isReadOnly !== false)
    throw new JournalFault('standby', words('the database is read-only, as a standby is'));
  const lacking = state.lacking.map((right) => join(right.split(' ').map(own), ' '));
  if (lacking.length > 0)
    throw new JournalFault('rights', say`the role of this server lacks rights: ${join(lacking, ', ')}`);
  requireSameTime(offsetMs);
  return state.losesChanges ? [...clockWarnings(offsetMs), losesChanges] : clockWarnings(offsetMs);
}

const losesChanges = words(
  'replication is not synchronous: when a standby takes over, changes that it did not get can be made twice',
);

/** In milliseconds. */
const warnAboveMs = 1_000;

/** Returns a warning if the clocks differ. `offsetMs` is this server's clock minus the journal's (milliseconds). */
export function clockWarnings(offsetMs: number): readonly SafeText[] {
  if (Math.abs(offsetMs) <= warnAboveMs) return [];
  const seconds = Math.round(Math.abs(offsetMs) / 1000);
  return [
    say`the clock of this server is ${seconds} s ${words(offsetMs < 0 ? 'behind' : 'ahead of')} that of the journal`,
  ];
}
