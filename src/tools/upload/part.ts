export interface UploadPart {
  readonly partNumber: number;
  /** Bytes; NaN if not readable. */
  readonly size: number;
  /** Milliseconds since 1970; NaN if not readable. */
  readonly uploadedAt: number;
  readonly etag?: string | undefined;
}

/** S3-compatible services refuse smaller parts, except the last (not in the API reference). */
export const minimumPartSize = 5 * 1024 * 1024;

/** Sum of the sizes (bytes); NaN if a size is unknown. */
export const bytesOf = (parts: readonly UploadPart[]) => parts.reduce((sum, { size }) => sum + size, 0);

/** Numbers from one to another, both included. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The ranges of sorted numbers: 1, 2, 3 and 7 are 1–3 and 7–7. */
export function rangesOf(numbers: readonly number[]): Range[] {
  const ranges: { from: number; to: number }[] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && number <= last.to + 1) last.to = number;
    else ranges.push({ from: number, to: number });
  }
  return ranges;
}

/** The numbers below the highest that are in none of the ranges. */
export function gapsBelow(ranges: readonly Range[]): Range[] {
  return ranges.flatMap(({ from }, index) => {
    const next = (ranges[index - 1]?.to ?? 0) + 1;
    return from > next ? [{ from: next, to: from - 1 }] : [];
  });
}

export const countOf = (ranges: readonly Range[]): number =>
  ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
