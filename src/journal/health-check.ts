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
  let ready = false;
  let problem: string | undefined;
  let isOfOtherVersion = false;
  let lastCheck: ReturnType<JournalWatch['lastCheck']> = { warnings: [] };
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const logged = new Set<string>();

  const note = (newProblem: string | undefined): void => {
    if (newProblem !== undefined && newProblem !== problem)
      log('error', 'journal', { error: newProblem, message: everyChangeRefused });
    if (newProblem === undefined && problem !== undefined)
      log('info', 'journal', { message: words('Changes can be recorded again.') });
    problem = newProblem;
    ready ||= newProblem === undefined;
  };
  const warn = (warnings: readonly SafeText[]): void => {
    for (const message of warnings) if (!logged.has(message.text)) log('warn', 'journal', { message });
    for (const message of warnings) logged.add(message.text);
  };
  const check = async (): Promise<void> => {
    try {
      lastCheck = { warnings: await journal.healthCheck() };
      isOfOtherVersion = false;
      warn(lastCheck.warnings);
      note(undefined);
    } catch (error) {
      const shown = error instanceof ShownError ? error.shown : words('changes cannot be recorded: the log says why');
      lastCheck = { problem: shown, warnings: [] };
      isOfOtherVersion = error instanceof OtherVersion;
      note(reasonOf(error));
    }
    if (!stopped) timer = setTimeout(check, ready ? afterwardsMs : untilReadyMs).unref();
  };
  void check();
  return {
    isReady: () => ready && !isOfOtherVersion,
    lastCheck: () => lastCheck,
    reachable: () => ready && problem === undefined,
    stop: () => {
      stopped = true;
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
