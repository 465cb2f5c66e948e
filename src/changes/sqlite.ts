import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { devNull } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type * as Driver from '@photostructure/sqlite';
import * as z from 'zod';
import { makeFolder } from '../util/cache-folder.js';
import { attempt, isObject, lazy, textAt, valueAt } from '../util/objects.js';
import { regularFile } from '../util/regular-file.js';
import { own, type SafeText, say, words } from '../util/safe-text.js';
import {
  type Engine,
  type FaultKind,
  indexes,
  JournalFault,
  requireSchema,
  schemaVersion,
  type Transaction,
  tables,
  type Value,
  type Work,
} from './sql.js';
import { type ClockReading, readClock, type SystemClock } from './system.js';

/** `moved` becomes empty when the file was deleted, so that no process writes while it is copied, and then the inode of the copy. */
const storeSchema = lazy(() =>
  z.object({
    schema_version: z.number(),
    moved: z.string().nullable(),
    boot: z.string().nullable(),
    uptime: z.number(),
    wall: z.number(),
    time: z.number(),
  }),
);
const storeTable = `create table cloudops_store (
  schema_version integer not null, moved text, boot text, uptime integer, wall integer, time integer)`;

type Connection = ReturnType<typeof connect>;

/**
 * Creates an engine on a file, which several processes of one machine may share. The null device stands for memory.
 * Programs that only read create no tables.
 */
export function createSqlite(
  path: string,
  {
    clock,
    createsTables = true,
    longestWaitMs = 5_000,
  }: { readonly clock: SystemClock; readonly createsTables?: boolean | undefined; readonly longestWaitMs?: number },
): Engine {
  const sqlite = lazy(loadSqlite);
  let connection: Connection | undefined;
  /** In place of a file that is not there yet, for programs that only read. */
  let nothing: Connection | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const next = turn.then(work).catch((error: unknown) => {
      throw faultOf(error);
    });
    turn = next.catch(() => undefined);
    return next;
  };

  const retrying = async <Result>(work: () => Result | Promise<Result>): Promise<Result> => {
    for (const until = performance.now() + longestWaitMs; ; ) {
      try {
        return await work();
      } catch (error) {
        const isBusy = isOfSqlite(error) && textAt(error, 'message') === busy;
        if (!isBusy || performance.now() > until) throw error;
        await delay(5 + Math.random() * 20);
      }
    }
  };

  const open = async (file: string | undefined, creates: boolean): Promise<Connection> => {
    const { DatabaseSync } = await sqlite();
    if (file !== undefined && creates) prepareFile(file);
    const opened = connect(DatabaseSync, file);
    try {
      // Nothing is written before it is clear that the file is a journal.
      await retrying(() => opened.db.exec('pragma synchronous = full'));
      if (creates && !(await retrying(() => hasTable(opened, 'cloudops_store'))))
        await transact(opened, () => createTables(opened, clock));
      await retrying(() => requireVersion(opened));
      await retrying(() => opened.db.exec('pragma journal_mode = wal'));
      return opened;
    } catch (error) {
      opened.db.close();
      throw error;
    }
  };

  /** Opens the file, or the copy in its place. */
  const ready = async (creates: boolean): Promise<Connection> => {
    if (path === devNull || (connection === undefined && !creates && !placeIsTaken(path))) {
      nothing ??= await open(undefined, true);
      return nothing;
    }
    connection ??= await open(path, createsTables);
    if (connection.inode === undefined || inodeOf(path) === connection.inode) return connection;
    if (createsTables) await requireCopy(connection);
    connection.db.close();
    connection = undefined;
    return ready(creates);
  };

  const requireCopy = async (gone: Connection): Promise<void> => {
    if (inodeOf(path) === '') await restore(gone);
    // Not opened before this is clear, because SQLite would write the log of the gone file to it.
    if (gone.store().moved !== inodeOf(path))
      throw new JournalFault('replaced', words('another file was put in its place while this server ran'));
  };

  /** Puts a copy of a deleted file in its place. All processes agree on the copy by `moved`. */
  const restore = async (deleted: Connection): Promise<void> => {
    const { DatabaseSync } = await sqlite();
    const move = (to: string) => deleted.run('update cloudops_store set moved = ?', to);
    await transact(deleted, () => deleted.store().moved ?? move(''));
    const folder = dirname(path);
    makeFolder(folder);
    if (statSync(folder).dev !== deleted.folderDevice)
      throw new JournalFault('replaced', words('its disk is not mounted any more'));
    const copy = `${path}.${randomUUID()}`;
    try {
      closeSync(openSync(copy, 'wx', 0o600));
      deleted.run('vacuum into ?', copy);
      const copied = new DatabaseSync(copy);
      copied.exec('update cloudops_store set moved = null');
      copied.close();
      flush(copy);
      await transact(deleted, () => {
        // Another process may have been first.
        if (placeIsTaken(path)) return;
        move(inodeOf(copy));
        // SQLite would take the old log for the log of the new file.
        for (const file of filesOf(path).slice(1)) rmSync(file, { force: true });
        linkSync(copy, path);
        flush(folder);
      });
    } finally {
      for (const file of filesOf(copy)) rmSync(file, { force: true });
    }
    deleted.db.exec('pragma wal_checkpoint(full)');
  };

  /** Runs work in a transaction that excludes all other writers. */
  const transact = async <Result>(
    { db }: Connection,
    work: () => Result | Promise<Result>,
    beforeCommit = () => {},
  ) => {
    await retrying(() => db.exec('begin immediate'));
    try {
      const result = await work();
      beforeCommit();
      await retrying(() => db.exec('commit'));
      return result;
    } catch (error) {
      // There may be no transaction any more.
      attempt(() => db.exec('rollback'), undefined);
      throw error;
    }
  };

  const write = async <Result>(work: Work<Result>, beforeCommit?: () => void): Promise<Result> => {
    const current = await ready(createsTables);
    const inTransaction = () => {
      const last = current.store();
      if (last.moved !== null) throw new JournalFault('replaced', words('it is being copied'));
      const reading = readClock(last, clock);
      writeClock(current, reading);
      return work(transactionOn(current, reading));
    };
    const result = await transact(current, inTransaction, beforeCommit);
    // If the file was deleted meanwhile, other processes see the commit only in its copy.
    await ready(createsTables);
    return result;
  };

  const read = <Result>(work: Work<Result>): Promise<Result> =>
    inTurn(() =>
      retrying(async () => {
        const current = await ready(false);
        return work(transactionOn(current, readClock(current.store(), clock)));
      }),
    );

  return {
    name: basename(path),
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

function connect(DatabaseSync: Sqlite['DatabaseSync'], path: string | undefined) {
  // How long SQLite may stop this process while it waits for a lock (milliseconds).
  const db = new DatabaseSync(path ?? ':memory:', { timeout: 5 });
  // A statement keeps memory outside the heap until it is collected, so each is prepared once.
  const statements = new Map<string, ReturnType<typeof db.prepare>>();
  const prepare = (sql: string) => {
    const statement = statements.get(sql) ?? db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  const all = (sql: string, ...values: readonly Value[]): readonly unknown[] => prepare(sql).all(...values);
  return {
    db,
    /** Undefined in memory. */
    inode: path && inodeOf(path),
    /** Changes if the disk is not mounted any more. */
    folderDevice: path && statSync(dirname(path)).dev,
    all,
    run: (sql: string, ...values: readonly Value[]): number => Number(prepare(sql).run(...values).changes),
    /** @throws if another version wrote the row */
    store: () => storeSchema().parse(all('select * from cloudops_store')[0]),
  };
}

const transactionOn = ({ all, run }: Connection, { time, wall }: ClockReading): Transaction => ({
  now: time,
  wall,
  forUpdate: '',
  all: async (sql, ...values) => all(sql, ...values),
  run: async (sql, ...values) => run(sql, ...values),
  // A transaction that writes excludes all others.
  lock: async () => undefined,
  requireSameTime: () => undefined,
});

const writeClock = (connection: Connection, { boot, uptime, wall, time }: ClockReading) =>
  connection.run('update cloudops_store set boot = ?, uptime = ?, wall = ?, time = ?', boot, uptime, wall, time);

function createTables(connection: Connection, clock: SystemClock): void {
  const { db, run } = connection;
  if (hasTable(connection, 'cloudops_store')) return;
  if (hasTable(connection, '%')) throw ofAnotherProgram();
  for (const sql of [storeTable, tables, indexes]) db.exec(sql);
  run('insert into cloudops_store (schema_version) values (?)', schemaVersion);
  writeClock(connection, readClock(undefined, clock));
}

const hasTable = ({ all }: Connection, name: string): boolean =>
  all('select 1 from sqlite_master where name like ?', name).length > 0;

const ofAnotherProgram = () => new JournalFault('not a journal', words('it is the database of another program'));

/** @throws JournalFault if the file is no journal, is of another version, or is older than its copy */
function requireVersion(connection: Connection): void {
  const { all, store } = connection;
  if (!hasTable(connection, 'cloudops_store'))
    throw hasTable(connection, '%')
      ? ofAnotherProgram()
      : new JournalFault('no tables yet', words('it has no tables of a journal'));
  const [row] = all('select schema_version from cloudops_store');
  requireSchema(Number(valueAt(row, 'schema_version')));
  if (store().moved !== null)
    throw new JournalFault('replaced', words('it was moved away, and a server went on in a copy of it'));
}

type Sqlite = Pick<typeof Driver, 'DatabaseSync'>;

/**
 * Loads the SQLite of Node.js, or on Node.js 20 a package.
 * @throws JournalFault if there is none
 */
export async function loadSqlite(): Promise<Sqlite> {
  const { emitWarning } = process;
  // Node.js 22 warns that its SQLite is experimental.
  process.emitWarning = () => undefined;
  const builtIn: unknown = process.getBuiltinModule('node:sqlite');
  process.emitWarning = emitWarning;
  if (isSqlite(builtIn)) return builtIn;
  const installed: unknown = await import('@photostructure/sqlite').catch(() => undefined);
  if (isSqlite(installed)) return installed;
  throw new JournalFault(
    'driver',
    words(
      'this Node.js has no SQLite: use Node.js 24, or on Node.js 20 install @photostructure/sqlite 1.2.1 beside cloudops-mcp',
    ),
  );
}

const isSqlite = (module: unknown): module is Sqlite => isObject(module) && typeof module.DatabaseSync === 'function';

const busy = 'database is locked';
/** By message, because the package for Node.js 20 leaves out some codes. */
const faults: Readonly<Record<string, readonly [FaultKind, SafeText]>> = {
  [busy]: ['locked', words('another process has locked it')],
  'attempt to write a readonly database': ['readOnly', words('it is read-only')],
  'disk I/O error': ['damaged', words('the disk reports an error')],
  'database disk image is malformed': ['damaged', words('it is damaged')],
  'database or disk is full': ['full', words('the disk is full')],
  'unable to open database file': ['readOnly', words('it cannot be opened')],
  'file is not a database': ['not a journal', words('it is not a journal')],
};

const isOfSqlite = (error: unknown): boolean => textAt(error, 'code') === 'ERR_SQLITE_ERROR';

export function faultOf(error: unknown): unknown {
  if (!isOfSqlite(error)) return error;
  const [kind, reason] = faults[textAt(error, 'message') ?? ''] ?? ['damaged', words('SQLite reports an error')];
  return new JournalFault(kind, reason);
}

const filesOf = (path: string) => [path, `${path}-wal`, `${path}-shm`];

/**
 * Creates a file for a database, for its owner alone. Never opens a file that exists, because closing it would take
 * away this process's locks.
 * @throws ShownError or the system's error
 */
function prepareFile(path: string): void {
  const folder = dirname(path);
  makeFolder(folder);
  refuseNetwork(folder);
  if (regularFile(path) === undefined) closeSync(openSync(path, 'a', 0o600));
  for (const file of filesOf(path)) restrict(file);
}

/** @throws if no file can be created at a path */
function requireWritableFolder(path: string): void {
  let folder = dirname(path);
  while (statSync(folder, { throwIfNoEntry: false }) === undefined && dirname(folder) !== folder)
    folder = dirname(folder);
  refuseNetwork(folder);
  // Some file systems, such as /proc, report write access and refuse new files.
  rmdirSync(mkdtempSync(join(folder, '.cloudops-')));
}

export function restrict(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats !== undefined && (stats.mode & 0o777) !== 0o600) chmodSync(file, 0o600);
}

/** File systems whose locks are not safe for a database, by their numbers on Linux. */
const networks: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB 2',
  16914839: '9p',
  1702057286: 'FUSE',
  1397113167: 'AFS',
  12805120: 'Ceph',
  1196443219: 'GPFS',
  198183888: 'Lustre',
  2020557398: 'VirtualBox',
  3133910204: 'VMware',
};

export const networkOf = (folder: string, type: number): string | undefined =>
  folder.startsWith('\\\\') ? 'SMB' : networks[type >>> 0];

function refuseNetwork(folder: string): void {
  const name = networkOf(folder, statfsSync(folder).type);
  if (name !== undefined)
    throw new JournalFault('network', say`its file system is shared over a network (${own(name)})`);
}

/** The identity of the file at a path. Empty if there is none. */
function inodeOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.dev}:${stats.ino}`;
}

function flush(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
