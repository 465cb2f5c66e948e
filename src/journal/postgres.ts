import pg from 'pg';
import * as z from 'zod';
import { databaseName } from './database-url.js';
import { endingSchema, findConflict, type Intent, intentSchema, type Journal, type Mutation } from './journal.js';

/** Bounds, in milliseconds. A server that does not answer is one that is away. */
const connectMs = 3_000;
const statementMs = 5_000;
/** Longer than a statement, so that the server's own limit, which leaves nothing in doubt, comes first. */
const answerMs = 7_000;
const connections = 5;

/** Nobody reads more, and a journal of years must not fill the memory. */
const mostRead = 10_000;

/** Steps to the present tables, oldest first. One that was released is never changed. */
const migrations: readonly string[] = [
  `create table cloudops_mutations (
     number bigint generated always as identity primary key,
     id text not null unique,
     digest text not null,
     nonce text unique,
     time timestamptz not null,
     intent json not null,
     outcome text,
     ended timestamptz,
     ending json
   );
   create index on cloudops_mutations (digest);
   create index on cloudops_mutations (time);
   create index on cloudops_mutations (ended);
   create table cloudops_guards (key text primary key);`,
];

/** Names this product among those that take advisory locks in the same database. */
const migrationLock = 0x636c6f7564;

/**
 * A journal in PostgreSQL, for servers that share it. Of intents with the same digest or nonce, the primary key of
 * `cloudops_guards` lets one at a time look for what stands in its way and be written down; whoever loses its connection
 * leaves nothing locked. Nothing is kept in the process, so that any server may come and go.
 * @param url its password is in no error
 */
export function createPostgresJournal(url: string, now: () => Date): Journal {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
    application_name: 'cloudops-mcp',
    allowExitOnIdle: true,
  });
  // What breaks a connection fails the work that needs it; if there is none, the connection is replaced. Either event, left
  // without a listener, would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  let migrated = false;
  const run: Run = async (work) => {
    const client = await pool.connect();
    try {
      if (!migrated) await transaction(client, () => migrate(client));
      migrated = true;
      const result = await transaction(client, () => work(client));
      client.release();
      return result;
    } catch (error) {
      // Its state is not known: the server rolls back when the connection goes. What comes next may be another server.
      client.release(true);
      migrated = false;
      throw error;
    }
  };
  const end: Journal['end'] = (ending) =>
    run(async (client) => {
      // What is known is not made unknown again by another server that took this one to be gone.
      const { rowCount } = await client.query(
        `update cloudops_mutations set
           outcome = $2, ended = $3, ending = $4, nonce = case when $2 = 'not sent' then null else nonce end
         where id = $1 and (outcome is null or outcome = 'unknown' or $2 <> 'unknown')`,
        [ending.id, ending.outcome, ending.time, JSON.stringify(ending)],
      );
      if (rowCount === 1) return;
      const { rowCount: intents } = await client.query('select from cloudops_mutations where id = $1', [ending.id]);
      if (intents === 0) throw new Error('the intent is not in the journal');
    });
  return {
    end,
    begin: async (intent, { allowRepeat }) => {
      let connected = false;
      try {
        return await run((client) => {
          connected = true;
          return begin(client, intent, allowRepeat, now());
        });
      } catch (error) {
        const stop = { id: intent.id, time: now().toISOString(), outcome: 'not sent', code: 'unwritable' } as const;
        // It may have been written down before the connection was lost.
        if (connected) await end(stop).catch(() => undefined);
        return { kind: 'unwritable', reason: `${databaseName(url)}: ${reasonOf(error)}` };
      }
    },
    read: (since = 0) =>
      run(async (client) => {
        const { rows } = await client.query(
          `select intent, ending from cloudops_mutations where time >= $1 or ended >= $1 or outcome is null
           order by number desc limit $2`,
          [new Date(since), mostRead],
        );
        return mutationsIn(rows).reverse();
      }),
    close: () => pool.end(),
  };
}

type Run = <Result>(work: (client: pg.PoolClient) => Promise<Result>) => Promise<Result>;

/** Commits what the work does, flushed to disk whatever the database's own default is, or nothing of it. */
async function transaction<Result>(client: pg.PoolClient, work: () => Promise<Result>): Promise<Result> {
  await client.query(
    `begin isolation level read committed; set local synchronous_commit = on; set local statement_timeout = ${statementMs};
     set local idle_in_transaction_session_timeout = ${statementMs}`,
  );
  const result = await work();
  await client.query('commit');
  return result;
}

/** Several servers may start at once, and one that is older than the tables may go on. */
async function migrate(client: pg.PoolClient): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [migrationLock]);
  const { rowCount: tables } = await client.query("select where to_regclass('cloudops_migrations') is not null");
  if (tables === 0) await client.query('create table cloudops_migrations (step int primary key)');
  const { rowCount: done } = await client.query('select from cloudops_migrations');
  for (const [step, statements] of migrations.entries()) {
    if (step < (done ?? 0)) continue;
    await client.query(statements);
    await client.query('insert into cloudops_migrations values ($1)', [step]);
  }
}

/** Writes an intent down, as one that was not sent if an earlier one stands in its way. */
async function begin(client: pg.PoolClient, intent: Intent, allowRepeat: boolean, now: Date) {
  const { id, digest, nonce = null, time } = intent;
  // Whoever has the same key waits here until this transaction ends. Digests come before nonces, so that none wait in a circle.
  await client.query(
    'insert into cloudops_guards select unnest($1::text[]) on conflict (key) do update set key = excluded.key',
    [[`digest ${digest}`, ...(nonce === null ? [] : [`nonce ${nonce}`])]],
  );
  const { rows } = await client.query(
    'select intent, ending from cloudops_mutations where digest = $1 or nonce = $2 order by number',
    [digest, nonce],
  );
  const begun = findConflict([...mutationsIn(rows), intent], intent, allowRepeat);
  const stopped = { id, time: now.toISOString(), outcome: 'not sent', code: begun.kind };
  const ending = begun.kind === 'begun' ? [null, null, null] : [stopped.outcome, now, JSON.stringify(stopped)];
  await client.query(
    `insert into cloudops_mutations (id, digest, nonce, time, intent, outcome, ended, ending)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [id, digest, begun.kind === 'begun' ? nonce : null, time, JSON.stringify(intent), ...ending],
  );
  return begun;
}

const rowsSchema = z.array(z.object({ intent: intentSchema, ending: endingSchema.nullable() }));

/** @throws if a row is not understood: it may be one that stands in the way */
const mutationsIn = (rows: unknown): Mutation[] =>
  rowsSchema.parse(rows).map(({ intent, ending }) => ({ ...intent, ending: ending ?? undefined }));

/** Codes and the library's own messages. A message of the server may quote anything. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
