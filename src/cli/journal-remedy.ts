import { textAt } from '../util/objects.js';
import { type Shown, words } from '../util/safe-text.js';

const networkCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ECONNRESET'];

/** By the class of a code of SQL, its first two characters. */
const remediesByClass: Readonly<Record<string, Shown>> = {
  28: words('Check the user and the password in CLOUDOPS_JOURNAL.'),
  53: words('The database has no connection or no space left: see its own log.'),
  57: words('The database is starting or going down: try again, and see its own log if that stays so.'),
};

/** The remedy for a journal that cannot be used. */
export function journalRemedy(error: unknown, inDatabase: boolean): Shown {
  if (!inDatabase) return words('Make it writable, or name another in CLOUDOPS_JOURNAL.');
  const code = textAt(error, 'code') ?? '';
  if (networkCodes.includes(code) || code === '')
    return words('Check that the database runs, its host and port in CLOUDOPS_JOURNAL, and the network.');
  return (
    remediesByClass[code.slice(0, 2)] ??
    words('Check the name of the database in CLOUDOPS_JOURNAL, and the rights of its user.')
  );
}
