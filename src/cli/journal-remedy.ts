import { type FaultKind, JournalFault } from '../changes/sql.js';
import { textAt } from '../util/objects.js';
import { type SafeText, words } from '../util/safe-text.js';

const grantNeeded = words('The owner of the tables has to grant the rights: see Upgrade, step 2, in docs/OPERATE.md.');
const ownerNeeded = words(
  'The role that owns the tables has to run cloudops-mcp journal migrate, or for the first time a role that may create them.',
);
const primaryNeeded = words('Name an address in CLOUDOPS_JOURNAL that leads to the primary.');
const networkAdvice = words('Check that the database runs, its host and port in CLOUDOPS_JOURNAL, and the network.');

const remediesByKind: Readonly<Record<FaultKind, SafeText>> = {
  standby: primaryNeeded,
  rights: grantNeeded,
  clocks: words('Correct the clock of this machine, or of the database.'),
  tables: ownerNeeded,
  'no tables yet': words(
    'A server creates them when it starts, as cloudops-mcp journal migrate does. If it is the wrong database, correct CLOUDOPS_JOURNAL.',
  ),
  replaced: words('Put the file back, or start the server again to go on with the file that is there.'),
  'not a journal': words('Rename it, or name another file in CLOUDOPS_JOURNAL.'),
  network: words('Name a file on a local disk in CLOUDOPS_JOURNAL, or a PostgreSQL database.'),
  driver: words('Run cloudops-mcp with Node.js 24.'),
  locked: words('Try again. If it stays locked, end the program that has it open, such as sqlite3.'),
  full: words('Make room on its disk.'),
  readOnly: words(
    'Make it and its folder writable for the user that cloudops-mcp runs as, or name another in CLOUDOPS_JOURNAL.',
  ),
  damaged: words('Check the disk, and restore the file from a backup, or name another in CLOUDOPS_JOURNAL.'),
  newer: words('Update cloudops-mcp, or name another in CLOUDOPS_JOURNAL.'),
};

/** Remedies by SQLSTATE code, or by its first two characters. */
const remediesByCode: Readonly<Record<string, SafeText>> = {
  '08': networkAdvice,
  25006: primaryNeeded,
  28: words('Check the user in CLOUDOPS_JOURNAL, and what pg_hba.conf of the database asks for, such as TLS.'),
  '28P01': words('Check the user and the password in CLOUDOPS_JOURNAL.'),
  '3D': words('Check the name of the database in CLOUDOPS_JOURNAL.'),
  42501: grantNeeded,
  '42P01': ownerNeeded,
  42703: ownerNeeded,
  53: words('The database has no connection or no space left: see its own log.'),
  57014: words('Something holds a lock on the tables, or the database is slow: see pg_stat_activity.'),
  57: words('The database is starting or going down: try again, and see its own log if that stays so.'),
};

/** Advice about a journal that cannot be used. */
export function journalRemedy(error: unknown, isDatabase: boolean): SafeText {
  if (error instanceof JournalFault) return remediesByKind[error.kind];
  if (!isDatabase) return words('Make it readable and writable, or name another in CLOUDOPS_JOURNAL.');

  const code = textAt(error, 'code') ?? '';
  // Node.js has codes of five letters, too, such as EPIPE.
  const isSqlState = /^(?!E[A-Z]{4}$)[0-9A-Z]{5}$/.test(code);
  if (isSqlState)
    return remediesByCode[code] ?? remediesByCode[code.slice(0, 2)] ?? words('See the log of the database.');
  return tlsRemedy(code, error instanceof Error ? error.message : '') ?? networkAdvice;
}

function tlsRemedy(code: string, message: string): SafeText | undefined {
  // The first two errors have no code.
  if (message.includes('does not support SSL'))
    return words('Turn on TLS in the database. Without it, anybody on the network between can read the password.');
  if (message.includes('cannot be read'))
    return words('Correct sslrootcert, sslcert and sslkey in CLOUDOPS_JOURNAL, or the rights of these files.');
  if (/CERT|SIGNATURE|^ERR_(TLS|\w*SSL)/.test(code))
    return words(
      'Name the authority of the certificate with sslrootcert in CLOUDOPS_JOURNAL, and the host as the certificate does.',
    );
  return undefined;
}
