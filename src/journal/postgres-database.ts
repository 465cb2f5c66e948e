import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { CommitPending } from './retry-writes.js';

/** Time limits in milliseconds. A database that does not answer counts as one that cannot be reached. */
const connectMs = 3_000;
const statementMs = 5_000;
/** Longer than a statement, so that the database's own limit comes first: it leaves no doubt about the outcome. */
const answerMs = 7_000;
/** Longer than any process runs: for the one statement that has no limit. */
const endlessMs = 2 ** 31 - 1;
/** A connection that is silent for so long is asked whether its other end is still there. */
const keepAliveMs = 10_000;

/** A transaction, and what the database said at its begin. */
export interface Transaction {
  readonly client: pg.PoolClient;
  /** The time by the database's clock, in milliseconds. */
  readonly now: number;
  /** The server's clock less that of the database, in milliseconds; 0 if the time that the answer took may explain it. */
  readonly offsetMs: number;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly connections: number;
  readonly now: () => Date;
  /** Called with each connection before its work, until it succeeds. */
  readonly prepare: (client: pg.PoolClient) => Promise<void>;
  readonly onFailure: () => void;
  /** The time for one that the database tells, both in milliseconds. */
  readonly databaseTime?: ((told: number) => number) | undefined;
}

/** Connections to the database of a journal, made when they are needed. */
export function createDatabase({
  url,
  connections,
  now,
  prepare,
  onFailure,
  databaseTime = (told) => told,
}: DatabaseOptions) {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    application_name: 'cloudops-mcp',
    allowExitOnIdle: true,
  });
  // Without listeners, these events would end the process. A broken connection fails the work that needs it, and an idle one is replaced.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  /** Connections whose commit the database has not confirmed in time. */
  let waiting = 0;

  const begin = async (client: pg.PoolClient): Promise<Transaction> => {
    const sent = now().getTime();
    const results: unknown = await client.query(
      `begin isolation level read committed; set local synchronous_commit = on; set local statement_timeout = ${statementMs};
       set local idle_in_transaction_session_timeout = ${statementMs};
       select extract(epoch from clock_timestamp())::float8 * 1000 as now`,
    );
    const last: unknown = Array.isArray(results) ? results.at(-1)?.rows?.[0]?.now : undefined;
    const told = databaseTime(Number(last));
    const offsetMs = told < sent ? sent - told : Math.min(0, now().getTime() - told);
    return { client, now: told, offsetMs };
  };

  /**
   * A commit that waits for a standby is never given up: the database would answer with a commit that only it has, or go on waiting on
   * a connection that nobody knows of. It keeps its place in the pool until it is confirmed or the connection is lost.
   */
  const commit = async (client: pg.PoolClient): Promise<void> => {
    const statement = { text: 'commit', query_timeout: endlessMs };
    const committed = client.query(statement).then(
      () => client.release(),
      (error: unknown) => {
        client.release(true);
        onFailure();
        return failWithCode(error);
      },
    );
    const late = new AbortController();
    const isConfirmed = await Promise.race([
      committed.then(() => true),
      delay(answerMs, false, { signal: late.signal, ref: false }).catch(() => false),
    ]).finally(() => late.abort());
    if (isConfirmed) return;
    waiting += 1;
    const settled = () => {
      waiting -= 1;
    };
    committed.then(settled, settled);
    throw new CommitPending(committed);
  };

  const carryOut = async <Result>(client: pg.PoolClient, work: (transaction: Transaction) => Promise<Result>) => {
    try {
      await prepare(client);
      return await work(await begin(client));
    } catch (error) {
      // The state of the connection is unknown. Closing it rolls back.
      client.release(true);
      onFailure();
      return failWithCode(error);
    }
  };

  return {
    /**
     * Carries out work in a transaction, which is flushed to disk whatever the database's default is.
     * @param onCommit called just before it may have been committed
     * @throws CommitPending if the database does not confirm it in time, or the database's error
     */
    run: async <Result>(
      work: (transaction: Transaction) => Promise<Result>,
      onCommit = (): void => undefined,
    ): Promise<Result> => {
      if (waiting >= connections) throw new Error('the database does not confirm what was written on any connection');
      const client = await pool.connect().catch(failWithCode);
      const result = await carryOut(client, work);
      onCommit();
      await commit(client);
      return result;
    },
    close: async (): Promise<void> => {
      const ended = pool.end();
      // A commit that waits for a standby may do so for days.
      if (waiting === 0) await ended;
    },
  };
}

/**
 * Passes on errors of a database only with a code of SQL. Others may say anything, and come from anybody if the connection is not
 * encrypted.
 * @throws the error, or one that says that it has no code
 */
function failWithCode(error: unknown): never {
  if (error instanceof pg.DatabaseError && !/^[0-9A-Z]{5}$/.test(error.code ?? ''))
    throw new Error('the database answers with an error that has no code');
  throw error;
}
