import { type Log, reasonOf } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { type SafeText, say } from '../util/safe-text.js';
import type { Intent, RecordedChange } from './entry.js';
import { type Journal, shownDeed, shownTime } from './journal.js';

/** Added to the time limit of a call (milliseconds). When both have passed, the call's change must have ended. */
const slackMs = 60_000;

export interface RecoveryOptions {
  readonly journal: Journal;
  /** This process, and the time of its start. */
  readonly process: Intent['process'];
  readonly started: Date;
  readonly now: () => Date;
  readonly timeoutMs: number;
  readonly log: Log;
}

/**
 * Ends the unfinished changes of processes that are gone, with the outcome `unknown`, and resolves with them. A change whose ending cannot be
 * written is left to the next recovery. So are all others after two failures in a row, because these are due to the journal. Never rejects.
 */
export async function recoverInterrupted(options: RecoveryOptions): Promise<readonly RecordedChange[]> {
  const { journal, log, now } = options;
  const logError = (error: unknown) => log('warn', 'journal', { error: reasonOf(error) });
  const ended: RecordedChange[] = [];
  try {
    const interrupted = (await journal.listUnfinished()).filter((change) => isGone(change, options));
    let failuresInARow = 0;
    for (const change of interrupted) {
      const { id, tool, time, target } = change;
      log('warn', 'unresolved', { id, tool, time, target });
      const ending = { id, time: now().toISOString(), outcome: 'unknown', code: 'ProcessEnded' } as const;
      try {
        await journal.tryEnd(ending);
        ended.push(change);
        failuresInARow = 0;
      } catch (error) {
        logError(error);
        failuresInARow += 1;
        if (failuresInARow === 2) break;
      }
    }
  } catch (error) {
    logError(error);
  }
  return ended;
}

/**
 * Creates notices about interrupted changes. Each notice goes once to its caller, with one of the caller's next changes. A recovery is one call
 * of `recover`, and runs in the background. The first begins now, and each `take` begins another for the `take` after it.
 * @param recover ends the changes that were interrupted, and resolves with them. No later call returns them again. Never rejects
 */
export function createNotices(recover: () => Promise<readonly RecordedChange[]>) {
  let unreported: readonly RecordedChange[] = [];
  let newestRecovery = recover();
  return {
    /** Returns the notices for a caller, and forgets them. */
    take: async (caller: string | undefined) => {
      // Waits only for the recovery that the previous `take` began, which has usually ended, and not for a new recovery.
      const previousRecovery = newestRecovery;
      newestRecovery = previousRecovery.then(recover);
      const interrupted = await previousRecovery;
      // `unreported` is read only now, because a concurrent `take` may have changed it during the wait.
      unreported = [...unreported, ...interrupted];

      // If callers are not authenticated, `caller` is undefined, and every call gets the notices of all changes.
      const changesOfCaller = unreported.filter((change) => caller === undefined || change.caller === caller);
      unreported = unreported.filter((change) => !changesOfCaller.includes(change));
      return changesOfCaller.map(interruptedText);
    },
    /** Resolves when the newest recovery has ended. */
    settled: () => newestRecovery,
  };
}

/** A sentence about an interrupted change for people and agents. */
export const interruptedText = (change: RecordedChange): SafeText =>
  say`A change of ${shownTime(change.time)} (${shownDeed(change)}) ended without a known outcome when its process did. Check in the console whether it happened.`;

/** True if no process can still end a change: its process does not run any more, or its call must have ended. */
function isGone(change: RecordedChange, options: RecoveryOptions) {
  const { pid, host } = change.process;
  const begunAt = Date.parse(change.time);
  const isOnThisHost = host === options.process.host;

  // A change from before this process started is of an earlier process with the same id.
  if (isOnThisHost && pid === options.process.pid) return begunAt < options.started.getTime();
  if (isOnThisHost && !isAlive(pid)) return true;
  return options.now().getTime() - begunAt > options.timeoutMs + slackMs;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // The process exists, but belongs to another user.
    return textAt(error, 'code') === 'EPERM';
  }
}
