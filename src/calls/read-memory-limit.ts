import type { ByteLimit } from '../transport/http-client.js';
import { createTurns, type TakeTurn } from '../util/turns.js';

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
  const memory = new SharedMemory(limits);
  const takeTurn = createTurns();
  return { share: (signal) => new CallShare(memory, limits, takeTurn, signal) };
}

/** Counts the bytes of all reads, and lets calls wait for room. */
class SharedMemory {
  readonly #limits: ReadLimits;
  /** Bytes that were received or are reserved. */
  #taken = 0;
  /** Functions that end the wait of a call, in the order in which the calls came. */
  readonly #waiting = new Set<() => void>();

  constructor(limits: ReadLimits) {
    this.#limits = limits;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#taken + bytes <= this.#limits.bytesOfAll;
  }

  take(bytes: number): void {
    this.#taken += bytes;
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
    for (const proceed of this.#waiting) if (this.hasRoomFor(this.#limits.bytesOfPage)) proceed();
  }

  /** Reserves the bytes of a page as soon as there is room. Resolves with false if that takes longer than `waitMs`. */
  async reservePage(signal: AbortSignal): Promise<boolean> {
    const { bytesOfPage } = this.#limits;
    const mustWait = this.#waiting.size > 0 || !this.hasRoomFor(bytesOfPage);
    if (mustWait && !signal.aborted) return this.#waitForRoom(signal);
    this.take(bytesOfPage);
    return true;
  }

  #waitForRoom(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isReserved: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', proceed);
        this.#waiting.delete(proceed);
        resolve(isReserved);
      };
      // A cancelled call continues to its next request, which notices the cancellation.
      const proceed = () => {
        this.take(this.#limits.bytesOfPage);
        end(true);
      };
      const timer = setTimeout(() => end(false), this.#limits.waitMs);
      signal.addEventListener('abort', proceed);
      this.#waiting.add(proceed);
    });
  }
}

class CallShare implements ReadShare {
  readonly limits: ReadLimits;
  readonly #memory: SharedMemory;
  readonly #takeTurn: TakeTurn;
  readonly #signal: AbortSignal;
  #received = 0;
  /** Reserved bytes that were not received yet. */
  #reserved = 0;
  #exceeded: ReachedLimit | undefined;

  constructor(memory: SharedMemory, limits: ReadLimits, takeTurn: TakeTurn, signal: AbortSignal) {
    this.limits = limits;
    this.#memory = memory;
    this.#takeTurn = takeTurn;
    this.#signal = signal;
  }

  get exceeded(): ReachedLimit | undefined {
    return this.#exceeded;
  }

  async enter(): Promise<boolean> {
    // Later pages each take a turn of the event loop, so that other work comes in between.
    if (this.#received > 0) await this.#takeTurn(() => undefined);
    const isReserved = await this.#memory.reservePage(this.#signal);
    if (isReserved) this.#reserved = this.limits.bytesOfPage;
    return isReserved;
  }

  leave(): void {
    const unused = this.#reserved;
    this.#reserved = 0;
    this.#memory.giveBack(unused);
  }

  admit(bytes: number): boolean {
    const ofReservation = Math.min(bytes, this.#reserved);
    const more = bytes - ofReservation;
    if (this.#received + bytes > this.limits.bytes) this.#exceeded = 'call';
    else if (!this.#memory.hasRoomFor(more)) this.#exceeded = 'others';
    if (this.#exceeded !== undefined) return false;
    this.#reserved -= ofReservation;
    this.#memory.take(more);
    this.#received += bytes;
    return true;
  }

  [Symbol.dispose](): void {
    this.leave();
    this.#memory.giveBack(this.#received);
    this.#received = 0;
  }
}
