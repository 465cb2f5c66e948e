type CompanionRecord = Readonly<Record<string, unknown>>;

/** Parts of companion reads that never change, kept for later calls. */
export interface LastingRecords {
  get(key: string): CompanionRecord | undefined;
  keep(key: string, record: CompanionRecord): void;
}

/** The number of records that are kept. The one used least recently is dropped first. */
const maximumRecords = 1000;

export function createLastingRecords(maximum = maximumRecords): LastingRecords {
  const records = new Map<string, CompanionRecord>();
  const keep = (key: string, record: CompanionRecord) => {
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
