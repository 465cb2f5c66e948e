/** Returns the median; NaN if there are no values. */
export function median(values: readonly number[]): number {
  // A Float64Array sorts numbers by value, and much faster than an array with a comparison function.
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length / 2;
  // The average of the two middle values, which are the same value if the number of values is odd.
  return ((sorted[Math.ceil(half) - 1] ?? Number.NaN) + (sorted[Math.floor(half)] ?? Number.NaN)) / 2;
}

/** Returns the sum of the distances between `middle` and each of the values. */
export const distanceFrom = (middle: number, values: readonly number[]): number =>
  values.reduce((sum, value) => sum + Math.abs(value - middle), 0);
