import { type Log, reasonOf, ShownError } from '../util/log.js';
import { type SafeText, words } from '../util/safe-text.js';
import { OtherVersion } from './conflict.js';
import type { Journal } from './journal.js';

/** Pauses between two checks (milliseconds): before and after the first success. */
const untilFirstSuccessMs = 3_000;
const afterwardsMs = 30_000;

/** The state of a journal, for readiness and metrics. */
interface JournalWatch {
  /**
   * True from the first successful check on, even if later checks fail, because calls that only read the cloud need no journal. But false
   * while the journal has recent entries of another version of this server, so that a rolling update to this version waits.
   */
  isReady(): boolean;
  /** The result of the last check. A problem means that changes are refused. */
  lastCheck(): { readonly problem?: SafeText; readonly warnings: readonly SafeText[] };
  /** True if the last check succeeded. False before the first check. */
  lastCheckSucceeded(): boolean;
  stop(): void;
}

/** Checks a journal regularly until `stop`. Logs each warning once, and each problem when it begins and when it ends. */
export function watchJournal(journal: Pick<Journal, 'healthCheck'>, log: Log): JournalWatch {
  /** True from the first successful check on, even if later checks fail. */
  let hasEverSucceeded = false;
  /** The reason why the last check failed; undefined if it succeeded, or before the first check has ended. */
  let lastError: string | undefined;
  /** True if the journal had recent entries of another version at the last check. */
  let hasOtherVersion = false;
  let lastCheck: ReturnType<JournalWatch['lastCheck']> = { warnings: [] };
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const loggedWarnings = new Set<string>();

  const noteSuccess = (warnings: readonly SafeText[]): void => {
    lastCheck = { warnings };
    hasOtherVersion = false;
    for (const message of warnings) {
      if (!loggedWarnings.has(message.text)) log('warn', 'journal', { message });
      loggedWarnings.add(message.text);
    }
    if (lastError !== undefined) log('info', 'journal', { message: words('Changes can be recorded again.') });
    lastError = undefined;
    hasEverSucceeded = true;
  };

  const noteError = (error: unknown): void => {
    // The log gets the text of any error, and `lastCheck` only texts that people may see.
    const shown = error instanceof ShownError ? error.shown : words('changes cannot be recorded: the log says why');
    lastCheck = { problem: shown, warnings: [] };
    hasOtherVersion = error instanceof OtherVersion;
    const loggedReason = reasonOf(error);
    if (loggedReason !== lastError) log('error', 'journal', { error: loggedReason, message: everyChangeRefused });
    lastError = loggedReason;
  };

  const check = async (): Promise<void> => {
    try {
      noteSuccess(await journal.healthCheck());
    } catch (error) {
      noteError(error);
    }
    if (!isStopped) timer = setTimeout(check, hasEverSucceeded ? afterwardsMs : untilFirstSuccessMs).unref();
  };

  void check();
  return {
    isReady: () => hasEverSucceeded && !hasOtherVersion,
    lastCheck: () => lastCheck,
    lastCheckSucceeded: () => hasEverSucceeded && lastError === undefined,
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
