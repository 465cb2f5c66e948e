import type { ByteLimit } from '../transport/http-client.js';
import { createTurns } from '../util/turns.js';

const mebibyte = 1024 * 1024;

/** Limits of reads, in bytes and milliseconds. */
export const defaultReadLimits = {
  /** Pages, entries and bytes per call. No person waits for more, and no model needs more. */
  pages: 100,
  entries: 20_000,
  bytes: 16 * mebibyte,
  /** Total of all concurrent reads. The bytes of a call count until the call ends, because its record holds them. */
  bytesOfAll: 64 * mebibyte,
  /** Reserved before each page is requested. Hardly any page is larger. */
  bytesOfPage: mebibyte / 2,
  /** The longest wait for the reservation. */
  waitMs: 5000,
};

type ReadLimits = Readonly<typeof defaultReadLimits>;

/** The limit that stops a read: the limit per call, or the total with other calls. */
export type ReachedLimit = 'call' | 'others';

/** The share of one call in the memory limit, until it is disposed of. */
export interface ReadShare extends Disposable, ByteLimit {
  readonly limits: ReadLimits;
  /** Waits until the next page may be requested. Resolves with false if that takes longer than `waitMs`. */
  enter(): Promise<boolean>;
  /** Ends the page and its reservation. Its received bytes still count. */
  leave(): void;
  /** Set after a part of a body was not admitted. */
  readonly exceeded: ReachedLimit | undefined;
}

/** The memory limit that all reads of a process share. */
export interface ReadMemoryLimit {
  /** @param signal ends the wait for a reservation */
  share(signal: AbortSignal): ReadShare;
}

export function createReadMemoryLimit(limits: ReadLimits = defaultReadLimits): ReadMemoryLimit {
  const waiting = new Set<() => void>();
  const takeTurn = createTurns();
  let taken = 0;
  const hasRoom = () => taken + limits.bytesOfPage <= limits.bytesOfAll;
  const give = (bytes: number) => {
    taken -= bytes;
    for (const begin of waiting) if (hasRoom()) begin();
  };

  return {
    share(signal) {
      let own = 0;
      let reserved = 0;
      let exceeded: ReachedLimit | undefined;
      const reserve = () => {
        reserved = limits.bytesOfPage;
        taken += reserved;
      };
      const leave = () => {
        const unused = reserved;
        reserved = 0;
        give(unused);
      };
      const wait = () =>
        new Promise<boolean>((resolve) => {
          const end = (hasEntered: boolean) => {
            clearTimeout(timer);
            signal.removeEventListener('abort', begin);
            waiting.delete(begin);
            resolve(hasEntered);
          };
          // A cancelled call continues to its next request, which notices the cancellation.
          const begin = () => {
            reserve();
            end(true);
          };
          const timer = setTimeout(() => end(false), limits.waitMs);
          signal.addEventListener('abort', begin);
          waiting.add(begin);
        });
      return {
        limits,
        enter: async () => {
          // Later pages each take a turn of the event loop, so that other work comes in between.
          if (own > 0) await takeTurn(() => undefined);
          if ((waiting.size > 0 || !hasRoom()) && !signal.aborted) return wait();
          reserve();
          return true;
        },
        leave,
        admit: (bytes) => {
          const more = Math.max(0, bytes - reserved);
          if (own + bytes > limits.bytes) exceeded = 'call';
          else if (taken + more > limits.bytesOfAll) exceeded = 'others';
          if (exceeded !== undefined) return false;
          reserved -= bytes - more;
          taken += more;
          own += bytes;
          return true;
        },
        get exceeded() {
          return exceeded;
        },
        [Symbol.dispose]: () => {
          leave();
          give(own);
          own = 0;
        },
      };
    },
  };
}
