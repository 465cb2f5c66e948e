import * as z from 'zod';

/** The form in which answers show lists that would be too long for a model to read. */

/** Numbers of entries that are left out, by the name of the list. */
export const notShown = () => z.record(z.string(), z.int()).optional();

/** `{ notShown }` with the lists of which entries are left out, or `{}` if all are shown. */
export function countNotShown(leftOut: Readonly<Record<string, number>>) {
  const counts = Object.entries(leftOut).filter(([, count]) => count > 0);
  return counts.length === 0 ? {} : { notShown: Object.fromEntries(counts) };
}

/** As many of the first entries as fit into so many characters of JSON, but at least one. */
export function firstThatFit<Entry>(entries: readonly Entry[], maximumCharacters: number): Entry[] {
  let length = 0;
  const tooMany = entries.findIndex((entry) => {
    length += JSON.stringify(entry).length + 1;
    return length > maximumCharacters;
  });
  return entries.slice(0, tooMany < 0 ? entries.length : Math.max(1, tooMany));
}
