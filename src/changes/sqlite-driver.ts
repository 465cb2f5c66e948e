import type * as Driver from '@photostructure/sqlite';
import { isObject, valueAt } from '../util/objects.js';
import { say, words } from '../util/safe-text.js';
import { type FaultKind, JournalFault } from './journal-fault.js';

export type Sqlite = Pick<typeof Driver, 'DatabaseSync'>;
export type SqliteDatabase = InstanceType<Sqlite['DatabaseSync']>;

/** Loads SQLite: the one of Node.js, or on Node.js 20 a package with the same interface. @throws JournalFault if there is none */
export async function loadSqlite(): Promise<Sqlite> {
  const builtIn: unknown = withoutWarnings(() => process.getBuiltinModule('node:sqlite'));
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

/** Node.js 22 warns that its SQLite is experimental. */
function withoutWarnings<Result>(work: () => Result): Result {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return work();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** The faults by SQLite's result code. */
const faults: Readonly<Record<number, readonly [FaultKind, JournalFault['shown']]>> = {
  5: ['locked', words('another process has locked it')],
  8: ['readOnly', words('it is read-only')],
  10: ['damaged', words('the disk reports an error')],
  11: ['damaged', words('it is damaged')],
  13: ['full', words('the disk is full')],
  14: ['readOnly', words('it cannot be opened')],
  26: ['not a journal', words('it is not a journal')],
};

/** SQLite's result code without the details that extended codes add. Undefined for other errors. */
export function sqliteCode(error: unknown): number | undefined {
  const code = valueAt(error, 'errcode');
  return typeof code === 'number' ? code & 0xff : undefined;
}

export const isBusy = (error: unknown): boolean => sqliteCode(error) === 5;

/** Returns a fault in place of an error of SQLite, whose message is not for people. */
export function faultOf(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code === undefined) return error;
  const [kind, reason] = faults[code] ?? ['damaged', say`SQLite reports the error ${code}`];
  return new JournalFault(kind, reason);
}
