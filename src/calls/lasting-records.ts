/**
 * The part of a companion read's record that never changes. A companion read adds facts to the answer of the main read. The `witness` comes
 * from the main read, and proves that a later call is about the same thing.
 */
export interface LastingRecord {
  readonly part: Readonly<Record<string, unknown>>;
  readonly witness: string | undefined;
}

/** Lasting parts of companion reads, kept for later calls. */
export interface LastingRecords {
  get(key: string): LastingRecord | undefined;
  keep(key: string, record: LastingRecord): void;
}

const maximumRecords = 1000;

/** Creates a cache of at most `maximum` records. A new record replaces the record that was used least recently. */
export function createLastingRecords(maximum = maximumRecords): LastingRecords {
  /** A map lists its keys in the order of insertion, so the first key was used least recently. */
  const records = new Map<string, LastingRecord>();
  const keep = (key: string, record: LastingRecord) => {
    records.delete(key);
    records.set(key, record);
    const [leastRecentKey] = records.keys();
    if (records.size > maximum && leastRecentKey !== undefined) records.delete(leastRecentKey);
  };
  return {
    keep,
    get(key) {
      const record = records.get(key);
      if (record !== undefined) keep(key, record);
      return record;
    },
  };
}
