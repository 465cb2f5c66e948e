import { nameInWords } from '../util/field-names.js';

/** Characters. Models take names of at most 64, and hosts add a prefix. */
const longestToolName = 49;
const longestPrefix = 16;

export const prefixOf = (serviceName: string): string => shortened(serviceName.split('-'), longestPrefix);

export const wordsOf = (operation: string): readonly string[] => nameInWords(operation).toLowerCase().split(/\W+/);

export function shortToolNames(prefix: string, operations: readonly string[]): ReadonlyMap<string, string> {
  const wordsByName = new Map(operations.map((operation) => [operation, [prefix, ...wordsOf(operation)]]));
  const isLong = (words: readonly string[]) => words.join('_').length > longestToolName;
  const taken = new Set([...wordsByName.values()].filter((words) => !isLong(words)).map((words) => words.join('_')));
  const shortNames = new Map<string, string>();
  for (const [operation, words] of wordsByName) {
    if (!isLong(words)) continue;
    let name = shortened(words, longestToolName);
    for (let number = 2; taken.has(name); number += 1) name = shortened([...words, String(number)], longestToolName);
    taken.add(name);
    shortNames.set(operation, name);
  }
  return shortNames;
}

function shortened(words: readonly string[], limit: number): string {
  let pieces = [...words];
  while (pieces.join('_').length > limit) {
    const longest = Math.max(...pieces.map(({ length }) => length));
    const index = pieces.findLastIndex(({ length }) => length === longest);
    pieces[index] = pieces[index]?.slice(0, -1) ?? '';
    pieces = pieces.filter((piece) => piece !== '');
  }
  return pieces.join('_');
}
