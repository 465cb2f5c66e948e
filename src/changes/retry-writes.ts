import { once, setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

const firstPauseMs = 50;
const longestPauseMs = 5_000;

/** An error that no retry can change. */
export class Permanent extends Error {}

/** Thrown if a commit is not confirmed in time. It may still succeed, and a retry would only wait for it. */
export class CommitPending extends Error {
  readonly committed: Promise<void>;
  constructor(committed: Promise<void>) {
    super('the database has not confirmed it yet');
    this.committed = committed;
  }
}

type Attempt = () => Promise<void>;

/** Returns functions that repeat attempts at a write until one succeeds. */
export function createPersistence() {
  const closing = new AbortController();
  const { signal } = closing;
  setMaxListeners(0, signal);
  const closed = once(signal, 'abort').then(() => false);
  const underWay = new Set<Promise<void>>();

  /** Counts a write, so that `close` waits for it. */
  const track = async (written: Promise<void>): Promise<void> => {
    const settled = written.catch(() => undefined);
    underWay.add(settled);
    try {
      await written;
    } finally {
      underWay.delete(settled);
    }
  };

  const succeeds = ({ committed }: CommitPending): Promise<boolean> =>
    Promise.race([committed.then(() => true).catch(() => false), closed]);

  /** An attempt that begins after `close` is the last. */
  const retry = async (attempt: Attempt): Promise<void> => {
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
      const isLast = signal.aborted;
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof Permanent || isLast) throw error;
        // If the commit succeeds in the end, nothing is left to do.
        if (error instanceof CommitPending && (await succeeds(error))) return;
        // The signal ends the pause, and the last attempt follows.
        await delay(pause, undefined, { signal }).catch(() => undefined);
      }
    }
  };

  /** @throws the last error after `close`, or a `Permanent` error at once */
  const write = (attempt: Attempt): Promise<void> => track(retry(attempt));

  return {
    write,
    /** Resolves after one attempt. Further attempts follow in the background. */
    writeNowOrLater: async (attempt: Attempt): Promise<void> => {
      await track(attempt()).catch(() => {
        void write(attempt).catch(() => undefined);
      });
    },
    count: () => underWay.size,
    /** Repeats `attempt` in the background after an earlier commit has ended. */
    writeAfter: (earlier: CommitPending, attempt: Attempt): void => {
      void track(succeeds(earlier).then(() => retry(attempt))).catch(() => undefined);
    },
    /** Resolves after at most one more attempt of each write. */
    close: async (): Promise<void> => {
      closing.abort();
      // The end of a write may begin another.
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
