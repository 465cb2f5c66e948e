/**
 * Returns the values of a list that a misspelt value most likely means, at most `count`, in the order of the list. Words count more
 * than numbers. For `h2-large20`, the other sizes of `h2-large` come first, nearest size first.
 */
export function nearest(given: string, values: readonly string[], count = 3): string[] {
  const wanted = given.toLowerCase();
  const best = values
    .map((value) => ({ value, distance: distance(wanted, value.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map(({ value }) => value);
  return values.filter((value) => best.includes(value));
}

/** Returns the value that `given` most likely misspells or begins, if there is exactly one. */
export function didYouMean(given: string, values: readonly string[]): string | undefined {
  const begun = values.filter((value) => given.length > 2 && value.toLowerCase().startsWith(given.toLowerCase()));
  if (begun.length === 1) return begun[0];
  const [best] = nearest(given, values, 1);
  if (best === undefined) return undefined;
  const tolerance = Math.max(2, Math.floor(Math.min(given.length, best.length) / 3));
  return edits(given.toLowerCase(), best.toLowerCase()) <= tolerance ? best : undefined;
}

const split = (text: string) => ({
  words: text.replace(/\d+$/, ''),
  size: Number(/\d+$/.exec(text)?.[0] ?? Number.NaN),
});

function distance(given: string, value: string): number {
  const a = split(given);
  const b = split(value);
  const bothSized = !Number.isNaN(a.size) && !Number.isNaN(b.size);
  const sizes = bothSized ? Math.abs(Math.log2((a.size + 1) / (b.size + 1))) : 6;
  return edits(a.words, b.words) * 8 + Math.min(sizes, 7);
}

/**
 * Levenshtein distance in which a missing letter counts half, because people abbreviate. Long input is cut, because it is near to none
 * of our names.
 */
function edits(a: string, b: string): number {
  const left = a.slice(0, 64);
  let row = Array.from({ length: b.length + 1 }, (_, index) => index / 2);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (left[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 0.5));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
