import { readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Log, reasonOf } from '../util/log.js';
import { attempt, textAt } from '../util/objects.js';
import { namesOf, type SafeText, say, words } from '../util/safe-text.js';
import { indexes, JournalFault, newerVersion, schemaVersion, tables } from './sql.js';

interface Part {
  readonly name: string;
  readonly sql: string;
}

/** Refuses to change what has ended, for roles that do not own the table, so a stolen server role cannot rewrite the journal. */
const guard = `create or replace function cloudops_changes_guard() returns trigger language plpgsql as $guard$
begin
  if pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    return coalesce(new, old);
  end if;
  if tg_op = 'DELETE' then
    if old.state = 'waiting' then return old; end if;
  elsif old.state in ('waiting', 'approved', 'begun') then
    return new;
  elsif old.state = 'unknown' and new.state in ('accepted', 'partly', 'rejected')
    and to_jsonb(new) - array['state', 'ending', 'outcome', 'ended', 'changed']
      = to_jsonb(old) - array['state', 'ending', 'outcome', 'ended', 'changed'] then
    return new;
  end if;
  raise exception 'ended changes stay as they are' using errcode = 'insufficient_privilege';
end $guard$;
create trigger cloudops_changes_guard before update or delete on cloudops_changes
  for each row execute function cloudops_changes_guard()`;

/** Without these parts, no change can be written. */
const required: readonly Part[] = [
  { name: 'cloudops_changes', sql: `${tables.cloudops_changes}; ${guard}` },
  { name: 'cloudops_processes', sql: tables.cloudops_processes },
  { name: 'cloudops_follows', sql: tables.cloudops_follows },
  {
    name: 'cloudops_store',
    sql: `create table if not exists cloudops_store (schema_version integer not null);
      insert into cloudops_store values (${schemaVersion})`,
  },
];

/** Without these parts, queries are slow. */
const indexParts: readonly Part[] = Object.entries(indexes).map(([name, columns]) => ({
  name: `cloudops_changes_${name}`,
  sql: `index concurrently if not exists cloudops_changes_${name} on cloudops_changes ${columns}`,
}));

/** Unusual keys, because all programs of a database share one set. */
const tablesLock = 0x636c6f7564;
const indexesLock = tablesLock + 1;

/** In milliseconds. All other work on the table waits meanwhile. */
const lockMs = 2_000;
const lockPauseMs = 500;

/** An index whose building was interrupted counts as missing. */
async function missing(client: pg.ClientBase, parts: readonly Part[]): Promise<readonly Part[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from unnest($1::text[]) name
     where to_regclass(name) is null
       or exists (select from pg_index where indexrelid = to_regclass(name) and not indisvalid)`,
    [parts.map(({ name }) => name)],
  );
  return parts.filter(({ name }) => rows.some((row) => row.name === name));
}

/** The names of the missing parts of a journal. */
export const missingParts = async (client: pg.ClientBase) => ({
  tables: (await missing(client, required)).map(({ name }) => name),
  indexes: (await missing(client, indexParts)).map(({ name }) => name),
});

/** The owner of the tables. Null if this role may act as the owner. */
export const otherOwner = `(select pg_get_userbyid(relowner) from pg_class
  where oid = to_regclass('cloudops_changes') and not pg_has_role(relowner, 'usage'))`;

async function missingFault(client: pg.ClientBase, names: readonly string[]): Promise<JournalFault> {
  const { rows } = await client.query<{ mayCreate: boolean }>(
    `select coalesce(has_schema_privilege(current_schema(), 'create'), false) and ${otherOwner} is null
       and not pg_is_in_recovery() as "mayCreate"`,
  );
  const isNew = names.includes('cloudops_changes');
  const reason: SafeText = isNew ? words('it has no tables of a journal') : say`it lacks ${namesOf(names)}`;
  return new JournalFault(rows[0]?.mayCreate === true ? 'no tables yet' : 'tables', reason);
}

/**
 * Creates the missing parts of a journal without time limits, because a large table takes long.
 * @param waitsForIndexes false to leave indexes to another process
 */
export async function migrate(url: string, { waitsForIndexes = true } = {}): Promise<void> {
  const client = await connectToMigrate(url);
  try {
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
    await addTables(client);
    await addIndexes(client, waitsForIndexes);
  } finally {
    await client.end();
  }
}

async function connectToMigrate(url: string): Promise<pg.Client> {
  try {
    const options = { connectionString: connectionString(url), connectionTimeoutMillis: 10_000, keepAlive: true };
    const client = new pg.Client(options);
    client.on('error', () => undefined);
    await client.connect();
    return client;
  } catch (error) {
    throw namingFile(error);
  }
}

async function addTables(client: pg.ClientBase): Promise<void> {
  await client.query(`begin; set local lock_timeout = ${lockMs}`);
  try {
    await client.query('select pg_advisory_xact_lock($1)', [tablesLock]);
    const parts = await missing(client, required);
    for (const { sql } of parts) await client.query(sql);
    // `concurrently` is not allowed in a transaction.
    if (parts.some(({ name }) => name === 'cloudops_changes'))
      for (const { sql } of indexParts) await client.query(`create ${sql.replace(' concurrently', '')}`);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

async function addIndexes(client: pg.ClientBase, waits: boolean): Promise<void> {
  const lock = async () => {
    const sql = 'select pg_try_advisory_lock($1) as locked';
    const { rows } = await client.query<{ locked: boolean }>(sql, [indexesLock]);
    return rows[0]?.locked === true;
  };
  // Polls, because building an index waits for all transactions, also for one that waits for this lock.
  while (!(await lock())) {
    if (!waits) return;
    await delay(lockPauseMs);
  }
  for (const { name, sql } of await missing(client, indexParts)) {
    await client.query(`drop index concurrently if exists ${name}`);
    await client.query(`create ${sql}`);
  }
}

/**
 * Returns functions that create missing tables before the first work of a process.
 * @param createsTables false to fail if tables are missing
 */
export function createTableCheck(currentUrl: () => string, log: Log, createsTables: boolean) {
  let isChecked = false;
  let adding: Promise<void> | undefined;
  const add = () => {
    adding ??= migrate(currentUrl(), { waitsForIndexes: false }).finally(() => {
      adding = undefined;
    });
    return adding;
  };

  return {
    ensure: async (client: pg.ClientBase): Promise<void> => {
      if (isChecked) return;
      const { tables, indexes } = await missingParts(client);
      if (tables.length > 0) {
        if (!createsTables) throw await missingFault(client, tables);
        await add().catch(failWithAdvice);
      } else if (indexes.length > 0 && createsTables) {
        // In the background, because work without indexes is only slower.
        add().catch((error: unknown) => log('warn', 'journal', { missing: indexes, error: reasonOf(error) }));
      }
      await requireVersion(client);
      isChecked = true;
    },
    /** The next connection may lead to another database. */
    recheck: (): void => {
      isChecked = false;
    },
  };
}

async function requireVersion(client: pg.ClientBase): Promise<void> {
  const { rows } = await client
    .query<{ version: number }>('select max(schema_version) as version from cloudops_store')
    .catch((error: unknown) => {
      if (textAt(error, 'code') !== insufficientPrivilege) throw error;
      throw new JournalFault('rights', words('the role of this server lacks rights: cloudops_store select'));
    });
  if (Number(rows[0]?.version) > schemaVersion) throw newerVersion();
}

const insufficientPrivilege = '42501';

function failWithAdvice(error: unknown): never {
  if (textAt(error, 'code') !== insufficientPrivilege) throw error;
  throw new JournalFault('tables', words('it lacks tables: run "cloudops-mcp journal migrate" once as their owner'));
}

/** Replaces the modes that PostgreSQL's library treats as `verify-full`, because it warns of each. */
export const connectionString = (url: string): string =>
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

/** Adds the name of a certificate's file that the library could not read. */
export function namingFile(error: unknown): unknown {
  // A folder can be opened, but not read.
  const isOfFile = textAt(error, 'syscall') === 'open' || textAt(error, 'code') === 'EISDIR';
  if (!isOfFile) return error;
  const file = textAt(error, 'path') ?? 'a file of sslrootcert, sslcert or sslkey';
  // Not a `ShownError`, because `/readyz` would show the path to everybody.
  return new Error(`${file} cannot be read: ${textAt(error, 'code')}`);
}
