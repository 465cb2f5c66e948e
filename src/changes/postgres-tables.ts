import { readFileSync, statSync } from 'node:fs';
import pg from 'pg';
import { attempt, textAt } from '../util/objects.js';
import { words } from '../util/safe-text.js';
import { indexes, JournalFault, requireSchema, schemaVersion, tables } from './sql.js';

/**
 * All of a journal. The trigger refuses to change what has ended for roles that do not own the table, so a stolen server role cannot rewrite
 * the journal. The version comes last.
 */
const journal = `${tables};
${indexes};
create or replace function cloudops_changes_guard() returns trigger language plpgsql as $guard$
declare
  ending text[] := array['state', 'ending', 'outcome', 'ended', 'changed'];
  follow text[] := array['follow', 'follow_due'];
begin
  if pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    return coalesce(new, old);
  end if;
  if tg_op = 'DELETE' then
    if old.state = 'waiting' then return old; end if;
  elsif old.state in ('waiting', 'approved', 'begun') or to_jsonb(new) - follow = to_jsonb(old) - follow then
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

/** An unusual key, because all programs of a database share one set. */
const tablesLock = 0x636c6f7564;

const hasJournal = async (client: pg.ClientBase): Promise<boolean> => {
  // A query that reads no table would not see what another connection has just created.
  const { rows } = await client.query(`select from pg_class where oid = to_regclass('cloudops_store')`);
  return rows.length > 0;
};

/** Creates the tables of a journal, unless they are there. */
export async function migrate(url: string): Promise<void> {
  const client = await connectToMigrate(url);
  try {
    await client.query('set statement_timeout = 0; begin');
    await client.query('select pg_advisory_xact_lock($1)', [tablesLock]);
    if (!(await hasJournal(client))) await client.query(journal);
    await client.query('commit');
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

/**
 * Returns functions that create missing tables before the first work of a process.
 * @param createsTables false to fail if tables are missing
 */
export function createTableCheck(currentUrl: () => string, createsTables: boolean) {
  let isChecked = false;
  let adding: Promise<void> | undefined;
  const add = () => {
    adding ??= migrate(currentUrl()).finally(() => {
      adding = undefined;
    });
    return adding;
  };

  return {
    ensure: async (client: pg.ClientBase): Promise<void> => {
      if (isChecked) return;
      if (!(await hasJournal(client))) {
        if (!createsTables) throw await missingFault(client);
        await add().catch(failWithAdvice);
      }
      requireSchema(await versionOf(client));
      isChecked = true;
    },
    /** The next connection may lead to another database. */
    recheck: (): void => {
      isChecked = false;
    },
  };
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
