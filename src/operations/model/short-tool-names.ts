import { nameInWords } from '../../util/field-names.js';

/**
 * Maximum length of a tool's name (characters). Hosts such as Claude Code put `mcp__cloudops__` before it, and models take names of at most
 * 64 characters.
 */
const longestToolName = 49;
const longestPrefix = 16;

/** Returns a prefix for tools: the name of the service, with shortened words if it is long. */
export const prefixOf = (serviceName: string): string => shortened(serviceName.split('-'), longestPrefix);

/** Returns the words of an operation's name in lower case. */
export const wordsOf = (operation: string): readonly string[] => nameInWords(operation).toLowerCase().split(/\W+/);

/** Returns tool names for the operations whose names are too long with the prefix. Each is unique among all tools of these operations. */
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

/** Joins words, and takes letters from the end of the longest words until the text has at most `limit` characters. */
function shortened(words: readonly string[], limit: number): string {
  const pieces = [...words];
  while (pieces.join('_').length > limit) {
    const longest = Math.max(...pieces.map(({ length }) => length));
    const index = pieces.findLastIndex(({ length }) => length === longest);
    pieces[index] = pieces[index]?.slice(0, -1) ?? '';
  }
  return pieces.join('_');
}
