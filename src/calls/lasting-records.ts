/** The part of a companion read's record that never changes, and the value that shows that a later call is about the same thing. */
interface LastingRecord {
  readonly part: Readonly<Record<string, unknown>>;
  readonly witness: string | undefined;
}

/** Lasting parts of companion reads, kept for later calls. */
export interface LastingRecords {
  get(key: string): LastingRecord | undefined;
  keep(key: string, record: LastingRecord): void;
}

/** The number of records that are kept. The one used least recently is dropped first. */
const maximumRecords = 1000;

export function createLastingRecords(maximum = maximumRecords): LastingRecords {
  const records = new Map<string, LastingRecord>();
  const keep = (key: string, record: LastingRecord) => {
    records.delete(key);
    records.set(key, record);
    const [oldest] = records.keys();
    if (records.size > maximum && oldest !== undefined) records.delete(oldest);
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
