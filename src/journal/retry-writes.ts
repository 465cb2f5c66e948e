import { once, setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

const firstPauseMs = 50;
const longestPauseMs = 5_000;

/** An error that no retry can change. */
export class Permanent extends Error {}

/** A write that may still succeed. A retry would only wait for it. */
export class CommitPending extends Error {
  readonly committed: Promise<void>;
  constructor(committed: Promise<void>) {
    super('the database has not confirmed it yet');
    this.committed = committed;
  }
}

type Attempt = () => Promise<void>;

/** Retries writes until they succeed. */
export function createPersistence() {
  const closing = new AbortController();
  // Each outcome that is not written yet has a listener.
  setMaxListeners(0, closing.signal);
  const underWay = new Set<Promise<void>>();
  /**
   * Retries until the attempt succeeds. When the signal aborts or `close` is called, it tries once more.
   * @throws the last error, or a `Permanent` error at once
   */
  const write = (attempt: Attempt, signal?: AbortSignal): Promise<void> => {
    const stop = signalOfAny(signal === undefined ? [closing.signal] : [closing.signal, signal]);
    const written = retry(attempt, stop.signal).finally(() => {
      stop.release();
      underWay.delete(ended);
    });
    const ended = written.catch(() => undefined);
    underWay.add(ended);
    return written;
  };
  return {
    write,
    /** Tries once and, if that fails, retries in the background. */
    writeSoon: (attempt: Attempt): Promise<void> =>
      write(attempt, AbortSignal.abort()).catch(() => {
        write(attempt).catch(() => undefined);
      }),
    /** The number of writes under way. */
    count: () => underWay.size,
    /** Tries in the background once an earlier write is settled. */
    writeAfter: (earlier: CommitPending, attempt: Attempt): void => {
      const next = async () => {
        await isCommitted(earlier, closing.signal);
        await attempt();
      };
      write(next).catch(() => undefined);
    },
    /** Stops retries. Resolves when no write is under way. */
    close: async (): Promise<void> => {
      closing.abort();
      await Promise.all(underWay);
    },
  };
}

/**
 * A signal that aborts with the first of several, until it is released. Not `AbortSignal.any`, which leaks memory in a signal that lives
 * as long as the process.
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
      if (error instanceof CommitPending && (await isCommitted(error, signal))) return;
      // The signal cuts the pause short, and then one last attempt follows.
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Waits for a pending commit, or until the signal aborts. */
async function isCommitted({ committed }: CommitPending, signal: AbortSignal): Promise<boolean> {
  const succeeds = (work: Promise<unknown>) =>
    work.then(
      () => true,
      () => false,
    );
  const listening = new AbortController();
  const aborted = once(signal, 'abort', { signal: listening.signal });
  const notCommitted = succeeds(aborted).then(() => false);
  return Promise.race([succeeds(committed), notCommitted]).finally(() => listening.abort());
}
