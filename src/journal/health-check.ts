import { type Log, reasonOf, ShownError } from '../util/log.js';
import { type SafeText, words } from '../util/safe-text.js';
import { OtherVersion } from './conflict.js';
import type { Journal } from './journal.js';

/** Pauses between two checks (milliseconds): before and after the first success. */
const untilReadyMs = 3_000;
const afterwardsMs = 30_000;

/** The state of a journal, for readiness and metrics. */
interface JournalWatch {
  /**
   * True once changes could be recorded. It stays true without a journal, because reads go on and a restart would not help. It is false
   * while the journal has recent entries of another version.
   */
  isReady(): boolean;
  /** The result of the last check. A problem means that changes are refused. */
  lastCheck(): { readonly problem?: SafeText; readonly warnings: readonly SafeText[] };
  /** The result of the last check. False before the first check. */
  reachable(): boolean;
  stop(): void;
}

/** Checks a journal regularly. Logs each new problem once, and its end. */
export function watchJournal(journal: Pick<Journal, 'healthCheck'>, log: Log): JournalWatch {
  let wasReady = false;
  /** The reason of the last check's error. */
  let lastError: string | undefined;
  let isOfOtherVersion = false;
  let lastCheck: ReturnType<JournalWatch['lastCheck']> = { warnings: [] };
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const loggedWarnings = new Set<string>();

  const noteSuccess = (warnings: readonly SafeText[]): void => {
    lastCheck = { warnings };
    isOfOtherVersion = false;
    for (const message of warnings) if (!loggedWarnings.has(message.text)) log('warn', 'journal', { message });
    for (const message of warnings) loggedWarnings.add(message.text);
    if (lastError !== undefined) log('info', 'journal', { message: words('Changes can be recorded again.') });
    lastError = undefined;
    wasReady = true;
  };
  const noteError = (error: unknown): void => {
    const problem = error instanceof ShownError ? error.shown : words('changes cannot be recorded: the log says why');
    lastCheck = { problem, warnings: [] };
    isOfOtherVersion = error instanceof OtherVersion;
    const reason = reasonOf(error);
    if (reason !== lastError) log('error', 'journal', { error: reason, message: everyChangeRefused });
    lastError = reason;
  };
  const check = async (): Promise<void> => {
    try {
      noteSuccess(await journal.healthCheck());
    } catch (error) {
      noteError(error);
    }
    if (!isStopped) timer = setTimeout(check, wasReady ? afterwardsMs : untilReadyMs).unref();
  };
  void check();
  return {
    isReady: () => wasReady && !isOfOtherVersion,
    lastCheck: () => lastCheck,
    reachable: () => wasReady && lastError === undefined,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Checks a journal once, and logs warnings or the problem. */
export async function reportJournal(journal: Pick<Journal, 'healthCheck'>, log: Log): Promise<void> {
  try {
    for (const message of await journal.healthCheck()) log('warn', 'journal', { message });
  } catch (error) {
    log('error', 'journal', { error: reasonOf(error), message: everyChangeRefused });
  }
}

const everyChangeRefused = words('Every change is refused until the journal of CLOUDOPS_JOURNAL can be written.');
