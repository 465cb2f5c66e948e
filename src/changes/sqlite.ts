import { randomUUID } from 'node:crypto';
import { devNull } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { lazy, valueAt } from '../util/objects.js';
import { regularFile } from '../util/regular-file.js';
import { words } from '../util/safe-text.js';
import { JournalFault } from './journal-fault.js';
import {
  type Engine,
  indexes,
  newerVersion,
  schemaVersion,
  type Transaction,
  tables,
  type Value,
  type Work,
} from './sql.js';
import { faultOf, isBusy, loadSqlite, type Sqlite, type SqliteDatabase } from './sqlite-driver.js';
import { copyBeside, type OpenFile, openFileAt, placeOf, prepareFile, requireWritableFolder } from './sqlite-file.js';
import { type ClockReading, readClock, type SystemClock } from './store-clock.js';

export interface SqliteOptions {
  readonly clock: SystemClock;
  /** False for programs that only read: they make no file and no tables. By default true. */
  readonly createsTables?: boolean | undefined;
  /** The longest time to wait for a lock of another process (milliseconds). */
  readonly longestWaitMs?: number;
}

/** SQLite stops this process while it waits for a lock, so it waits only this long (milliseconds). The rest of the wait is asynchronous. */
const blockingMs = 5;

/**
 * The row about the file itself. `moved` is set once the file is deleted, before it is copied, so that no process writes to it any more. The
 * copy has the same text as `copy_of`.
 */
const storeSchema = lazy(() =>
  z.object({
    schema_version: z.number(),
    moved: z.string().nullable(),
    copy_of: z.string().nullable(),
    boot: z.string().nullable(),
    uptime: z.number(),
    wall: z.number(),
    time: z.number(),
  }),
);
const storeTable = `create table cloudops_store (
  schema_version integer not null, moved text, copy_of text, boot text, uptime integer, wall integer, time integer)`;

interface Connection {
  readonly db: SqliteDatabase;
  /** Undefined for a database in memory. */
  readonly file: OpenFile | undefined;
  all(sql: string, ...values: readonly Value[]): readonly unknown[];
  run(sql: string, ...values: readonly Value[]): number;
  /** @throws if another version of this program wrote the row */
  store(): z.output<ReturnType<typeof storeSchema>>;
}

/**
 * Creates an engine on a file, which several processes of one machine may share. The null device stands for a database in memory. All
 * statements of this process wait for their turn, so that none falls into the transaction of another call.
 */
export function createSqlite(path: string, options: SqliteOptions): Engine {
  const { clock, createsTables = true, longestWaitMs = 5_000 } = options;
  const sqlite = lazy(loadSqlite);
  let connection: Connection | undefined;
  /** Stands for a file that is not there yet, so that programs that only read make none. */
  let nothing: Connection | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const next = turn.then(work).catch((error: unknown) => {
      throw faultOf(error);
    });
    turn = next.catch(() => undefined);
    return next;
  };

  /** Repeats work while another process holds a lock. */
  const retrying = async <Result>(work: () => Result | Promise<Result>): Promise<Result> => {
    for (const until = performance.now() + longestWaitMs; ; ) {
      try {
        return await work();
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw error;
        await delay(5 + Math.random() * 20);
      }
    }
  };

  /** @param file undefined for a database in memory */
  const open = async (file: string | undefined, creates: boolean): Promise<Connection> => {
    const { DatabaseSync } = await sqlite();
    if (file !== undefined && creates) prepareFile(file);
    const opened = connect(DatabaseSync, file);
    try {
      await retrying(() => opened.db.exec('pragma journal_mode = wal; pragma synchronous = full'));
      if (creates) await retrying(() => createTables(opened, clock));
      requireVersion(opened);
      return opened;
    } catch (error) {
      opened.db.close();
      throw error;
    }
  };

  /** Opens the file, and again if a copy is in the place of a file that was deleted. */
  const ready = async (creates: boolean): Promise<Connection> => {
    if (path === devNull || (connection === undefined && !creates && !placeIsTaken(path))) {
      nothing ??= await open(undefined, true);
      return nothing;
    }
    connection ??= await open(path, createsTables);
    const { file } = connection;
    const place = file === undefined ? 'same' : placeOf(path, file);
    if (file === undefined || place === 'same') return connection;
    if (createsTables) {
      if (place === 'deleted') await restore(connection, file);
      const copy = await openCopy(connection);
      connection.db.close();
      connection = copy;
      return connection;
    }
    connection.db.close();
    connection = undefined;
    return ready(creates);
  };

  /** Puts a copy of a deleted file in its place. All processes that have the file open agree on its last write by `moved`. */
  const restore = async (deleted: Connection, file: OpenFile): Promise<void> => {
    const { DatabaseSync } = await sqlite();
    await exclusively(deleted, () => deleted.run('update cloudops_store set moved = coalesce(moved, ?)', randomUUID()));
    using copy = copyBeside(path, file, (to) => {
      deleted.run('vacuum into ?', to);
      const copied = new DatabaseSync(to);
      copied.exec('update cloudops_store set copy_of = moved, moved = null');
      copied.close();
    });
    await exclusively(deleted, () => {
      if (!placeIsTaken(path)) copy.link();
    });
  };

  /** Opens the file in the place of another one. @throws JournalFault unless it is a copy of the other */
  const openCopy = async (other: Connection): Promise<Connection> => {
    const copy = await open(path, false).catch(() => undefined);
    if (copy?.file !== undefined && copy.store().copy_of === other.store().moved) return copy;
    copy?.db.close();
    throw new JournalFault('replaced', words('another file was put in its place while this server ran'));
  };

  const exclusively = async (connection: Connection, work: () => unknown): Promise<void> => {
    await retrying(() => connection.db.exec('begin immediate'));
    await finish(connection, async () => work());
  };

  /** Runs work in the transaction that has begun, and commits. */
  const finish = async <Result>({ db }: Connection, work: () => Promise<Result>, beforeCommit = () => {}) => {
    try {
      const result = await work();
      beforeCommit();
      await retrying(() => db.exec('commit'));
      return result;
    } catch (error) {
      rollBack(db);
      throw error;
    }
  };

  const write = async <Result>(work: Work<Result>, beforeCommit?: () => void): Promise<Result> => {
    const current = await ready(createsTables);
    await retrying(() => current.db.exec('begin immediate'));
    const result = await finish(
      current,
      async () => {
        const last = current.store();
        if (last.moved !== null) throw new JournalFault('replaced', words('it is being copied'));
        const reading = readClock(last, clock);
        writeClock(current, reading);
        return work(transactionOn(current, reading.time));
      },
      beforeCommit,
    );
    // If the file was deleted meanwhile, other processes see the commit only when the file is back.
    await ready(createsTables);
    return result;
  };

  const read = <Result>(work: Work<Result>): Promise<Result> =>
    inTurn(() =>
      retrying(async () => {
        const current = await ready(false);
        return work(transactionOn(current, readClock(current.store(), clock).time));
      }),
    );

  return {
    name: basename(path),
    forUpdate: '',
    write: (work, beforeCommit) => inTurn(() => write(work, beforeCommit)),
    read,
    scan: read,
    healthCheck: () =>
      inTurn(async () => {
        if (!createsTables && path !== devNull && !placeIsTaken(path)) requireWritableFolder(path);
        return write(async () => []);
      }),
    close: () =>
      inTurn(async () => {
        connection?.db.close();
        nothing?.db.close();
        connection = nothing = undefined;
      }),
  };
}

const placeIsTaken = (path: string): boolean => regularFile(path) !== undefined;

function connect(DatabaseSync: Sqlite['DatabaseSync'], path: string | undefined): Connection {
  const db = new DatabaseSync(path ?? ':memory:', { timeout: blockingMs });
  const statements = new Map<string, ReturnType<SqliteDatabase['prepare']>>();
  const prepare = (sql: string) => {
    const statement = statements.get(sql) ?? db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  const all: Connection['all'] = (sql, ...values) => prepare(sql).all(...values);
  return {
    db,
    file: path === undefined ? undefined : openFileAt(path),
    all,
    run: (sql, ...values) => Number(prepare(sql).run(...values).changes),
    store: () => storeSchema().parse(all('select * from cloudops_store')[0]),
  };
}

const transactionOn = (connection: Connection, now: number): Transaction => ({
  now,
  all: async (sql, ...values) => connection.all(sql, ...values),
  run: async (sql, ...values) => connection.run(sql, ...values),
  // A transaction that writes excludes all others.
  lock: async () => undefined,
  requireSameTime: () => undefined,
});

const writeClock = (connection: Connection, { boot, uptime, wall, time }: ClockReading) =>
  connection.run('update cloudops_store set boot = ?, uptime = ?, wall = ?, time = ?', boot, uptime, wall, time);

/** Ends a transaction, unless SQLite has ended it by itself after an error. */
function rollBack(db: SqliteDatabase): void {
  try {
    db.exec('rollback');
  } catch {
    // There is no transaction.
  }
}

/** Creates the tables in a new file. @throws JournalFault if the file is of another program */
function createTables(connection: Connection, clock: SystemClock): void {
  const { db, all, run } = connection;
  const hasTable = (name: string) => all('select 1 from sqlite_master where name like ?', name).length > 0;
  if (hasTable('cloudops_store')) return;
  db.exec('begin immediate');
  try {
    // Another process may have created the tables meanwhile.
    if (!hasTable('cloudops_store')) {
      if (hasTable('%')) throw new JournalFault('not a journal', words('it is the database of another program'));
      for (const sql of [storeTable, ...Object.values(tables)]) db.exec(sql);
      for (const [name, columns] of Object.entries(indexes))
        db.exec(`create index cloudops_changes_${name} on cloudops_changes ${columns}`);
      run('insert into cloudops_store (schema_version) values (?)', schemaVersion);
      writeClock(connection, readClock(undefined, clock));
    }
    db.exec('commit');
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** @throws JournalFault if the file is of a newer version, or is older than a copy with which servers went on */
function requireVersion({ all, store }: Connection): void {
  const [row] = all('select schema_version from cloudops_store');
  if (Number(valueAt(row, 'schema_version')) > schemaVersion) throw newerVersion();
  if (store().moved !== null)
    throw new JournalFault('replaced', words('it was moved away, and a server went on in a copy of it'));
}
