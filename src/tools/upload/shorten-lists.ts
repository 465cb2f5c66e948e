import * as z from 'zod';

/** Shortens lists that would be too long for a model to read. */

/** Number of omitted entries by list name. */
export const notShown = () => z.record(z.string(), z.int()).optional();

/** Returns `{ notShown }` with the lists that were shortened, or `{}` if no list was. */
export function countNotShown(leftOut: Readonly<Record<string, number>>) {
  const counts = Object.entries(leftOut).filter(([, count]) => count > 0);
  return counts.length === 0 ? {} : { notShown: Object.fromEntries(counts) };
}

/** Returns the first entries that fit into `maximumCharacters` of JSON, but at least one entry. */
export function firstThatFit<Entry>(entries: readonly Entry[], maximumCharacters: number): Entry[] {
  let length = 0;
  const tooMany = entries.findIndex((entry) => {
    length += JSON.stringify(entry).length + 1;
    return length > maximumCharacters;
  });
  return entries.slice(0, tooMany < 0 ? entries.length : Math.max(1, tooMany));
}
