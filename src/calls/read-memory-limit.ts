import type { ByteLimit } from '../transport/http-client.js';
import { createTurns, type TakeTurn } from '../util/turns.js';

const mebibyte = 1024 * 1024;

export const defaultReadLimits = {
  /** Pages, entries and bytes that one call reads at most. No person waits for more, and no model needs more. */
  pages: 100,
  entries: 20_000,
  bytes: 16 * mebibyte,
  /** Bytes of all concurrent calls together. The bytes of a call count until the call ends, because its record holds them. */
  bytesOfAll: 64 * mebibyte,
  /** Bytes that are reserved before a page is requested. Hardly any page is larger. */
  bytesOfPage: mebibyte / 2,
  /** The longest time that a page waits for its reservation (milliseconds). */
  waitMs: 5000,
};

type ReadLimits = Readonly<typeof defaultReadLimits>;

/** The limit that stops a read: a limit of the call itself, or the total of all calls. */
export type ReachedLimit = 'call' | 'others';

/** The share of one call in the memory limit. A call disposes of its share when it ends. */
export interface ReadShare extends Disposable, ByteLimit {
  readonly limits: ReadLimits;
  /** Reserves memory before a page is requested. Resolves with false if there is none in time. */
  enter(): Promise<boolean>;
  /** Gives back the unused part of the reservation after a page. The received bytes still count. */
  leave(): void;
  /** The limit that was reached, so that a part of a body was not admitted. Undefined if no limit was reached. */
  readonly exceeded: ReachedLimit | undefined;
}

/** The memory limit that all reads of a process share. */
export interface ReadMemoryLimit {
  /** Returns the share of a call. `signal` is the signal of the call, and ends the wait for a reservation. */
  share(signal: AbortSignal): ReadShare;
}

export function createReadMemoryLimit(limits: ReadLimits = defaultReadLimits): ReadMemoryLimit {
  const memory = new SharedMemory(limits);
  const takeTurn = createTurns();
  return { share: (signal) => new CallShare(memory, limits, takeTurn, signal) };
}

interface Wait {
  /** Reserves a page and lets the call proceed. */
  readonly proceed: () => void;
  /** Lets the call end with the pages that it has. */
  readonly giveUp: () => void;
}

/** Lets calls wait for room in the memory that they share. */
class SharedMemory {
  readonly #limits: ReadLimits;
  /** The calls that hold bytes. The oldest comes first. */
  readonly #holders = new Set<CallShare>();
  /** The calls that wait for room. The longest wait comes first. */
  readonly #waiting = new Map<CallShare, Wait>();

  constructor(limits: ReadLimits) {
    this.#limits = limits;
  }

  hasRoomFor(bytes: number): boolean {
    let held = 0;
    for (const holder of this.#holders) held += holder.heldBytes;
    return held + bytes <= this.#limits.bytesOfAll;
  }

  /** Called when a call holds fewer bytes than before. */
  useRoom(): void {
    // Each call that proceeds takes room again, so the check is repeated for the next one.
    for (const { proceed } of this.#waiting.values()) if (this.hasRoomFor(this.#limits.bytesOfPage)) proceed();
    this.#endDeadlock();
  }

  /** Called when a call ends. */
  release(holder: CallShare): void {
    this.#holders.delete(holder);
    this.useRoom();
  }

  /** Reserves the bytes of a page as soon as there is room. Resolves with false after `waitMs`, or if all calls wait for each other. */
  async reservePage(holder: CallShare, signal: AbortSignal): Promise<boolean> {
    const mustWait = this.#waiting.size > 0 || !this.hasRoomFor(this.#limits.bytesOfPage);
    if (mustWait && !signal.aborted) return this.#waitForRoom(holder, signal);
    this.#takePage(holder);
    return true;
  }

  #takePage(holder: CallShare): void {
    this.#holders.add(holder);
    holder.reserve();
  }

  /** Waits for room for a page, and reserves the room. Resolves with false after `waitMs`, or to end a deadlock. `signal` has not aborted yet. */
  #waitForRoom(holder: CallShare, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const endWait = (isReserved: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', proceed);
        this.#waiting.delete(holder);
        resolve(isReserved);
      };
      const proceed = () => {
        this.#takePage(holder);
        endWait(true);
      };
      const giveUp = () => endWait(false);
      const timer = setTimeout(giveUp, this.#limits.waitMs);
      // A cancelled call takes its page even without room. Its next request then fails at once with the right error and gives up its reservation.
      signal.addEventListener('abort', proceed);
      this.#waiting.set(holder, { proceed, giveUp });
      this.#endDeadlock();
    });
  }

  /** Ends the wait of the newest call if all calls that hold bytes wait, because otherwise none would give bytes back. */
  #endDeadlock(): void {
    const newest = [...this.#holders].at(-1);
    if (newest === undefined || ![...this.#holders].every((holder) => this.#waiting.has(holder))) return;
    this.#waiting.get(newest)?.giveUp();
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
  exceeded: ReachedLimit | undefined;

  constructor(memory: SharedMemory, limits: ReadLimits, takeTurn: TakeTurn, signal: AbortSignal) {
    this.limits = limits;
    this.#memory = memory;
    this.#takeTurn = takeTurn;
    this.#signal = signal;
  }

  get heldBytes(): number {
    return this.#received + this.#reserved;
  }

  reserve(): void {
    this.#reserved = this.limits.bytesOfPage;
  }

  async enter(): Promise<boolean> {
    // Before each page but the first, other work of the process gets a turn of the event loop, so that a long read does not hold it up.
    if (this.#received > 0) await this.#takeTurn(() => undefined);
    return this.#memory.reservePage(this, this.#signal);
  }

  leave(): void {
    this.#reserved = 0;
    this.#memory.useRoom();
  }

  /** Counts received bytes, first against the reservation and then against the shared memory. Returns false if a limit is reached. */
  admit(bytes: number): boolean {
    const bytesOfReservation = Math.min(bytes, this.#reserved);
    const furtherBytes = bytes - bytesOfReservation;
    if (this.#received + bytes > this.limits.bytes) this.exceeded = 'call';
    else if (!this.#memory.hasRoomFor(furtherBytes)) this.exceeded = 'others';
    if (this.exceeded !== undefined) return false;

    this.#reserved -= bytesOfReservation;
    this.#received += bytes;
    return true;
  }

  [Symbol.dispose](): void {
    this.#memory.release(this);
  }
}
