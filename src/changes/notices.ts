import { type Log, type LogLevel, reasonOf } from '../util/log.js';
import { type SafeText, say } from '../util/safe-text.js';
import type { Change, Changes } from './change.js';
import { shownDeed, shownTime } from './journal-text.js';

/**
 * Creates notices about changes whose processes ended before the outcome was known. Each notice goes once to its caller, with one of the
 * caller's next changes. Recoveries run in the background. The first begins now, and each `take` begins another for the `take` after it.
 */
export function createNotices(changes: Pick<Changes, 'recover'>, log: Log) {
  let unreported: readonly Change[] = [];
  const endedByTool = new Map<string, number>();
  let recoveriesUnderWay = 0;

  const recover = async (errorLevel: LogLevel) => {
    try {
      const recovered = await changes.recover();
      const interrupted = recovered.filter(({ state }) => state === 'unknown');
      unreported = [...unreported, ...interrupted];
      for (const { id, tool, account, caller, target, begunAt } of interrupted) {
        endedByTool.set(tool, (endedByTool.get(tool) ?? 0) + 1);
        log('warn', 'unresolved', { id, tool, account, caller, target, changeTime: begunAt });
      }
    } catch (error) {
      log(errorLevel, 'journal', { error: reasonOf(error) });
    }
    recoveriesUnderWay -= 1;
  };
  let newestRecovery = Promise.resolve();
  const beginRecovery = (errorLevel: LogLevel) => {
    recoveriesUnderWay += 1;
    newestRecovery = newestRecovery.then(() => recover(errorLevel));
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
    take: async (caller: string | undefined): Promise<readonly SafeText[]> => {
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
const interruptedText = (change: Change): SafeText =>
  say`A change of ${shownTime(change.begunAt ?? change.madeAt)} (${shownDeed(change)}) ended without a known outcome when its process did. Check in the console whether it happened.`;
