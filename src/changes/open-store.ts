import { uptime } from 'node:os';
import type { Log } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { createFileJournal } from './file.js';
import type { Journal } from './journal.js';
import type { PlanStore } from './plan-store.js';
import type { Database } from './postgres-database.js';
import { type StorePlace, storePlace } from './store-place.js';

/** Holds the journal, and the plans and messages of its servers, in files or a database. Opens each of them when it is first needed. */
export interface Store extends Pick<StorePlace, 'name' | 'path'> {
  openJournal(): Promise<Journal>;
  openPlans(): Promise<PlanStore>;
  /** The database, for messages between replicas. Undefined if the store is a file. */
  readonly openDatabase: (() => Promise<Database>) | undefined;
  /** Creates missing tables and indexes. */
  migrate(): Promise<void>;
}

interface StoreOptions {
  readonly log?: Log;
  /** The file from which the address of a database comes. */
  readonly addressFile?: string | undefined;
  /** False for commands that only read: they create no tables, and fail if tables are missing. By default true. */
  readonly createsTables?: boolean;
}

/**
 * Returns the store that CLOUDOPS_JOURNAL names. The library for PostgreSQL is loaded only when something in a database is opened.
 * @param journal the path of a file, or the address of a PostgreSQL database
 */
export function openStore(journal: string, now: () => Date, options: StoreOptions = {}): Store {
  const { log = () => undefined } = options;
  return storePlace(journal).path === undefined
    ? databaseStore(journal, now, { ...options, log })
    : fileStore(journal, now, log);
}

const fileStore = (path: string, now: () => Date, log: Log): Store => ({
  name: path,
  path,
  openJournal: async () => createFileJournal(path, now, log, () => uptime() * 1000),
  openPlans: async () => (await import('./plan-files.js')).createPlanFiles(`${path}.plans`),
  openDatabase: undefined,
  migrate: async () => undefined,
});

function databaseStore(url: string, now: () => Date, options: StoreOptions & { readonly log: Log }): Store {
  const openDatabase = lazy(async () => (await import('./postgres-database.js')).openDatabase(url, now, options));
  return {
    name: storePlace(url).name,
    path: undefined,
    openJournal: async () =>
      (await import('./postgres.js')).createPostgresJournal(await openDatabase(), now, options.log),
    openPlans: async () => (await import('./plan-table.js')).createPlanTable(await openDatabase()),
    openDatabase,
    migrate: async () => (await import('./postgres-tables.js')).migrate(url),
  };
}
