/** A part that the object storage has received. */
export interface UploadPart {
  readonly partNumber: number;
  /** Size in bytes; NaN if the service gave no readable size. */
  readonly size: number;
  /** Milliseconds since 1970; NaN if the service gave no readable time. */
  readonly uploadedAt: number;
  readonly etag?: string | undefined;
}

/** If a part other than the last is smaller, S3-compatible services refuse to complete the upload (not in the API reference). */
export const minimumPartSize = 5 * 1024 * 1024;

/** Sum of the sizes of parts (bytes); NaN if a size is unknown. */
export const bytesOf = (parts: readonly UploadPart[]) => parts.reduce((sum, { size }) => sum + size, 0);

/** Part numbers from one to another, both included. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The ranges that sorted numbers form: 1, 2, 3 and 7 are the ranges 1 to 3 and 7 to 7. */
export const rangesOf = (numbers: readonly number[]): Range[] =>
  joinRanges(numbers.map((number) => ({ from: number, to: number })));

/** Joins sorted ranges that touch or overlap: 1 to 3 and 4 to 6 become 1 to 6. */
export function joinRanges(ranges: readonly Range[]): Range[] {
  const result: { from: number; to: number }[] = [];
  for (const { from, to } of ranges) {
    const last = result.at(-1);
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to);
    else result.push({ from, to });
  }
  return result;
}

/** The ranges of numbers between `from` and `to` that are in none of the sorted `ranges`, of which none goes beyond `to`. */
export function gapsBetween(ranges: readonly Range[], from: number, to: number): Range[] {
  const gaps: Range[] = [];
  let next = from;
  for (const range of ranges) {
    if (range.from > next) gaps.push({ from: next, to: range.from - 1 });
    next = Math.max(next, range.to + 1);
  }
  if (next <= to) gaps.push({ from: next, to });
  return gaps;
}

/** The total count of numbers in ranges that do not overlap. */
export const countOf = (ranges: readonly Range[]): number =>
  ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
