import * as z from 'zod';

/** This file shortens lists that would be too long for a model to read. */

/** Schema of the field `notShown`, which has the number of entries left out of each shortened list. */
export const notShown = () => z.record(z.string(), z.int()).optional();

/** Makes the field `notShown`: `{ notShown: { runs: 3 } }` for `{ runs: 3, toCome: -2 }`. Returns `{}` if no list was shortened. */
export function countNotShown(leftOut: Readonly<Record<string, number>>) {
  // Zero or less means that the list was not shortened.
  const counts = Object.entries(leftOut).filter(([, count]) => count > 0);
  return counts.length === 0 ? {} : { notShown: Object.fromEntries(counts) };
}

/** Returns the first entries that fit into `maximumCharacters` of JSON, but at least one entry. */
export function firstThatFit<Entry>(entries: readonly Entry[], maximumCharacters: number): Entry[] {
  let length = 0;
  const firstThatDoesNotFit = entries.findIndex((entry) => {
    // The comma takes another character.
    length += JSON.stringify(entry).length + 1;
    return length > maximumCharacters;
  });
  return firstThatDoesNotFit < 0 ? [...entries] : entries.slice(0, Math.max(1, firstThatDoesNotFit));
}
