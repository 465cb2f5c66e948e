import { quoteName } from './quote.js';

/** Keeps the order of the list. Another number at the end is nearer than other words. */
export function nearest(misspelt: string, values: readonly string[], count = 3): string[] {
  const byDistance = values
    .map((value) => ({ value, distance: distance(misspelt.toLowerCase(), value.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const best = byDistance.slice(0, count).map(({ value }) => value);
  return values.filter((value) => best.includes(value));
}

/** Returns the only completion, or else the most similar value. */
export function didYouMean(text: string, values: readonly string[]): string | undefined {
  const lowerCase = text.toLowerCase();
  const completions = text.length > 2 ? values.filter((value) => value.toLowerCase().startsWith(lowerCase)) : [];
  if (completions.length === 1) return completions[0];
  const [best] = nearest(text, values, 1);
  if (best === undefined) return undefined;
  const tolerance = Math.max(2, Math.floor(Math.min(text.length, best.length) / 3));
  return edits(lowerCase, best.toLowerCase()) <= tolerance ? best : undefined;
}

const splitNumber = (text: string) => ({
  words: text.replace(/\d+$/, ''),
  number: Number(/\d+$/.exec(text)?.[0] ?? Number.NaN),
});

function distance(text: string, value: string): number {
  const a = splitNumber(text);
  const b = splitNumber(value);
  const haveNumbers = !Number.isNaN(a.number) && !Number.isNaN(b.number);
  const numberDistance = haveNumbers ? Math.abs(Math.log2((a.number + 1) / (b.number + 1))) : 6;
  return edits(a.words, b.words) * 8 + Math.min(numberDistance, 7);
}

/** Levenshtein distance. A letter that `a` lacks counts half, because people abbreviate. */
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

/** @param kind completes "is not", such as `a field` */
export const unknownName = (name: string, kind: string, known: readonly string[]): string =>
  `${quoteName(name)} is not ${kind}${nearestHint(name, known)}`;

export function nearestHint(name: string, known: readonly string[]): string {
  const similar = didYouMean(name, known);
  return similar === undefined ? '' : `; did you mean ${quoteName(similar)}?`;
}
