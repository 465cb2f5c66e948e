import { once, setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

const firstPauseMs = 50;
const longestPauseMs = 5_000;

/** An error that no retry can change. */
export class Permanent extends Error {}

/** Thrown if the database has not confirmed a commit in time. It may still succeed, and a retry would only wait for it. */
export class CommitPending extends Error {
  readonly committed: Promise<void>;
  constructor(committed: Promise<void>) {
    super('the database has not confirmed it yet');
    this.committed = committed;
  }
}

type Attempt = () => Promise<void>;

/**
 * Returns functions that repeat a write until it succeeds, and functions that count and stop such writes. One try to write is an attempt. A write
 * is one or more attempts.
 */
export function createPersistence() {
  const closing = new AbortController();
  // Each write under way has a listener, so Node must not warn that many listeners are a leak.
  setMaxListeners(0, closing.signal);
  /** One promise per write, which resolves when the write has succeeded or was given up. */
  const underWay = new Set<Promise<void>>();

  /**
   * Repeats the attempt until it succeeds. After `close` is called or `signal` aborts, there is one last attempt. If either happened before
   * this call, there is only one attempt.
   * @throws the last error, or a `Permanent` error at once
   */
  const write = async (attempt: Attempt, signal?: AbortSignal): Promise<void> => {
    const stop = abortedByAny(signal === undefined ? [closing.signal] : [closing.signal, signal]);
    const written = retry(attempt, stop.signal);
    const settled = written.catch(() => undefined);
    underWay.add(settled);
    try {
      await written;
    } finally {
      stop.release();
      underWay.delete(settled);
    }
  };

  /** Like `write`, but in the background. If `write` gives up, its error is ignored. */
  const writeLater = (attempt: Attempt): void => void write(attempt).catch(() => undefined);

  return {
    write,
    /** Makes one attempt, and resolves after it even if it fails. Further attempts then follow in the background. */
    writeNowOrLater: (attempt: Attempt): Promise<void> => {
      const onlyOnce = AbortSignal.abort();
      // `writeLater` follows a `Permanent` error too, and then gives up after one attempt.
      return write(attempt, onlyOnce).catch(() => writeLater(attempt));
    },
    /** The number of writes under way. */
    count: () => underWay.size,
    /** Waits in the background until an earlier commit has succeeded or failed, or until `close`. Then repeats `attempt` until it succeeds. */
    writeAfter: (earlier: CommitPending, attempt: Attempt): void =>
      writeLater(async () => {
        // The attempt follows whether the commit succeeds or fails. When the attempt is repeated, this wait is over at once.
        await waitForCommit(earlier, closing.signal);
        await attempt();
      }),
    /** Stops retries, each write after one last attempt. Resolves when all writes have ended. */
    close: async (): Promise<void> => {
      closing.abort();
      // A write that fails may begin another in the background (`writeNowOrLater`).
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

/**
 * Returns a signal that aborts when any of the signals aborts, until `release` removes its listeners. `AbortSignal.any` would leak memory in
 * a signal that lives as long as the process, such as `closing` of `createPersistence`.
 */
function abortedByAny(signals: readonly AbortSignal[]) {
  const controller = new AbortController();
  const abort = () => controller.abort();
  for (const signal of signals) {
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
  }
  const release = () => {
    for (const signal of signals) signal.removeEventListener('abort', abort);
  };
  return { signal: controller.signal, release };
}

/** Repeats an attempt, with growing pauses, until it succeeds. When the signal aborts, one last attempt follows. */
async function retry(attempt: Attempt, signal: AbortSignal): Promise<void> {
  for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof Permanent || signal.aborted) throw error;
      // Nothing is left to do if the commit succeeds in the end. If it fails, the next attempt follows.
      if (error instanceof CommitPending && (await waitForCommit(error, signal))) return;
      // The signal cuts the pause short, and then one last attempt follows.
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Waits for a pending commit. Resolves with true if it succeeds, and with false if it fails or the signal aborts first. */
async function waitForCommit({ committed }: CommitPending, signal: AbortSignal): Promise<boolean> {
  // An aborted signal has no further event.
  if (signal.aborted) return false;
  /** Removes the listener when the wait is over. */
  const listening = new AbortController();
  const aborted = once(signal, 'abort', { signal: listening.signal });
  const succeeded = committed.then(
    () => true,
    () => false,
  );
  const givenUp = aborted.then(
    () => false,
    () => false,
  );
  return Promise.race([succeeded, givenUp]).finally(() => listening.abort());
}
