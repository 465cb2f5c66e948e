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
    // Not AbortSignal.any, which leaks memory in a signal that lives as long as the process.
    const stop = new AbortController();
    const end = () => stop.abort();
    const signals = signal === undefined ? [closing.signal] : [closing.signal, signal];
    if (signals.some(({ aborted }) => aborted)) end();
    for (const each of signals) each.addEventListener('abort', end);
    const written = persist(attempt, stop.signal).finally(() => {
      for (const each of signals) each.removeEventListener('abort', end);
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

async function persist(attempt: Attempt, signal: AbortSignal): Promise<void> {
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
  const confirmed = committed.then(
    () => true,
    () => false,
  );
  const ended = new AbortController();
  const aborted = once(signal, 'abort', { signal: ended.signal }).then(
    () => false,
    () => false,
  );
  return Promise.race([confirmed, aborted]).finally(() => ended.abort());
}
