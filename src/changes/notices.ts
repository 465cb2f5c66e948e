import { type Log, reasonOf } from '../util/log.js';
import { type SafeText, say } from '../util/safe-text.js';
import type { Change, Changes } from './change.js';
import { shownDeed, shownTime } from './journal-text.js';

/** Creates notices about changes whose processes ended before the outcome was known. */
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
  /** Never rejects. */
  const recover = (): Promise<void> => {
    running ??= changes
      .recover()
      .then(keep, (error: unknown) => log('debug', 'journal', { error: reasonOf(error) }))
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  void recover();

  return {
    recover,
    /** Changes that ended as `unknown`. */
    endedByTool,
    /** Returns the notices for a caller, and forgets them. */
    take: async (caller: string | undefined): Promise<readonly SafeText[]> => {
      // No call waits for a database that hangs.
      await running;
      void recover();
      // Without authentication, every call gets all notices.
      const changesOfCaller = unreported.filter((change) => caller === undefined || change.caller === caller);
      unreported = unreported.filter((change) => !changesOfCaller.includes(change));
      return changesOfCaller.map(interruptedText);
    },
    settled: async () => running,
  };
}

const interruptedText = (change: Change): SafeText =>
  say`A change of ${shownTime(change.begunAt ?? change.madeAt)} (${shownDeed(change)}) ended without a known outcome when its process did. Check in the console whether it happened.`;
