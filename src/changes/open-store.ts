import { randomBytes } from 'node:crypto';
import { closeSync, linkSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { basename, dirname } from 'node:path';
import { makeFolder } from '../util/cache-folder.js';
import { type Log, ShownError } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { regularFile } from '../util/regular-file.js';
import { own, say, words } from '../util/safe-text.js';
import type { KeyRing } from '../util/seal.js';
import { type Engine, JournalFault } from './sql.js';
import { createSqlite, restrict } from './sqlite.js';
import { createChanges } from './store.js';
import { storePlace } from './store-place.js';
import { systemClock, thisProcess } from './system.js';

/**
 * Returns the store that CLOUDOPS_JOURNAL names, which is opened when it is first needed.
 * @throws JournalFault if the file is no journal of this version
 */
export function openStore(
  journal: string,
  now: () => Date,
  options: {
    readonly log?: Log;
    readonly addressFile?: string | undefined;
    readonly stateKeys?: KeyRing | undefined;
    /** False for commands that only read. */
    readonly createsTables?: boolean;
  } = {},
) {
  const { name, path } = storePlace(journal);
  if (path !== undefined) refuseOldJournal(path);
  const engine = async (): Promise<Engine> =>
    path === undefined
      ? (await import('./postgres.js')).createPostgres(journal, now, options)
      : createSqlite(path, { clock: systemClock(now), createsTables: options.createsTables });
  return {
    name,
    path,
    openChanges: async () =>
      createChanges(await engine(), {
        process: thisProcess(),
        log: options.log,
        keys: lazy(() => keysOfJournal(path, options.stateKeys)),
      }),
    migrate: async () => {
      if (path === undefined) await (await import('./postgres.js')).migrate(journal);
    },
  };
}

export type Store = ReturnType<typeof openStore>;

const beginning = 'SQLite format 3\0';

/**
 * Refuses other files, and the journal of an earlier version, whose changes would be overlooked. Only before the file
 * is open, because closing it would take away SQLite's locks.
 */
function refuseOldJournal(path: string): void {
  if (path === devNull) return;
  const stats = journalFile(path);
  if (stats !== undefined && stats.size > 0 && beginningOf(path) !== beginning) throw notThisVersion(path);
  const earlier = path.replace(/\.db$/, '.jsonl');
  if (earlier !== path && (journalFile(earlier)?.size ?? 0) > 0) throw notThisVersion(earlier);
}

function journalFile(path: string) {
  try {
    return regularFile(path);
  } catch (error) {
    // Reads need no journal.
    if (error instanceof ShownError) throw new JournalFault('not a journal', error.shown);
    return undefined;
  }
}

const notThisVersion = (path: string) =>
  new JournalFault(
    'not a journal',
    say`${own(basename(path))} is not a journal of this version${words(path.endsWith('.jsonl') ? ', which no longer keeps lines of JSON' : '')}`,
  );

function beginningOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(beginning.length);
    return bytes.toString('latin1', 0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

/**
 * Returns the keys that seal a journal's private values: the keys of CLOUDOPS_STATE_KEY, or a key in a file next to the
 * journal, which still opens what it sealed before CLOUDOPS_STATE_KEY was set.
 * @throws ShownError if that file has no key, or the system's error
 */
export function keysOfJournal(path: string | undefined, stateKeys: KeyRing | undefined): KeyRing {
  if (path === undefined || path === devNull) return stateKeys ?? [randomBytes(32)];
  const keyFile = `${path}.key`;
  if (stateKeys === undefined) return [readKey(keyFile) ?? createKey(keyFile)];
  const earlier = readKey(keyFile);
  return earlier === undefined ? stateKeys : [...stateKeys, earlier];
}

function readKey(path: string): string | undefined {
  if (regularFile(path) === undefined) return undefined;
  restrict(path);
  const key = readFileSync(path, 'utf8').trim();
  if (!/^[\w-]{43}$/.test(key)) throw new ShownError(say`${own(path)} has no key: remove it, and a new one is made`);
  return key;
}

/** Writes a new key whole, because another process may read the file. If that process is faster, its key counts. */
function createKey(path: string): string {
  makeFolder(dirname(path));
  const key = randomBytes(32).toString('base64url');
  const whole = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(whole, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(whole, path);
    return key;
  } catch (error) {
    const other = readKey(path);
    if (other === undefined) throw error;
    return other;
  } finally {
    rmSync(whole, { force: true });
  }
}
