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
import { checkBudget, selectBudget } from './postgres-budget.js';

/** Time limits in milliseconds. A database that does not answer counts as one that cannot be reached. */
const connectMs = 3_000;
const statementMs = 5_000;
/** Longer than a statement, so that the database's own limit comes first: it leaves no doubt about the outcome. */
const answerMs = 7_000;
const connections = 5;
/** Separate connections, so that reading the journal again and again keeps nobody from writing. */
const readingConnections = 2;

/** The most open changes to end at once. The next recovery takes the rest. */
const maximumOpen = 1_000;

/** The tables. `caller` is JSON, because text in PostgreSQL cannot hold every character. */
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
    ending json,
    budget text,
    written timestamptz default clock_timestamp()
  );
  create index on cloudops_mutations (digest);
  create index on cloudops_mutations (time);
  create index on cloudops_mutations (ended);
  create index on cloudops_mutations (caller, number);
  create index on cloudops_mutations (budget, written);
  create index on cloudops_mutations (number) where outcome is null;
  create table cloudops_messages (key text primary key, expected timestamptz not null default now(), message text);
  create table cloudops_guards (key text primary key);`;

/** The columns that a journal of an earlier version lacks. Nothing in it counts against a budget. */
const laterColumns = `
  alter table cloudops_mutations add column budget text, add column written timestamptz;
  alter table cloudops_mutations alter column written set default clock_timestamp();
  create index on cloudops_mutations (budget, written);`;

/** Key of an advisory lock, which is shared with every other program in the same database. */
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
    examine: () =>
      database.run(async (client) => {
        await checkRights(client);
        return [];
      }),
    unwritten: persistence.count,
    end: (ending, signal) =>
      persistence.write(() => database.run((client) => update(client, boundedEnding(ending))), signal),
    findDuplicate: (digest) =>
      database.run(async (client) => {
        const time = now().getTime();
        return findDuplicate(await selectRelated(client, digest, undefined, time), digest, time);
      }),
    budgetState: (key, budget) => database.run((client) => selectBudget(client, key, budget)),
    begin: async (given, { allowRepeat, budget }) => {
      const intent = boundedIntent(given);
      let mayBeCommitted = false;
      const onCommit = () => {
        mayBeCommitted = true;
      };
      try {
        return await database.run(async (client) => {
          const conflict = findConflict(await lockRelated(client, intent), intent, { allowRepeat });
          const result = conflict.kind === 'begun' ? await checkBudget(client, intent, budget) : conflict;
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
    listDeclined: (since, caller) =>
      database.run(async (client) => {
        const { rows } = await client.query(
          `select digest from cloudops_mutations
           where outcome = 'declined' and ended >= $1 and caller is not distinct from $2`,
          [new Date(since), storedCaller(caller)],
        );
        return z
          .array(z.object({ digest: z.string() }))
          .parse(rows)
          .map(({ digest }) => digest);
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

/** Connections to the database of a journal, made when they are needed. */
export function createDatabase(url: string, max: number) {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
    application_name: 'cloudops-mcp',
    allowExitOnIdle: true,
  });
  // Without listeners, these events would end the process. A broken connection fails the work that needs it, and an idle one is replaced.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  let hasTables = false;
  return {
    /**
     * Carries out work in a transaction, which is flushed to disk whatever the database's default is.
     * @param onCommit called just before it may have been committed
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
        // The state of the connection is unknown. Closing it rolls back. The next one may lead to another database without the tables.
        client.release(true);
        hasTables = false;
        return failWithCode(error);
      }
    },
    close: () => pool.end(),
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

/** Creates the tables unless they are there. The lock is for servers that start at the same time. */
async function createTables(client: pg.PoolClient): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [tablesLock]);
  const { rowCount } = await client.query("select where to_regclass('cloudops_guards') is null");
  if (rowCount === 1) return void (await client.query(tables));
  const { rowCount: isRecent } = await client.query(
    `select from information_schema.columns where table_name = 'cloudops_mutations' and column_name = 'budget'`,
  );
  if (isRecent === 0) await client.query(laterColumns);
}

/**
 * Checks that entries can be written here: by this role, and not on a standby.
 * @throws Error
 */
async function checkRights(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('transaction_read_only') = 'on' as "isReadOnly", array(
       select name || ' ' || privilege from unnest(array['cloudops_mutations', 'cloudops_guards']) name,
         unnest(array['select', 'insert', 'update']) privilege where not has_table_privilege(name, privilege)) as missing`,
  );
  const [{ isReadOnly, missing }] = rightsSchema.parse(rows);
  if (isReadOnly) throw new Error('the database is read-only, as a standby is');
  if (missing.length > 0) throw new Error(`the role of this server lacks rights: ${missing.join(', ')}`);
}

const rightsSchema = z.tuple([z.object({ isReadOnly: z.boolean(), missing: z.array(z.string()) })]);

/**
 * Changes with a digest or a nonce, oldest first, that may be in conflict with one of a time (milliseconds). A change that was not made
 * conflicts by its nonce alone. Leaving others of those out keeps the list short.
 */
async function selectRelated(client: pg.PoolClient, digest: string, nonce: string | undefined, time: number) {
  const { rows } = await client.query(
    `select intent, ending from cloudops_mutations
     where nonce = $2 or (digest = $1 and (outcome is null or
       (time >= $3 or ended >= $3) and outcome not in ('rejected', 'declined', 'not sent'))) order by number`,
    [digest, nonce, new Date(time - abandonedMs)],
  );
  // This throws for a change that cannot be read, because it may be in conflict.
  return z.array(rowSchema).parse(rows);
}

/** `selectRelated` under a lock: until this transaction ends, no other intent with the digest or the nonce can be written. */
async function lockRelated(
  client: pg.PoolClient,
  { digest, nonce, time, budget }: Intent,
): Promise<readonly RecordedChange[]> {
  // Always in the same order, so that no two transactions wait for each other.
  await client.query(
    'insert into cloudops_guards select unnest($1::text[]) on conflict (key) do update set key = excluded.key',
    [
      [
        ...(budget === undefined ? [] : [`budget ${budget}`]),
        `digest ${digest}`,
        ...(nonce === undefined ? [] : [`nonce ${nonce}`]),
      ],
    ],
  );
  return selectRelated(client, digest, nonce, Date.parse(time));
}

/**
 * Writes an intent, and its ending if it has one already. After a lost connection, when nobody knows whether the intent was committed,
 * it is written again with an ending: that waits for a commit that is still under way, and replaces its row.
 */
async function insert(client: pg.PoolClient, intent: Intent, ending: Ending | undefined): Promise<void> {
  const { id, digest, time, caller, budget } = intent;
  const nonce = ending?.outcome === 'not sent' ? undefined : intent.nonce;
  const ended = ending === undefined ? [null, null, null] : [ending.outcome, ending.time, JSON.stringify(ending)];
  await client.query(
    `insert into cloudops_mutations (id, digest, nonce, time, intent, caller, outcome, ended, ending, budget)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (id) do update set
       outcome = excluded.outcome, ended = excluded.ended, ending = excluded.ending, nonce = excluded.nonce`,
    [id, digest, nonce, time, JSON.stringify(intent), storedCaller(caller), ...ended, budget],
  );
}

/** @throws Permanent if the intent is not there */
async function update(client: pg.PoolClient, ending: Ending): Promise<void> {
  // A known outcome does not become unknown when another server takes this one to be gone.
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

/** The changes in rows, without those that only a newer version can read. */
const understoodIn = (rows: readonly unknown[]): RecordedChange[] =>
  rows.flatMap((row) => rowSchema.safeParse(row).data ?? []);
