import { type Log, reasonOf } from '../util/log.js';
import { type SafeText, words } from '../util/safe-text.js';
import type { Journal } from './journal.js';

export type CheckResult =
  | { readonly kind: 'succeeded'; readonly warnings: readonly SafeText[] }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Checks a journal. Never rejects. */
export const checkOnce = (journal: Pick<Journal, 'healthCheck'>): Promise<CheckResult> =>
  journal.healthCheck().then(
    (warnings) => ({ kind: 'succeeded', warnings }),
    (error: unknown) => ({ kind: 'failed', error }),
  );

/** Checks a journal once, and logs warnings or the problem. */
export async function reportJournal(journal: Pick<Journal, 'healthCheck'>, log: Log): Promise<void> {
  const check = await checkOnce(journal);
  if (check.kind === 'failed') logProblem(check.error, log);
  else for (const message of check.warnings) log('warn', 'journal', { message });
}

/** Logs why changes are refused. */
export const logProblem = (error: unknown, log: Log): void =>
  log('error', 'journal', {
    error: reasonOf(error),
    message: words('Every change is refused until the journal of CLOUDOPS_JOURNAL can be written.'),
  });
