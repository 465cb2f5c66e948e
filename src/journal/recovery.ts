import type { Log } from '../util/log.js';
import { abandonedMs, type Intent, interrupted, type Journal } from './journal.js';

/** How long after its intent a mutation must have ended, whatever became of its process, beyond the time of a call. */
const slackMs = 60_000;

export interface RecoveryOptions {
  readonly journal: Journal;
  /** This process, and since when it runs. */
  readonly process: Intent['process'];
  readonly started: Date;
  readonly now: () => Date;
  readonly timeoutMs: number;
  readonly log: Log;
}

/**
 * Ends what a process that is gone left open as of unknown outcome. Resolves with a sentence for each; never rejects.
 * A process of which nothing but its age can be known is taken to be gone when its call must have ended.
 */
export async function recoverInterrupted(options: RecoveryOptions): Promise<string[]> {
  const { journal, process: own, started, now, timeoutMs, log } = options;
  try {
    const left = interrupted(await journal.read(now().getTime() - abandonedMs), ({ process: { pid, host }, time }) => {
      if (host === own.host && pid === own.pid) return Date.parse(time) < started.getTime();
      return now().getTime() - Date.parse(time) > timeoutMs + slackMs || (host === own.host && !isAlive(pid));
    });
    for (const mutation of left) {
      log('warn', 'unresolved', { id: mutation.id, tool: mutation.tool, time: mutation.time, target: mutation.target });
      await journal.end({ id: mutation.id, time: now().toISOString(), outcome: 'unknown', code: 'ProcessEnded' });
    }
    return left.map(
      ({ tool, what, target, time }) =>
        `${tool} of ${time} (${what} ${target}) ended without a known outcome when its process did. Look in the console whether it happened.`,
    );
  } catch (error) {
    log('warn', 'journal', { error: error instanceof Error ? error.message : 'unknown' });
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
