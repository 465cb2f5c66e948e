import pg from 'pg';
import * as z from 'zod';
import { abandonedMs, findConflict, findDuplicate, isNonceSpent } from './conflict.js';
import { databaseName } from './database-url.js';
import {
  boundedCaller,
  boundedEnding,
  boundedIntent,
  type Ending,
  endingSchema,
  type Intent,
  intentSchema,
  type RecordedChange,
} from './entry.js';
import { defaultLimit, type Journal, unwritable } from './journal.js';
import { createPersistence, Permanent } from './persistence.js';

/** Bounds, in milliseconds. A server that does not answer counts as one that cannot be reached. */
const connectMs = 3_000;
const statementMs = 5_000;
/** Longer than a statement, so that the server's own limit, which leaves nothing in doubt, comes first. */
const answerMs = 7_000;
const connections = 5;
/** Of its own, so that reading the journal again and again keeps nobody from writing. */
const readingConnections = 2;

/** More open changes than this are ended next time. */
const maximumOpen = 1_000;

/** The caller is JSON, because text cannot hold every character. */
const tables = `
  create table cloudops_mutations (
    number bigint generated always as identity primary key,
    id text not null unique,
    digest text not null,
    nonce text unique,
    time timestamptz not null,
    intent json not null,
    caller text,
    outcome text,
    ended timestamptz,
    ending json
  );
  create index on cloudops_mutations (digest);
  create index on cloudops_mutations (time);
  create index on cloudops_mutations (ended);
  create index on cloudops_mutations (caller, number);
  create index on cloudops_mutations (number) where outcome is null;
  create table cloudops_guards (key text primary key);`;

/** Names this product among those that take advisory locks in the same database. */
const tablesLock = 0x636c6f7564;

/**
 * A journal in PostgreSQL, for servers that share it. Of intents with the same digest or nonce, the primary key of
 * `cloudops_guards` lets one at a time look for conflicts and be written; a lost connection leaves nothing locked.
 * No state is kept in the process or the connection, so that servers may come and go, behind a pooler too.
 * @param url its password is in no error
 */
export function createPostgresJournal(url: string, now: () => Date): Journal {
  const database = createDatabase(url, connections);
  const readingDatabase = createDatabase(url, readingConnections);
  const persistence = createPersistence();
  const unsent = (id: string, code: string): Ending => ({ id, time: now().toISOString(), outcome: 'not sent', code });
  return {
    end: (ending, signal) =>
      persistence.write(() => database.run((client) => update(client, boundedEnding(ending))), signal),
    findDuplicate: (digest) =>
      database.run(async (client) => {
        const time = now().getTime();
        return findDuplicate(await selectRelated(client, digest, undefined, time), digest, time);
      }),
    begin: async (given, { allowRepeat }) => {
      const intent = boundedIntent(given);
      let mayBeCommitted = false;
      const onCommit = () => {
        mayBeCommitted = true;
      };
      try {
        return await database.run(async (client) => {
          const result = findConflict(await lockRelated(client, intent), intent, allowRepeat);
          await insert(client, intent, result.kind === 'begun' ? undefined : unsent(intent.id, result.kind));
          return result;
        }, onCommit);
      } catch (error) {
        if (mayBeCommitted)
          await persistence.writeSoon(() =>
            database.run((client) => insert(client, intent, unsent(intent.id, 'unwritable'))),
          );
        return unwritable(databaseName(url), error);
      }
    },
    decline: (given) =>
      database.run(async (client) => {
        const intent = boundedIntent(given);
        const { id } = intent;
        const isSpent = isNonceSpent(await lockRelated(client, intent), intent.nonce);
        const declined = { id, time: now().toISOString(), outcome: 'declined' } as const;
        await insert(client, intent, isSpent ? unsent(id, 'consentUsed') : declined);
        return !isSpent;
      }),
    countDeclined: (since, caller) =>
      database.run(async (client) => {
        const { rowCount } = await client.query(
          `select from cloudops_mutations
           where outcome = 'declined' and ended >= $1 and caller is not distinct from $2`,
          [new Date(since), storedCaller(caller)],
        );
        return rowCount ?? 0;
      }),
    list: ({ since = 0, limit = defaultLimit, caller }) =>
      readingDatabase.run(async (client) => {
        const { rows } = await client.query(
          `select intent, ending from cloudops_mutations
           where time >= $1 and ($2::text is null or caller = $2) order by number desc limit $3`,
          [new Date(since), storedCaller(caller), limit],
        );
        return understoodIn(rows).reverse();
      }),
    listOpen: () =>
      database.run(async (client) => {
        const { rows } = await client.query(
          'select intent, ending from cloudops_mutations where outcome is null order by number limit $1',
          [maximumOpen],
        );
        return understoodIn(rows);
      }),
    close: async () => {
      await persistence.close();
      await Promise.all([database.close(), readingDatabase.close()]);
    },
  };
}

function createDatabase(url: string, max: number) {
  const pool = new pg.Pool({
    connectionString: url,
    max,
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
  let hasTables = false;
  return {
    /**
     * Commits what the work does, flushed to disk whatever the database's own default is, or nothing of it.
     * @param onCommit called when from now on it may have been committed
     */
    run: async <Result>(work: (client: pg.PoolClient) => Promise<Result>, onCommit = () => {}): Promise<Result> => {
      const client = await pool.connect().catch(failWithCode);
      try {
        if (!hasTables) await transaction(client, () => createTables(client));
        hasTables = true;
        const result = await transaction(client, () => work(client), onCommit);
        client.release();
        return result;
      } catch (error) {
        // Its state is not known: the server rolls back when the connection goes. What comes next may be another server.
        client.release(true);
        hasTables = false;
        return failWithCode(error);
      }
    },
    close: () => pool.end(),
  };
}

/**
 * What a server says in an error may be anything, and somebody else's where the connection is not encrypted: only a code of SQL
 * is passed on.
 * @throws the error, or one that says that it has no code
 */
function failWithCode(error: unknown): never {
  if (error instanceof pg.DatabaseError && !/^[0-9A-Z]{5}$/.test(error.code ?? ''))
    throw new Error('the database answers with an error that has no code');
  throw error;
}

async function transaction<Result>(client: pg.PoolClient, work: () => Promise<Result>, onCommit = () => {}) {
  await client.query(
    `begin isolation level read committed; set local synchronous_commit = on; set local statement_timeout = ${statementMs};
     set local idle_in_transaction_session_timeout = ${statementMs}`,
  );
  const result = await work();
  onCommit();
  await client.query('commit');
  return result;
}

/** The lock is for servers that start at once. */
async function createTables(client: pg.PoolClient): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [tablesLock]);
  const { rowCount } = await client.query("select where to_regclass('cloudops_guards') is null");
  if (rowCount === 1) await client.query(tables);
}

/**
 * Changes with a digest or a nonce, oldest first, that may be in conflict with one of a time (milliseconds). What was not made
 * conflicts by its nonce alone; of the same change there may be any number of those.
 */
async function selectRelated(client: pg.PoolClient, digest: string, nonce: string | undefined, time: number) {
  const { rows } = await client.query(
    `select intent, ending from cloudops_mutations
     where nonce = $2 or (digest = $1 and (outcome is null or
       (time >= $3 or ended >= $3) and outcome not in ('rejected', 'declined', 'not sent'))) order by number`,
    [digest, nonce, new Date(time - abandonedMs)],
  );
  // One that is not understood may be one in conflict: then this throws.
  return z.array(rowSchema).parse(rows);
}

/** The same, where no other intent with the digest or the nonce can be written until this transaction ends. */
async function lockRelated(client: pg.PoolClient, { digest, nonce, time }: Intent): Promise<readonly RecordedChange[]> {
  // Digests come before nonces, so that none wait in a circle.
  await client.query(
    'insert into cloudops_guards select unnest($1::text[]) on conflict (key) do update set key = excluded.key',
    [[`digest ${digest}`, ...(nonce === undefined ? [] : [`nonce ${nonce}`])]],
  );
  return selectRelated(client, digest, nonce, Date.parse(time));
}

/**
 * Writes an intent, and its ending if it has one already. If a connection was lost and nobody knows whether the intent
 * was committed, it is written again with an ending: that waits for, and replaces, what may still be on its way.
 */
async function insert(client: pg.PoolClient, intent: Intent, ending: Ending | undefined): Promise<void> {
  const { id, digest, time, caller } = intent;
  const nonce = ending?.outcome === 'not sent' ? undefined : intent.nonce;
  const ended = ending === undefined ? [null, null, null] : [ending.outcome, ending.time, JSON.stringify(ending)];
  await client.query(
    `insert into cloudops_mutations (id, digest, nonce, time, intent, caller, outcome, ended, ending)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (id) do update set
       outcome = excluded.outcome, ended = excluded.ended, ending = excluded.ending, nonce = excluded.nonce`,
    [id, digest, nonce, time, JSON.stringify(intent), storedCaller(caller), ...ended],
  );
}

/** @throws Permanent if the intent is not there */
async function update(client: pg.PoolClient, ending: Ending): Promise<void> {
  // What is known is not made unknown again by another server that took this one to be gone.
  const { rowCount } = await client.query(
    `update cloudops_mutations set
       outcome = $2, ended = $3, ending = $4, nonce = case when $2 = 'not sent' then null else nonce end
     where id = $1 and (outcome is null or outcome = 'unknown' or $2 <> 'unknown')`,
    [ending.id, ending.outcome, ending.time, JSON.stringify(ending)],
  );
  if (rowCount === 1) return;
  const { rowCount: intents } = await client.query('select from cloudops_mutations where id = $1', [ending.id]);
  if (intents === 0) throw new Permanent('the intent is not in the journal');
}

const storedCaller = (caller: string | undefined) =>
  caller === undefined ? undefined : JSON.stringify(boundedCaller(caller));

const rowSchema = z
  .object({ intent: intentSchema(), ending: endingSchema().nullable() })
  .transform(({ intent, ending }): RecordedChange => ({ ...intent, ending: ending ?? undefined }));

/** The changes in rows, without what only a newer version understands. */
const understoodIn = (rows: readonly unknown[]): RecordedChange[] =>
  rows.flatMap((row) => rowSchema.safeParse(row).data ?? []);
