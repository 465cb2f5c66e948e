import { type Log, reasonOf } from '../util/log.js';
import { type SafeText, say } from '../util/safe-text.js';
import type { Change, Changes } from './change.js';
import { shownDeed, shownTime } from './journal-text.js';

/**
 * Creates notices about changes whose processes ended before the outcome was known. Each notice goes once to its caller, with one of the
 * caller's next changes. The first recovery begins now.
 */
export function createNotices(changes: Pick<Changes, 'recover'>, log: Log) {
  let unreported: readonly Change[] = [];
  const endedByTool = new Map<string, number>();
  let running: Promise<void> | undefined;

  const keep = (recovered: readonly Change[]) => {
    const interrupted = recovered.filter(({ state }) => state === 'unknown');
    unreported = [...unreported, ...interrupted];
    for (const { id, tool, account, caller, target, begunAt } of interrupted) {
      endedByTool.set(tool, (endedByTool.get(tool) ?? 0) + 1);
      log('warn', 'unresolved', { id, tool, account, caller, target, changeTime: begunAt });
    }
  };
  /** Ends the changes of processes that are gone. Never rejects. Calls at the same time share one recovery. */
  const recover = (): Promise<void> => {
    running ??= changes
      .recover()
      // The check of the store logs at a higher level that it cannot be used.
      .then(keep, (error: unknown) => log('debug', 'journal', { error: reasonOf(error) }))
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  void recover();

  return {
    recover,
    /** Number of changes that this process has ended as `unknown`, by tool. */
    endedByTool,
    /** Returns the notices for a caller, and forgets them. */
    take: async (caller: string | undefined): Promise<readonly SafeText[]> => {
      // Usually, no recovery is under way. The next one is for the next call, so that no call waits for a database that hangs.
      await running;
      void recover();
      // If callers are not authenticated, `caller` is undefined, and every call gets the notices of all changes.
      const changesOfCaller = unreported.filter((change) => caller === undefined || change.caller === caller);
      unreported = unreported.filter((change) => !changesOfCaller.includes(change));
      return changesOfCaller.map(interruptedText);
    },
    /** Resolves when the recovery that is under way has ended. */
    settled: async () => running,
  };
}

/** A sentence about an interrupted change for people and agents. */
const interruptedText = (change: Change): SafeText =>
  say`A change of ${shownTime(change.begunAt ?? change.madeAt)} (${shownDeed(change)}) ended without a known outcome when its process did. Check in the console whether it happened.`;
