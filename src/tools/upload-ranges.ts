import type { Part } from './upload-pace.js';

/** Part numbers from one to another, both included. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Consecutive parts of one size in bytes. */
export interface Run extends Range {
  readonly partSize: number;
  readonly bytes: number;
}

/** Parts, sorted by number, as runs of equal size. */
export function equalRuns(parts: readonly Part[]): Run[] {
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

/** Sorted numbers as ranges. */
export function consecutive(numbers: readonly number[]): Range[] {
  const found: { from: number; to: number }[] = [];
  for (const number of numbers) {
    const range = found.at(-1);
    if (range !== undefined && number <= range.to + 1) range.to = number;
    else found.push({ from: number, to: number });
  }
  return found;
}

/** Part numbers below the highest that are not there. Numbering starts at 1. */
export const gaps = (numbers: readonly number[]): Range[] =>
  numbers.flatMap((number, index) => {
    const expected = (numbers[index - 1] ?? 0) + 1;
    return number > expected ? [{ from: expected, to: number - 1 }] : [];
  });

/** How many numbers ranges hold. */
export const countOf = (ranges: readonly Range[]): number =>
  ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
