import { closeSync, openSync, readSync } from 'node:fs';
import { devNull } from 'node:os';
import { basename } from 'node:path';
import { type Log, ShownError } from '../util/log.js';
import { regularFile } from '../util/regular-file.js';
import { own, say, words } from '../util/safe-text.js';
import { lazy } from '../util/objects.js';
import type { KeyRing } from '../util/seal.js';
import { JournalFault } from './journal-fault.js';
import { keysOfJournal } from './key-file.js';
import { thisProcess } from './processes.js';
import type { Engine } from './sql.js';
import { createSqlite } from './sqlite.js';
import { createChanges } from './store.js';
import { systemClock } from './store-clock.js';
import { storePlace } from './store-place.js';

interface StoreOptions {
  readonly log?: Log;
  readonly addressFile?: string | undefined;
  /** The keys of CLOUDOPS_STATE_KEY. */
  readonly stateKeys?: KeyRing | undefined;
  /** False for commands that only read. */
  readonly createsTables?: boolean;
}

/**
 * Returns the store that CLOUDOPS_JOURNAL names, which is opened when it is first needed.
 * @param journal the path of a file, or the address of a PostgreSQL database
 * @throws JournalFault if the file is no journal of this version
 */
export function openStore(journal: string, now: () => Date, options: StoreOptions = {}) {
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
    /** Creates missing tables and indexes in a database. */
    migrate: async () => {
      if (path === undefined) await (await import('./postgres-tables.js')).migrate(journal);
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
