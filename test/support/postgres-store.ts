import type { DatabaseOptions } from '../../src/changes/postgres.js';
import { createPostgres } from '../../src/changes/postgres.js';
import { type Changes, createChanges } from '../../src/changes/store.js';
import type { Process } from '../../src/changes/system.js';
import { processOn } from './changes.js';

/** The store in the database at an address, as one process opens it. */
export function openPostgresStore(
  url: string,
  now: () => Date,
  { process = processOn('host'), ...options }: DatabaseOptions & { readonly process?: Process } = {},
): Changes {
  return createChanges(createPostgres(url, now, options), { process });
}

/** Time limits of a third, for tests that wait until a limit is reached. */
export const impatient: DatabaseOptions = { limits: { connectMs: 3000, statementMs: 1700, answerMs: 2400 } };
