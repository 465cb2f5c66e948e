import { readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { attempt, textAt } from '../util/objects.js';
import { join, own, type SafeText, say, words } from '../util/safe-text.js';
import {
  CommitPending,
  type Engine,
  indexes,
  JournalFault,
  requireSchema,
  schemaVersion,
  type Transaction,
  tables,
  type Value,
} from './sql.js';
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

interface DatabaseTransaction extends Transaction {
  readonly client: pg.PoolClient;
  readonly offsetMs: number;
}

export interface DatabaseOptions {
  /** Each new connection takes the password from this file. */
  readonly addressFile?: string | undefined;
  readonly createsTables?: boolean | undefined;
  /** The database's clock in tests (milliseconds). */
  readonly databaseTime?: ((clockMs: number) => number) | undefined;
  readonly limits?: typeof defaultLimits | undefined;
}

/** Creates an engine on a database, which several servers and a connection pooler may share. Errors never contain the password of `url`. */
export function createPostgres(
  url: string,
  now: () => Date,
  {
    addressFile,
    createsTables = true,
    databaseTime = (clockMs) => clockMs,
    limits = defaultLimits,
  }: DatabaseOptions = {},
): Engine {
  const currentUrl = followPassword(url, addressFile);
  let hasTables = false;
  let adding: Promise<void> | undefined;

  const ensureTables = async (client: pg.ClientBase): Promise<void> => {
    if (hasTables) return;
    if (!(await hasJournal(client))) {
      if (!createsTables) throw await missingFault(client);
      adding ??= migrate(currentUrl()).finally(() => {
        adding = undefined;
      });
      await adding.catch((error: unknown) => {
        if (textAt(error, 'code') !== insufficientPrivilege) throw error;
        throw new JournalFault(
          'tables',
          words('it lacks tables: run "cloudops-mcp journal migrate" once as their owner'),
        );
      });
    }
    requireSchema(await versionOf(client));
    hasTables = true;
  };

  /** After an error, the state of the connection is unknown, so it is closed. */
  const closeOnError = async <Result>(client: pg.PoolClient, step: () => Promise<Result>) => {
    try {
      return await step();
    } catch (error) {
      client.release(true);
      // The next connection may lead to another database.
      hasTables = false;
      return failWithCode(error);
    }
  };

  const connect = (mostConnections: number) => {
    const pool = createPool(currentUrl, mostConnections, limits);
    let unconfirmed = 0;
    return {
      /** Waits at most `answerMs` for the commit, which is not given up. */
      run: async <Result>(
        work: (transaction: DatabaseTransaction) => Promise<Result>,
        beforeCommit = () => {},
      ): Promise<Result> => {
        if (unconfirmed >= mostConnections)
          throw new Error('the database does not confirm what was written on any connection');

        const client = await connecting(() => pool.connect());
        const result = await closeOnError(client, async () => {
          await ensureTables(client);
          return work(await begin(client, now, limits, databaseTime));
        });

        beforeCommit();
        // The commit may wait for a standby. It is never cancelled, because the database would then commit without the
        // standby.
        const committed = closeOnError(client, async () => {
          await client.query(commit);
          client.release();
        });
        if (await isConfirmedInTime(committed, limits.answerMs)) return result;

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

  const connections = connect(5);
  const scanningConnections = connect(2);
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
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'cloudops-mcp',
    allowExitOnIdle: true,
  });
  // Without listeners, these errors would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  return pool;
}

const numbered = (sql: string): string => sql.split('?').reduce((text, part, index) => `${text}$${index}${part}`);

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

/** Connects. An error names the certificate's file that the library could not read. */
async function connecting<Result>(connect: () => Promise<Result>): Promise<Result> {
  try {
    return await connect();
  } catch (error) {
    // A folder can be opened, but not read.
    const isOfFile = textAt(error, 'syscall') === 'open' || textAt(error, 'code') === 'EISDIR';
    if (!isOfFile) return failWithCode(error);
    const file = textAt(error, 'path') ?? 'a file of sslrootcert, sslcert or sslkey';
    // Not a `ShownError`, because `/readyz` would show the path to everybody.
    throw new Error(`${file} cannot be read: ${textAt(error, 'code')}`);
  }
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
/** In milliseconds. No change may begin above it. */
const toleratedMs = 60_000;

/** Returns a warning if the clocks differ. `offsetMs` is this server's clock minus the journal's (milliseconds). */
function clockWarnings(offsetMs: number): readonly SafeText[] {
  if (Math.abs(offsetMs) <= warnAboveMs) return [];
  const seconds = Math.round(Math.abs(offsetMs) / 1000);
  return [
    say`the clock of this server is ${seconds} s ${words(offsetMs < 0 ? 'behind' : 'ahead of')} that of the journal`,
  ];
}

function requireSameTime(offsetMs: number): void {
  const [problem] = clockWarnings(offsetMs);
  if (problem !== undefined && Math.abs(offsetMs) > toleratedMs)
    throw new JournalFault('clocks', say`${problem}: correct it`);
}

/**
 * All of a journal. The trigger refuses to change what has ended for roles that do not own the table, so a stolen server role cannot rewrite
 * the journal. The version comes last.
 */
const journal = `${tables};
${indexes};
create or replace function cloudops_changes_guard() returns trigger language plpgsql as $guard$
declare
  ending text[] := array['state', 'ending', 'outcome', 'ended', 'changed'];
begin
  if pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    return coalesce(new, old);
  end if;
  if tg_op = 'DELETE' then
    if old.state = 'waiting' then return old; end if;
  elsif old.state in ('waiting', 'approved', 'begun') or to_jsonb(new) - 'follow' = to_jsonb(old) - 'follow' then
    return new;
  elsif old.state = 'unknown' and new.state in ('accepted', 'partly', 'rejected')
    and to_jsonb(new) - ending = to_jsonb(old) - ending then
    return new;
  end if;
  raise exception 'ended changes stay as they are' using errcode = 'insufficient_privilege';
end $guard$;
drop trigger if exists cloudops_changes_guard on cloudops_changes;
create trigger cloudops_changes_guard before update or delete on cloudops_changes
  for each row execute function cloudops_changes_guard();
create table cloudops_store (schema_version integer not null);
insert into cloudops_store values (${schemaVersion})`;

const hasJournal = async (client: pg.ClientBase): Promise<boolean> => {
  // A query that reads no table would not see what another connection has just created.
  const { rows } = await client.query(`select from pg_class where oid = to_regclass('cloudops_store')`);
  return rows.length > 0;
};

export async function migrate(url: string): Promise<void> {
  const client = await connecting(async () => {
    const options = { connectionString: connectionString(url), connectionTimeoutMillis: 10_000, keepAlive: true };
    const connection = new pg.Client(options);
    connection.on('error', () => undefined);
    await connection.connect();
    return connection;
  });
  try {
    await client.query('set statement_timeout = 0; begin');
    // An unusual key, because all programs of a database share one set.
    await client.query('select pg_advisory_xact_lock($1)', [0x636c6f7564]);
    if (!(await hasJournal(client))) await client.query(journal);
    await client.query('commit');
  } finally {
    await client.end();
  }
}

async function missingFault(client: pg.ClientBase): Promise<JournalFault> {
  const { rows } = await client.query<{ mayCreate: boolean }>(
    `select coalesce(has_schema_privilege(current_schema(), 'create'), false)
       and not pg_is_in_recovery() as "mayCreate"`,
  );
  return new JournalFault(
    rows[0]?.mayCreate === true ? 'no tables yet' : 'tables',
    words('it has no tables of a journal'),
  );
}

async function versionOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client
    .query<{ version: number }>('select max(schema_version) as version from cloudops_store')
    .catch((error: unknown) => {
      if (textAt(error, 'code') !== insufficientPrivilege) throw error;
      throw new JournalFault('rights', words('the role of this server lacks rights: cloudops_store select'));
    });
  return Number(rows[0]?.version);
}

const insufficientPrivilege = '42501';

/** Replaces the modes that PostgreSQL's library treats as `verify-full`, because it warns of each. */
const connectionString = (url: string): string =>
  /[?&]uselibpqcompat=/.test(url)
    ? url
    : url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/g, '$1verify-full');

/** Returns a function that reads the present password from the file of the address, so that a new one needs no restart. */
export function followPassword(url: string, file: string | undefined): () => string {
  let current = url;
  return () => {
    // A pipe of a shell is not read again, because that might never end.
    const readFile = () =>
      file !== undefined && statSync(file).isFile() ? readFileSync(file, 'utf8').trim() : undefined;
    const text = attempt(readFile, undefined);
    if (text !== undefined && withoutPassword(text) === withoutPassword(url)) current = text;
    return current;
  };
}

function withoutPassword(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  url.password = '';
  url.searchParams.delete('password');
  return url.href;
}
