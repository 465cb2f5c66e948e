import { type SafeText, words } from '../util/safe-text.js';
import { JournalFault } from './journal-fault.js';

/** This file has the interface of the database engines that hold the table of changes. Both engines run the same SQL, with `?` for values. */
export type Value = string | number | null;

export interface Transaction {
  /** The time by the clock of the store (milliseconds), which no process can set. Ages are compared by this clock alone. */
  readonly now: number;
  /** The time by the wall clock of this server (milliseconds since 1970), which is only shown. */
  readonly wall: number;
  /** Ends the `select` of a row that the transaction may change, so that no other transaction changes the row in between. */
  readonly forUpdate: '' | ' for update';
  all(sql: string, ...values: readonly Value[]): Promise<readonly unknown[]>;
  /** Resolves with the number of rows that were changed. */
  run(sql: string, ...values: readonly Value[]): Promise<number>;
  /** Makes other transactions wait that lock the same key, until this one ends. */
  lock(key: string): Promise<void>;
  /** @throws JournalFault if the clock of this server is so wrong that no change may begin */
  requireSameTime(): void;
}

export type Work<Result> = (transaction: Transaction) => Promise<Result>;

export interface Engine {
  /** The name of the file, or of the database without its password. */
  readonly name: string;
  /**
   * Runs work in a transaction that is durable when it resolves.
   * @param beforeCommit called just before the commit. If `write` fails before this call, nothing was written
   * @throws CommitPending if the commit is in doubt, or the reason why nothing was written
   */
  write<Result>(work: Work<Result>, beforeCommit?: () => void): Promise<Result>;
  read<Result>(work: Work<Result>): Promise<Result>;
  /** Reads many rows, without making other work wait. */
  scan<Result>(work: Work<Result>): Promise<Result>;
  /** Checks that changes can be written, and returns warnings for operators. @throws if changes would be refused */
  healthCheck(): Promise<readonly SafeText[]>;
  close(): Promise<void>;
}

/** The version of the tables. A program refuses the tables of a newer version. */
export const schemaVersion = 1;

export const newerVersion = () => new JournalFault('newer', words('a newer version of cloudops-mcp made it'));

/**
 * The tables on both engines. Texts from outside are JSON, because SQLite cuts a text at NUL, PostgreSQL refuses NUL, and both change lone
 * surrogates. Times are milliseconds by the clock of the store, save `at`, which is wall time.
 *
 * - `caller` and `client` are JSON texts, or their digests: see `keyOf`.
 * - `asks` is 1 if a person has to decide.
 * - `at` is the time at which the change began, or was decided.
 * - `changed` is the time of the last write.
 */
export const tables = {
  cloudops_changes: `create table if not exists cloudops_changes (
    id text primary key, state text not null, caller text not null, client text not null, tool text not null,
    request_key text not null, budget text not null, subject text, asks integer not null, process text, way text,
    facts text not null, plan text not null, decision text, ending text, outcome text, at bigint,
    made bigint not null, expires bigint not null, decided bigint, begun bigint, ended bigint, changed bigint not null)`,
  cloudops_processes: `create table if not exists cloudops_processes (
    id text primary key, host text not null, space text not null, pid bigint not null, started text not null,
    lease bigint not null)`,
};

/** The indexes by their names after `cloudops_changes_`. */
export const indexes: Readonly<Record<string, string>> = {
  request: '(request_key, begun)',
  budget: '(budget, begun)',
  state: '(state, caller, decided)',
  caller: '(caller, made)',
  made: '(made)',
  changed: '(changed, id, at)',
};
