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

/** Returns functions that repeat a write until it succeeds, and functions that count and stop such writes. */
export function createPersistence() {
  const closing = new AbortController();
  // Each write under way has a listener, and any number of writes may be under way.
  setMaxListeners(0, closing.signal);
  /** One promise per write, which resolves when the write has succeeded or was given up. */
  const underWay = new Set<Promise<void>>();

  /**
   * Retries until the attempt succeeds. When the signal aborts or `close` is called, it tries once more.
   * @throws the last error, or a `Permanent` error at once
   */
  const write = async (attempt: Attempt, signal?: AbortSignal): Promise<void> => {
    const stop = signalOfAny(signal === undefined ? [closing.signal] : [closing.signal, signal]);
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

  const writeLater = (attempt: Attempt): void => void write(attempt).catch(() => undefined);

  return {
    write,
    /** Resolves after the first attempt, even if it fails. Further attempts follow in the background. */
    writeSoon: (attempt: Attempt): Promise<void> =>
      // With an aborted signal, there is only one attempt.
      write(attempt, AbortSignal.abort()).catch(() => writeLater(attempt)),
    /** The number of writes under way. */
    count: () => underWay.size,
    /** Waits in the background until an earlier commit has succeeded or failed. Then repeats the attempt until it succeeds. */
    writeAfter: (earlier: CommitPending, attempt: Attempt): void =>
      writeLater(async () => {
        // The attempt follows whether the commit succeeded or failed, and has to work in both cases.
        await isCommitted(earlier, closing.signal);
        await attempt();
      }),
    /** Stops retries. Resolves when no write is under way. */
    close: async (): Promise<void> => {
      closing.abort();
      await Promise.all(underWay);
    },
  };
}

/**
 * Returns a signal that aborts with any of several. `AbortSignal.any` would leak memory in a signal that lives as long as the process, such
 * as `closing` of `createPersistence`.
 */
function signalOfAny(signals: readonly AbortSignal[]) {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (signals.some(({ aborted }) => aborted)) abort();
  for (const signal of signals) signal.addEventListener('abort', abort);
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
      // If the commit fails in the end, the next attempt follows.
      if (error instanceof CommitPending && (await isCommitted(error, signal))) return;
      // The signal cuts the pause short, and then one last attempt follows.
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Waits for a pending commit. Resolves with false if the commit fails or the signal aborts first. */
async function isCommitted({ committed }: CommitPending, signal: AbortSignal): Promise<boolean> {
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
