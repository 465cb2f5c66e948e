import { type Log, type LogLevel, reasonOf } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { type SafeText, say } from '../util/safe-text.js';
import type { Intent, RecordedChange } from './entry.js';
import { type Journal, shownDeed, shownTime } from './journal.js';

/** The change of a call must have ended this long after the call's time limit (milliseconds). */
const slackMs = 60_000;

export interface RecoveryOptions {
  readonly journal: Journal;
  /** This process. `started` is the time of its start. */
  readonly process: Intent['process'];
  readonly started: Date;
  /** Milliseconds since `started`, by a monotonic clock. */
  readonly uptimeMs: () => number;
  readonly now: () => Date;
  readonly timeoutMs: number;
  readonly log: Log;
  /** The level at which errors of the journal are logged. */
  readonly errorLevel: LogLevel;
}

/**
 * Ends the unfinished changes of processes that are gone, with the outcome `unknown`, and resolves with them. Leaves out changes that
 * another process has ended meanwhile. A change whose ending cannot be written is left to the next recovery. After two failures in a row,
 * all other changes are left, too, because the journal seems to be unusable. Never rejects.
 */
export async function recoverInterrupted(options: RecoveryOptions): Promise<readonly RecordedChange[]> {
  const { journal, log, now, errorLevel } = options;
  const logError = (error: unknown, change = {}) => log(errorLevel, 'journal', { ...change, error: reasonOf(error) });
  const ended: RecordedChange[] = [];
  try {
    const interrupted = (await journal.listUnfinished()).filter((change) => isGone(change, options));
    let failuresInARow = 0;
    for (const change of interrupted) {
      const { id, tool, account, caller, target, time: changeTime } = change;
      const ending = { id, time: now().toISOString(), outcome: 'unknown', code: 'ProcessEnded' } as const;
      try {
        if (await journal.tryEnd(ending)) {
          log('warn', 'unresolved', { id, tool, account, caller, target, changeTime });
          ended.push(change);
        }
        failuresInARow = 0;
      } catch (error) {
        logError(error, { id, tool });
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
 * @param recover ends the changes that were interrupted, and resolves with them. No later call returns them again. Never rejects. `errorLevel`
 * is the level at which it logs errors
 */
export function createNotices(recover: (errorLevel: LogLevel) => Promise<readonly RecordedChange[]>) {
  let unreported: readonly RecordedChange[] = [];
  const endedByTool = new Map<string, number>();
  let recoveriesUnderWay = 0;

  const recoverAndCollect = async (errorLevel: LogLevel) => {
    const interrupted = await recover(errorLevel);
    unreported = [...unreported, ...interrupted];
    for (const { tool } of interrupted) endedByTool.set(tool, (endedByTool.get(tool) ?? 0) + 1);
    recoveriesUnderWay -= 1;
  };
  let newestRecovery = Promise.resolve();
  const beginRecovery = (errorLevel: LogLevel) => {
    recoveriesUnderWay += 1;
    newestRecovery = newestRecovery.then(() => recoverAndCollect(errorLevel));
  };
  beginRecovery('warn');

  return {
    /** Begins a recovery, unless one is under way. For a timer, so errors are logged at level `debug` only. */
    recoverIfIdle: () => {
      if (recoveriesUnderWay === 0) beginRecovery('debug');
    },
    /** Number of changes that this process has ended as `unknown`, by tool. */
    endedByTool,
    /** Returns the notices for a caller, and forgets them. */
    take: async (caller: string | undefined) => {
      // Waits for the newest recovery so far, which has usually ended, and not for the recovery that begins here.
      const previousRecovery = newestRecovery;
      beginRecovery('warn');
      await previousRecovery;

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
  if (isOnThisHost && pid === options.process.pid) {
    // If the clock was set back since the start, this process's own changes would seem older than the process. So the start is also computed
    // from the uptime, and the earlier of the two times counts.
    return begunAt < Math.min(options.started.getTime(), options.now().getTime() - options.uptimeMs());
  }
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
