/** What the parts of a multipart upload say about it. Sizes in bytes, times in ISO 8601 UTC, rates in bytes per second. */

export interface Part {
  readonly partNumber: number;
  readonly size: number;
  /** Milliseconds since 1970. NaN if the service gave no readable time. */
  readonly uploadedAt: number;
}

export interface Expectation {
  readonly expectedBytes?: number | undefined;
  readonly expectedParts?: number | undefined;
}

/** Lists longer than this are cut, and what was cut is counted. */
const maximumEntries = 12;

/** Smaller parts, other than the last, make S3-compatible services refuse to complete an upload (not in the reference). */
const minimumPartSize = 5 * 1024 * 1024;

const recentMs = 10 * 60 * 1000;

/** Describes an upload by its parts, in a size that does not depend on their number. */
export function summarise(unsorted: readonly Part[], expectation: Expectation, checkedAt: string | undefined) {
  const parts = [...unsorted].sort((a, b) => a.partNumber - b.partNumber);
  const bytes = total(parts);
  const numbers = parts.map(({ partNumber }) => partNumber);
  const [smallest] = parts.toSorted((a, b) => a.size - b.size);
  const [largest] = parts.toSorted((a, b) => b.size - a.size);
  const speed = speeds(parts);
  const runs = equalRuns(parts);
  const missing = gaps(numbers);
  const beforeLast = parts.slice(0, -1).filter(({ size }) => size < minimumPartSize);
  const tooSmall = consecutive(beforeLast.map(({ partNumber }) => partNumber));
  const duplicates = consecutive(numbers.filter((number, index) => number === numbers[index - 1]));
  return {
    partCount: parts.length,
    totalBytes: bytes,
    runs: runs.slice(0, maximumEntries),
    ...ranges('missing', missing),
    ...ranges('tooSmall', tooSmall),
    ...ranges('duplicates', duplicates),
    ...omitted({ runs, missing, tooSmall, duplicates }),
    ...(smallest && { smallestPart: { partNumber: smallest.partNumber, size: smallest.size } }),
    ...(largest && { largestPart: { partNumber: largest.partNumber, size: largest.size } }),
    ...speed,
    ...(checkedAt !== undefined && { checkedAt }),
    ...progress(parts, bytes, expectation, speed),
  };
}

interface Range {
  readonly from: number;
  readonly to: number;
}

const total = (parts: readonly Part[]) => parts.reduce((sum, { size }) => sum + size, 0);

/** How many entries were cut from which list. */
function omitted(lists: Readonly<Record<string, readonly unknown[]>>) {
  const cut = Object.entries(lists).filter(([, list]) => list.length > maximumEntries);
  return cut.length === 0
    ? {}
    : { notShown: Object.fromEntries(cut.map(([name, list]) => [name, list.length - maximumEntries])) };
}

/** `missingCount` and `missing`, which may be cut. */
const ranges = (name: string, all: readonly Range[]) => ({
  [`${name}Count`]: all.reduce((sum, { from, to }) => sum + to - from + 1, 0),
  [name]: all.slice(0, maximumEntries),
});

/** Consecutive parts of the same size. */
function equalRuns(parts: readonly Part[]) {
  const runs: { from: number; to: number; partSize: number; bytes: number }[] = [];
  for (const { partNumber, size } of parts) {
    const run = runs.at(-1);
    if (run !== undefined && run.to + 1 === partNumber && run.partSize === size) {
      run.to = partNumber;
      run.bytes += size;
    } else runs.push({ from: partNumber, to: partNumber, partSize: size, bytes: size });
  }
  return runs;
}

function consecutive(numbers: readonly number[]): Range[] {
  const found: { from: number; to: number }[] = [];
  for (const number of numbers) {
    const range = found.at(-1);
    if (range !== undefined && number <= range.to + 1) range.to = number;
    else found.push({ from: number, to: number });
  }
  return found;
}

/** Part numbers below the highest that are not there. Numbering starts at 1. */
const gaps = (numbers: readonly number[]): Range[] =>
  numbers.flatMap((number, index) => {
    const expected = (numbers[index - 1] ?? 0) + 1;
    return number > expected ? [{ from: expected, to: number - 1 }] : [];
  });

interface Speeds {
  readonly firstUploadedAt?: string;
  readonly lastUploadedAt?: string;
  readonly bytesPerSecond?: number;
  readonly recentBytesPerSecond?: number;
}

/** The first part's bytes came before its time, so they do not count towards a rate. */
function speeds(parts: readonly Part[]): Speeds {
  const times = parts.map(({ uploadedAt }) => uploadedAt).filter((time) => !Number.isNaN(time));
  if (times.length === 0) return {};
  const first = times.reduce((a, b) => Math.min(a, b));
  const last = times.reduce((a, b) => Math.max(a, b));
  const since = (start: number) =>
    last > start
      ? Math.round(total(parts.filter(({ uploadedAt }) => uploadedAt > start)) / ((last - start) / 1000))
      : undefined;
  const bytesPerSecond = since(first);
  const recentBytesPerSecond = since(Math.max(first, last - recentMs));
  return {
    firstUploadedAt: new Date(first).toISOString(),
    lastUploadedAt: new Date(last).toISOString(),
    ...(bytesPerSecond !== undefined && { bytesPerSecond }),
    ...(recentBytesPerSecond !== undefined && { recentBytesPerSecond }),
  };
}

/** How far the upload is, measured against what was said to be expected. */
function progress(parts: readonly Part[], bytes: number, { expectedBytes, expectedParts }: Expectation, speed: Speeds) {
  if (expectedBytes === undefined && expectedParts === undefined) return {};
  const [done, expected] = expectedBytes === undefined ? [parts.length, expectedParts ?? 0] : [bytes, expectedBytes];
  const remainingParts = expectedParts === undefined ? undefined : Math.max(0, expectedParts - parts.length);
  // Without an expected size, parts to come are taken to be as large as those that are there.
  const remainingBytes =
    expectedBytes === undefined
      ? Math.round((remainingParts ?? 0) * (parts.length === 0 ? 0 : bytes / parts.length))
      : Math.max(0, expectedBytes - bytes);
  const rate = speed.recentBytesPerSecond ?? speed.bytesPerSecond;
  return {
    percent: expected === 0 ? 100 : Math.floor((done / expected) * 1000) / 10,
    ...(expectedBytes !== undefined && { remainingBytes }),
    ...(remainingParts !== undefined && { remainingParts }),
    ...(rate !== undefined && rate > 0 && { estimatedSecondsLeft: Math.ceil(remainingBytes / rate) }),
  };
}
