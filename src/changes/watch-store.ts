import { setTimeout as delay } from 'node:timers/promises';
import { type Log, reasonOf } from '../util/log.js';
import { type SafeText, say, words } from '../util/safe-text.js';
import type { Change } from './change.js';
import { shownDeed, shownTime } from './journal-text.js';
import type { Changes } from './store.js';

/** This file looks after a store while a server runs. */

/** A reason means that changes are refused. */
interface Check {
  readonly reason?: string | undefined;
  readonly warnings: readonly SafeText[];
}

/** Never rejects. */
const check = (store: Pick<Changes, 'healthCheck'>): Promise<Check> =>
  store.healthCheck().then(
    (warnings) => ({ warnings }),
    (error: unknown) => ({ reason: reasonOf(error), warnings: [] }),
  );

function logCheck({ reason, warnings }: Check, log: Log): void {
  const message = words('Every change is refused until the journal of CLOUDOPS_JOURNAL can be written.');
  if (reason !== undefined) log('error', 'journal', { error: reason, message });
  for (const warning of warnings) log('warn', 'journal', { message: warning });
}

export const reportStore = async (store: Pick<Changes, 'healthCheck'>, log: Log): Promise<void> =>
  logCheck(await check(store), log);

/** Checks a store regularly until `stop`. Logs each warning once, and each problem when it begins and ends. */
export function watchStore(store: Pick<Changes, 'healthCheck'>, log: Log) {
  let last: Check | undefined;
  let hasEverSucceeded = false;
  let timer: NodeJS.Timeout | undefined;
  let isChecking = false;
  let isStopped = false;
  const loggedWarnings = new Set<string>();
  const succeeded = () => last !== undefined && last.reason === undefined;

  const look = async (): Promise<void> => {
    clearTimeout(timer);
    isChecking = true;
    const before = last?.reason;
    last = await check(store);
    isChecking = false;
    const { reason } = last;
    const warnings = last.warnings.filter(({ text }) => !loggedWarnings.has(text));
    for (const { text } of warnings) loggedWarnings.add(text);
    logCheck({ reason: reason === before ? undefined : reason, warnings }, log);
    if (reason === undefined && before !== undefined)
      log('info', 'journal', { message: words('Changes can be recorded again.') });
    hasEverSucceeded ||= succeeded();
    if (!isStopped) timer = setTimeout(look, succeeded() ? 30_000 : 3_000).unref();
  };

  void look();
  return {
    /** True after the first success, because calls that only read the cloud need no store. */
    isReady: () => hasEverSucceeded,
    lastCheckSucceeded: succeeded,
    /** Checks the store at once, because a call could not use it. */
    checkNow: () => {
      if (succeeded() && !isChecking && !isStopped) void look();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

const pollMs = 100;

/** Waits at most `graceMs` until the store has written all outcomes. */
export async function awaitOutcomes({ unwritten }: Pick<Changes, 'unwritten'>, graceMs: number): Promise<void> {
  for (let waitedMs = 0; unwritten() > 0 && waitedMs < graceMs; waitedMs += pollMs) await delay(pollMs);
}

/**
 * Creates notices about changes whose processes ended before the outcome was known.
 * @param resume goes on with a change of several things, and never rejects
 */
export function createNotices(changes: Pick<Changes, 'recover'>, log: Log, resume: (change: Change) => unknown) {
  let unreported: readonly Change[] = [];
  const endedByTool = new Map<string, number>();
  let running: Promise<void> | undefined;

  const keep = (recovered: readonly Change[]) => {
    for (const change of recovered) if (change.state === 'begun') void resume(change);
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
    endedByTool,
    take: async (caller: string | undefined): Promise<readonly SafeText[]> => {
      // No call waits for a database that hangs.
      await running;
      void recover();
      // Without authentication, every call gets all notices.
      const changesOfCaller = unreported.filter((change) => caller === undefined || change.caller === caller);
      unreported = unreported.filter((change) => !changesOfCaller.includes(change));
      return changesOfCaller.map(
        (change) =>
          say`A change of ${shownTime(change.begunAt ?? change.madeAt)} (${shownDeed(change)}) ended without a known outcome when its process did. Check in the console whether it happened.`,
      );
    },
    settled: async () => running,
  };
}
