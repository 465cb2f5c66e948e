import { setTimeout as delay } from 'node:timers/promises';
import { type Log, reasonOf, ShownError } from '../util/log.js';
import { type SafeText, words } from '../util/safe-text.js';
import type { Changes } from './change.js';

/** Pauses between two checks (milliseconds): after a failure, and after a success. */
const failingMs = 3_000;
const succeedingMs = 30_000;

type CheckResult =
  | { readonly kind: 'succeeded'; readonly warnings: readonly SafeText[] }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Checks a store. Never rejects. */
const checkOnce = (store: Pick<Changes, 'healthCheck'>): Promise<CheckResult> =>
  store.healthCheck().then(
    (warnings) => ({ kind: 'succeeded', warnings }),
    (error: unknown) => ({ kind: 'failed', error }),
  );

/** Logs why changes are refused. */
const logProblem = (error: unknown, log: Log): void =>
  log('error', 'journal', {
    error: reasonOf(error),
    message: words('Every change is refused until the journal of CLOUDOPS_JOURNAL can be written.'),
  });

/** Checks a store once, and logs warnings or the problem. */
export async function reportStore(store: Pick<Changes, 'healthCheck'>, log: Log): Promise<void> {
  const check = await checkOnce(store);
  if (check.kind === 'failed') logProblem(check.error, log);
  else for (const message of check.warnings) log('warn', 'journal', { message });
}

/** The state of a store, for readiness and metrics. */
interface StoreWatch {
  /** True after the first successful check. Later failures do not count, because calls that only read the cloud need no store. */
  isReady(): boolean;
  /** The result of the last check. A problem means that changes are refused. */
  lastCheck(): { readonly problem?: SafeText; readonly warnings: readonly SafeText[] };
  /** True if the last check succeeded. False before the first check. */
  lastCheckSucceeded(): boolean;
  /** Checks the store at once, because a call could not use it. Does nothing if the last check has failed. */
  checkNow(): void;
  stop(): void;
}

/** The problem as `/readyz` shows it to everybody. If an error is no `ShownError`, only the log has its text. */
const problemOf = (error: unknown): SafeText =>
  error instanceof ShownError ? error.shown : words('changes cannot be recorded: the log says why');

/** Checks a store regularly until `stop`. Logs each warning once, and each problem when it begins and when it ends. */
export function watchStore(store: Pick<Changes, 'healthCheck'>, log: Log): StoreWatch {
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
    const current = await checkOnce(store);
    isChecking = false;
    logChange(last, current);
    last = current;
    hasEverSucceeded ||= current.kind === 'succeeded';
    if (!isStopped) timer = setTimeout(check, current.kind === 'succeeded' ? succeedingMs : failingMs).unref();
  };

  void check();
  return {
    isReady: () => hasEverSucceeded,
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

/** Waits until the store has written all outcomes, for at most `graceMs`. The store tries again by itself until it is closed. */
export async function awaitOutcomes({ unwritten }: Pick<Changes, 'unwritten'>, graceMs: number): Promise<void> {
  for (let waitedMs = 0; unwritten() > 0 && waitedMs < graceMs; waitedMs += pollMs) await delay(pollMs);
}
