import { ShownError } from '../util/log.js';
import { type SafeText, words } from '../util/safe-text.js';

/** This file has the interface of the database engines, which run the same SQL. */

/**
 * Why a store refuses changes. `tables`: tables are missing, and this role cannot create them. `no tables yet`: a
 * server creates them. `replaced`: another file took its place. `newer`: a newer version made the tables.
 */
export type FaultKind =
  | 'standby'
  | 'rights'
  | 'clocks'
  | 'tables'
  | 'no tables yet'
  | 'replaced'
  | 'not a journal'
  | 'network'
  | 'driver'
  | 'locked'
  | 'full'
  | 'readOnly'
  | 'damaged'
  | 'newer';

/** A fault of a store. Commands give advice by its kind. */
export class JournalFault extends ShownError {
  readonly kind: FaultKind;
  constructor(kind: FaultKind, reason: SafeText) {
    super(reason);
    this.kind = kind;
  }
}

/** Thrown if a commit is not confirmed in time. It may still succeed, and a retry would only wait for it. */
export class CommitPending extends Error {
  readonly committed: Promise<void>;
  constructor(committed: Promise<void>) {
    super('the database has not confirmed it yet');
    this.committed = committed;
  }
}

export type Value = string | number | null;

export interface Transaction {
  /** By the clock of the store (milliseconds), which no process can set. Ages are compared by it alone. */
  readonly now: number;
  /** By the wall clock of this server (milliseconds), only shown. */
  readonly wall: number;
  /** Keeps other transactions from changing a selected row. */
  readonly forUpdate: '' | ' for update';
  all(sql: string, ...values: readonly Value[]): Promise<readonly unknown[]>;
  /** Resolves with the number of changed rows. */
  run(sql: string, ...values: readonly Value[]): Promise<number>;
  /** Makes other transactions that lock the same key wait until this one ends. */
  lock(key: string): Promise<void>;
  /** @throws JournalFault if this server's clock is too wrong to begin a change */
  requireSameTime(): void;
}

export type Work<Result> = (transaction: Transaction) => Promise<Result>;

export interface Engine {
  /** Without a password. */
  readonly name: string;
  /**
   * Runs work in a transaction that is durable when it resolves. If `write` fails before `beforeCommit`, nothing was written.
   * @throws CommitPending if the commit is in doubt
   */
  write<Result>(work: Work<Result>, beforeCommit?: () => void): Promise<Result>;
  read<Result>(work: Work<Result>): Promise<Result>;
  /** Reads many rows, without making other work wait. */
  scan<Result>(work: Work<Result>): Promise<Result>;
  /** @throws if changes would be refused */
  healthCheck(): Promise<readonly SafeText[]>;
  close(): Promise<void>;
}

/** A program refuses other versions. */
export const schemaVersion = 2;

/** @throws JournalFault if another version made the tables */
export function requireSchema(version: number): void {
  if (version > schemaVersion) throw new JournalFault('newer', words('a newer version of cloudops-mcp made it'));
  if (version < schemaVersion)
    throw new JournalFault('not a journal', words('it is of an earlier version of cloudops-mcp'));
}

/**
 * The tables on both engines. Texts from outside are JSON, because the engines differ in NUL and lone surrogates. Times
 * are milliseconds by the clock of the store, save `at`, which is wall time.
 */
export const tables = `
  create table if not exists cloudops_changes (
    id text primary key, state text not null, caller text not null, client text not null, tool text not null,
    request_key text not null, budget text not null, subject text, asks integer not null, process text, way text,
    facts text not null, plan text not null, decision text, ending text, outcome text, at bigint,
    made bigint not null, expires bigint not null, decided bigint, begun bigint, ended bigint, changed bigint not null,
    follow text);
  create table if not exists cloudops_processes (
    id text primary key, space text not null, pid bigint not null, started text not null, lease bigint not null)`;

export const indexes = `
  create index if not exists cloudops_changes_request on cloudops_changes (request_key, begun);
  create index if not exists cloudops_changes_budget on cloudops_changes (budget, begun);
  create index if not exists cloudops_changes_state on cloudops_changes (state, caller, decided);
  create index if not exists cloudops_changes_caller on cloudops_changes (caller, made);
  create index if not exists cloudops_changes_made on cloudops_changes (made);
  create index if not exists cloudops_changes_changed on cloudops_changes (changed, id, at)`;
