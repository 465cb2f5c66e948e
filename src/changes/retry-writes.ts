import { once, setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

const firstPauseMs = 50;
const longestPauseMs = 5_000;

/** An error that no retry can change. */
export class Permanent extends Error {}

/** Thrown if the database has not confirmed a commit in time. The commit may still succeed, and a retry would only wait for it. */
export class CommitPending extends Error {
  readonly committed: Promise<void>;
  constructor(committed: Promise<void>) {
    super('the database has not confirmed it yet');
    this.committed = committed;
  }
}

type Attempt = () => Promise<void>;

/** Returns functions that repeat attempts at a write until one succeeds, and functions that count and stop such writes. */
export function createPersistence() {
  const closing = new AbortController();
  const { signal } = closing;
  // Each pause has a listener, so Node must not warn that many listeners are a leak.
  setMaxListeners(0, signal);
  const closed = once(signal, 'abort').then(() => false);
  /** One promise per write, which resolves when the write has succeeded or was given up. */
  const underWay = new Set<Promise<void>>();

  /** Counts a write until it has ended, so that `close` waits for it. */
  const track = async (written: Promise<void>): Promise<void> => {
    const settled = written.catch(() => undefined);
    underWay.add(settled);
    try {
      await written;
    } finally {
      underWay.delete(settled);
    }
  };

  /** Waits for a pending commit. Resolves with true if it succeeds, and with false if it fails or the store closes first. */
  const succeeds = ({ committed }: CommitPending): Promise<boolean> =>
    Promise.race([committed.then(() => true).catch(() => false), closed]);

  /** Repeats an attempt, with growing pauses, until it succeeds. An attempt that begins after `close` is the last. */
  const retry = async (attempt: Attempt): Promise<void> => {
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
      const isLast = signal.aborted;
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof Permanent || isLast) throw error;
        // Nothing is left to do if the commit succeeds in the end. If it fails, the next attempt follows.
        if (error instanceof CommitPending && (await succeeds(error))) return;
        // The signal ends the pause, and then the last attempt follows.
        await delay(pause, undefined, { signal }).catch(() => undefined);
      }
    }
  };

  /**
   * Repeats the attempt until it succeeds. After `close`, at most one more attempt begins, without a pause.
   * @throws the last error, or a `Permanent` error at once
   */
  const write = (attempt: Attempt): Promise<void> => track(retry(attempt));

  return {
    write,
    /** Makes one attempt, and resolves after it even if it fails. Further attempts then follow in the background. */
    writeNowOrLater: async (attempt: Attempt): Promise<void> => {
      await track(attempt()).catch(() => {
        // Nobody waits for this write, so its error is ignored. After a `Permanent` error, it ends with its first attempt.
        void write(attempt).catch(() => undefined);
      });
    },
    /** The number of writes under way. */
    count: () => underWay.size,
    /** Waits in the background until an earlier commit has succeeded or failed, or until `close`. Then repeats `attempt` until it succeeds. */
    writeAfter: (earlier: CommitPending, attempt: Attempt): void => {
      void track(succeeds(earlier).then(() => retry(attempt))).catch(() => undefined);
    },
    /** Ends all pauses. Each write makes at most one more attempt. Resolves when all writes have ended. */
    close: async (): Promise<void> => {
      closing.abort();
      // When a write ends, the function that waited for it may begin another, as `writeNowOrLater` does.
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
