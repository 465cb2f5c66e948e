import { type Log, reasonOf } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { type SafeText, say } from '../util/safe-text.js';
import type { Intent, RecordedChange } from './entry.js';
import { type Journal, shownDeed, shownTime } from './journal.js';

/** Added to the time limit of a call. After that, its change must have ended. */
const slackMs = 60_000;

export interface RecoveryOptions {
  readonly journal: Journal;
  /** This process, and its start. */
  readonly process: Intent['process'];
  readonly started: Date;
  readonly now: () => Date;
  readonly timeoutMs: number;
  readonly log: Log;
}

/**
 * Ends the unfinished changes of processes that are gone as `unknown`, and resolves with them. Never rejects. A process on another host
 * counts as gone when its call must have ended.
 */
export async function recoverInterrupted(options: RecoveryOptions): Promise<readonly RecordedChange[]> {
  const { journal, log, now } = options;
  try {
    const interrupted = (await journal.listUnfinished()).filter((change) => isGone(change, options));
    for (const { id, tool, time, target } of interrupted) {
      log('warn', 'unresolved', { id, tool, time, target });
      await journal.end({ id, time: now().toISOString(), outcome: 'unknown', code: 'ProcessEnded' }, once);
    }
    return interrupted;
  } catch (error) {
    log('warn', 'journal', { error: reasonOf(error) });
    return [];
  }
}

/** A sentence about an interrupted change for people and agents. */
export const interruptedText = (change: RecordedChange): SafeText =>
  say`A change of ${shownTime(change.time)} (${shownDeed(change)}) ended without a known outcome when its process did. Check in the console whether it happened.`;

/** Makes the journal try once, because the next recovery tries again. */
const once = AbortSignal.abort();

function isGone(
  { process: { pid, host }, time }: RecordedChange,
  { process: own, started, now, timeoutMs }: RecoveryOptions,
) {
  if (host === own.host && pid === own.pid) return Date.parse(time) < started.getTime();
  return now().getTime() - Date.parse(time) > timeoutMs + slackMs || (host === own.host && !isAlive(pid));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return textAt(error, 'code') === 'EPERM';
  }
}
