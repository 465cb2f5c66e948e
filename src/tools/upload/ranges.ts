/** Part numbers from one to another, both included. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Sorted numbers as ranges. */
export const rangesOf = (numbers: readonly number[]): Range[] =>
  joined(numbers.map((number) => ({ from: number, to: number })));

/** Sorted ranges, with one for all that touch or overlap. */
export function joined(ranges: readonly Range[]): Range[] {
  const found: { from: number; to: number }[] = [];
  for (const { from, to } of ranges) {
    const last = found.at(-1);
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to);
    else found.push({ from, to });
  }
  return found;
}

/** Ranges of numbers between `from` and `to` that sorted ranges do not hold. */
export function gapsBetween(ranges: readonly Range[], from: number, to: number): Range[] {
  const gaps: Range[] = [];
  let next = from;
  for (const range of ranges) {
    if (range.from > next) gaps.push({ from: next, to: Math.min(to, range.from - 1) });
    next = Math.max(next, range.to + 1);
  }
  if (next <= to) gaps.push({ from: next, to });
  return gaps.filter((gap) => gap.from <= gap.to);
}

/** The count of numbers in ranges. */
export const countOf = (ranges: readonly Range[]): number =>
  ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
