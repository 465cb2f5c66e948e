import type * as Driver from '@photostructure/sqlite';
import { isObject, textAt, valueAt } from '../util/objects.js';
import { type SafeText, words } from '../util/safe-text.js';
import { type FaultKind, JournalFault } from './journal-fault.js';

export type Sqlite = Pick<typeof Driver, 'DatabaseSync'>;
export type SqliteDatabase = InstanceType<Sqlite['DatabaseSync']>;

/**
 * Loads the SQLite of Node.js, or on Node.js 20 a package.
 * @throws JournalFault if there is none
 */
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

interface SqliteFault {
  /** Also by its message, because the package leaves out some codes. */
  readonly code: number;
  readonly message: string;
  readonly kind: FaultKind;
  readonly reason: SafeText;
}

const busyCode = 5;
const faults: readonly SqliteFault[] = [
  { code: busyCode, message: 'database is locked', kind: 'locked', reason: words('another process has locked it') },
  { code: 8, message: 'attempt to write a readonly database', kind: 'readOnly', reason: words('it is read-only') },
  { code: 10, message: 'disk I/O error', kind: 'damaged', reason: words('the disk reports an error') },
  { code: 11, message: 'database disk image is malformed', kind: 'damaged', reason: words('it is damaged') },
  { code: 13, message: 'database or disk is full', kind: 'full', reason: words('the disk is full') },
  { code: 14, message: 'unable to open database file', kind: 'readOnly', reason: words('it cannot be opened') },
  { code: 26, message: 'file is not a database', kind: 'not a journal', reason: words('it is not a journal') },
];

const isOfSqlite = (error: unknown): boolean => textAt(error, 'code') === 'ERR_SQLITE_ERROR';

function sqliteFaultOf(error: unknown): SqliteFault | undefined {
  if (!isOfSqlite(error)) return undefined;
  const code = valueAt(error, 'errcode');
  // Extended codes have details in the higher bits.
  if (typeof code === 'number') return faults.find((fault) => fault.code === (code & 0xff));
  return faults.find(({ message }) => textAt(error, 'message') === message);
}

export const isBusy = (error: unknown): boolean => sqliteFaultOf(error)?.code === busyCode;

/** Returns a fault in place of an error of SQLite. */
export function faultOf(error: unknown): unknown {
  if (!isOfSqlite(error)) return error;
  const { kind, reason } = sqliteFaultOf(error) ?? { kind: 'damaged', reason: words('SQLite reports an error') };
  return new JournalFault(kind, reason);
}
