import type { Journal } from '../../src/journal/journal.js';
import { createPostgresJournal } from '../../src/journal/postgres.js';
import { type DatabaseOptions, openDatabase } from '../../src/journal/postgres-database.js';

/** A journal in the database at an address, as one process opens it. */
export const openPostgresJournal = (url: string, now: () => Date, options: DatabaseOptions = {}): Journal =>
  createPostgresJournal(openDatabase(url, now, options), now, options.log);

/** Time limits of a third, for tests that wait until a limit is reached. */
export const impatient: DatabaseOptions = { limits: { connectMs: 3000, statementMs: 1700, answerMs: 2400 } };
