import type { Admit } from '../transport/http-client.js';
import { createTurns } from '../util/turns.js';

const mebibyte = 1024 * 1024;

/** Bounds of reads. Sizes in bytes, times in milliseconds. */
export const defaultReadLimits = {
  /** Of one call: no person waits for more, and no model needs it. */
  pages: 100,
  entries: 20_000,
  bytes: 16 * mebibyte,
  /** Of all calls that read at the same time. What a call has read counts until it ends, because its record is made of it. */
  bytesOfAll: 64 * mebibyte,
  /** A page is asked for where there is room for so much. Hardly any has more. */
  bytesOfPage: mebibyte / 2,
  /** The longest time that a page waits for that room. */
  waitMs: 5000,
};

export type ReadLimits = Readonly<typeof defaultReadLimits>;

/** The reason why a call reads no further: its own bounds, or all that others read at the same time. */
export type ReadBound = 'call' | 'others';

/** The part of the room that one call takes, until it is disposed of. */
export interface ReadShare extends Disposable {
  readonly limits: ReadLimits;
  /** Waits for room for one more page. Resolves with false if there is none in time. */
  enter(): Promise<boolean>;
  /** Ends the page: only what has come of it still counts. */
  leave(): void;
  readonly admit: Admit;
  /** Set once a part of a body was not admitted. */
  readonly exceeded: ReadBound | undefined;
}

/** The memory that all reads of a process have together. */
export interface ReadRoom {
  /** @param signal ends the wait for room */
  share(signal: AbortSignal): ReadShare;
}

export function createReadRoom(limits: ReadLimits = defaultReadLimits): ReadRoom {
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
      let exceeded: ReadBound | undefined;
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
          // A call that was given up goes on to where that is noticed.
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
          // Pages after the first are asked for one in each turn of the event loop: other work comes in between.
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
