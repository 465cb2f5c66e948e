import type { ByteLimit } from '../transport/http-client.js';
import { createTurns, type TakeTurn } from '../util/queue.js';

const mebibyte = 1024 * 1024;

export const defaultReadLimits = {
  /** Limits of one call. No person waits for more, and no model needs more. */
  pages: 100,
  entries: 20_000,
  bytes: 16 * mebibyte,
  values: 400_000,
  /** Limits of one call that makes several reads: how many, how many at a time, and milliseconds. */
  reads: 3000,
  readsAtATime: 8,
  milliseconds: 45_000,
  /** Limits of all concurrent calls together. */
  bytesOfAll: 64 * mebibyte,
  valuesOfAll: 1_000_000,
  /** Every call may read this, so that no other call stops a usual one. */
  bytesAlways: mebibyte / 4,
  /** Step in which larger calls take room, so that they do not stop each other within a page. */
  bytesOfStep: mebibyte,
};

type ReadLimits = Readonly<typeof defaultReadLimits>;

/** The limit that stops a read: of the call itself, or of all calls. */
export type ReachedLimit = 'call' | 'others';

export interface ReadCount extends Disposable, ByteLimit {
  readonly limits: ReadLimits;
  readonly exceeded: ReachedLimit | undefined;
  /** Lets large answers be read one after the other. */
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

const roomFor = ({ bytes }: Held, { bytesAlways, bytesOfStep }: ReadLimits) =>
  bytes <= bytesAlways ? bytes : Math.ceil(bytes / bytesOfStep) * bytesOfStep;
