import type { ByteLimit } from '../transport/http-client.js';
import { createTurns, type TakeTurn } from '../util/turns.js';

const mebibyte = 1024 * 1024;

export const defaultReadLimits = {
  /** Pages, entries, bytes and values that one call reads at most. No person waits for more, and no model needs more. */
  pages: 100,
  entries: 20_000,
  bytes: 16 * mebibyte,
  values: 400_000,
  /** Bytes and values of all concurrent calls together. Those of a call count until the call ends, because its record holds them. */
  bytesOfAll: 64 * mebibyte,
  valuesOfAll: 1_000_000,
  /** A call may read this number of bytes whatever the others hold, so that no other call stops a usual one. */
  bytesAlways: mebibyte / 4,
  /** A call that reads more takes room in steps of this number of bytes, so that not all calls stop each other in the middle of a page. */
  bytesOfStep: mebibyte,
};

type ReadLimits = Readonly<typeof defaultReadLimits>;

/** The limit that stops a read: a limit of the call itself, or of all calls together. */
export type ReachedLimit = 'call' | 'others';

/** Counts what one call has read. A call disposes of its count when it ends. */
export interface ReadCount extends Disposable, ByteLimit {
  readonly limits: ReadLimits;
  /** The limit that was reached, so that something was not admitted. Undefined if no limit was reached. */
  readonly exceeded: ReachedLimit | undefined;
  /** Lets large answers of all calls be read one after the other, each in its own turn of the event loop. */
  readonly takeTurn: TakeTurn;
  admit(bytes: number, values?: number): boolean;
}

/** Returns a function that begins the count of a call. */
export function createReadCounts(limits: ReadLimits = defaultReadLimits): () => ReadCount {
  const ofAll: Held = { bytes: 0, values: 0 };
  const takeTurn = createTurns();
  return () => {
    const own: Held = { bytes: 0, values: 0 };
    let room = 0;
    let exceeded: ReachedLimit | undefined;
    return {
      limits,
      takeTurn,
      get exceeded() {
        return exceeded;
      },
      admit(bytes, values = 0) {
        const more: Held = { bytes: own.bytes + bytes, values: own.values + values };
        const moreRoom = roomFor(more, limits);
        const isUsual = more.bytes <= limits.bytesAlways;
        const all: Held = { bytes: ofAll.bytes + moreRoom - room, values: ofAll.values + values };
        if (!isWithin(more, limits.bytes, limits.values)) exceeded = 'call';
        else if (!isUsual && !isWithin(all, limits.bytesOfAll, limits.valuesOfAll)) exceeded = 'others';
        if (exceeded !== undefined) return false;
        Object.assign(own, more);
        Object.assign(ofAll, all);
        room = moreRoom;
        return true;
      },
      [Symbol.dispose]() {
        ofAll.bytes -= room;
        ofAll.values -= own.values;
      },
    };
  };
}

interface Held {
  bytes: number;
  values: number;
}

const isWithin = ({ bytes, values }: Held, mostBytes: number, mostValues: number) =>
  bytes <= mostBytes && values <= mostValues;

/** Returns the bytes that a call counts for among all calls. */
const roomFor = ({ bytes }: Held, { bytesAlways, bytesOfStep }: ReadLimits) =>
  bytes <= bytesAlways ? bytes : Math.ceil(bytes / bytesOfStep) * bytesOfStep;
