import { setTimeout as delay } from 'node:timers/promises';

const firstPauseMs = 50;
const longestPauseMs = 5_000;

/** An error that no further attempt can change. */
export class Permanent extends Error {}

type Attempt = () => Promise<void>;

/** Writes that are tried again until they succeed. */
export function createPersistence() {
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();
  /**
   * Tries until it succeeds; when the signal aborts or `close` is called, once more.
   * @throws the last error, or a `Permanent` one at once
   */
  const write = (attempt: Attempt, signal?: AbortSignal): Promise<void> => {
    const written = persist(attempt, AbortSignal.any([closing.signal, ...(signal === undefined ? [] : [signal])]));
    const ended = written.catch(() => undefined).finally(() => underWay.delete(ended));
    underWay.add(ended);
    return written;
  };
  return {
    write,
    /** Tries once and, should that fail, again in the background. */
    writeSoon: (attempt: Attempt): Promise<void> =>
      write(attempt, AbortSignal.abort()).catch(() => {
        write(attempt).catch(() => undefined);
      }),
    /** The number of writes under way. */
    count: () => underWay.size,
    /** Stops trying. Resolves when nothing is under way. */
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
      // The signal cuts the pause short, and then one last attempt follows.
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }
}
