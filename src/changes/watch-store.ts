import { setTimeout as delay } from 'node:timers/promises';
import { type Log, reasonOf, ShownError } from '../util/log.js';
import { type SafeText, words } from '../util/safe-text.js';
import { OtherVersion } from './conflict.js';
import { type CheckResult, checkOnce, logProblem } from './health-check.js';
import type { Journal } from './journal.js';

/** Pauses between two checks (milliseconds): after a failure, and after a success. */
const failingMs = 3_000;
const succeedingMs = 30_000;

/** The state of a journal, for readiness and metrics. */
interface JournalWatch {
  /** True after the first successful check, except while the journal has recent entries of another version of this server. */
  isReady(): boolean;
  /** The result of the last check. A problem means that changes are refused. */
  lastCheck(): { readonly problem?: SafeText; readonly warnings: readonly SafeText[] };
  /** True if the last check succeeded. False before the first check. */
  lastCheckSucceeded(): boolean;
  /** Checks the journal at once, because a call could not use it. Does nothing if the last check has failed. */
  checkNow(): void;
  stop(): void;
}

/** The problem as `/readyz` shows it to everybody. If an error is no `ShownError`, only the log has its text. */
const problemOf = (error: unknown): SafeText =>
  error instanceof ShownError ? error.shown : words('changes cannot be recorded: the log says why');

/** Checks a journal regularly until `stop`. Logs each warning once, and each problem when it begins and when it ends. */
export function watchJournal(journal: Pick<Journal, 'healthCheck'>, log: Log): JournalWatch {
  let last: CheckResult | undefined;
  let hasEverSucceeded = false;
  let timer: NodeJS.Timeout | undefined;
  let isChecking = false;
  let isStopped = false;
  const loggedWarnings = new Set<string>();

  const logChange = (previous: CheckResult | undefined, current: CheckResult): void => {
    if (current.kind === 'failed') {
      const isSame = previous?.kind === 'failed' && reasonOf(previous.error) === reasonOf(current.error);
      if (!isSame) logProblem(current.error, log);
      return;
    }
    for (const message of current.warnings) {
      if (!loggedWarnings.has(message.text)) log('warn', 'journal', { message });
      loggedWarnings.add(message.text);
    }
    if (previous?.kind === 'failed') log('info', 'journal', { message: words('Changes can be recorded again.') });
  };

  const check = async (): Promise<void> => {
    clearTimeout(timer);
    isChecking = true;
    const current = await checkOnce(journal);
    isChecking = false;
    logChange(last, current);
    last = current;
    hasEverSucceeded ||= current.kind === 'succeeded';
    if (!isStopped) timer = setTimeout(check, current.kind === 'succeeded' ? succeedingMs : failingMs).unref();
  };

  void check();
  return {
    isReady: () => {
      // A rolling update to this version waits until the servers of the other version have stopped writing. Other failures of later checks do not
      // count, because calls that only read the cloud need no journal.
      const isOtherVersion = last?.kind === 'failed' && last.error instanceof OtherVersion;
      return hasEverSucceeded && !isOtherVersion;
    },
    lastCheck: () =>
      last?.kind === 'failed' ? { problem: problemOf(last.error), warnings: [] } : { warnings: last?.warnings ?? [] },
    lastCheckSucceeded: () => last?.kind === 'succeeded',
    checkNow: () => {
      // After a failed check, the next check is near anyway.
      if (last?.kind === 'succeeded' && !isChecking && !isStopped) void check();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Pause between two looks at the number of unwritten outcomes (milliseconds). */
const pollMs = 100;

/** Waits until the journal has written all outcomes, for at most `graceMs`. The journal tries again by itself until it is closed. */
export async function awaitOutcomes({ unwritten }: Pick<Journal, 'unwritten'>, graceMs: number): Promise<void> {
  for (let waitedMs = 0; unwritten() > 0 && waitedMs < graceMs; waitedMs += pollMs) await delay(pollMs);
}
