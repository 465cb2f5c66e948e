import { FileTail } from './file-tail.js';
import { readId } from './line.js';

/**
 * Counts the changes of a journal in a file that have an outcome but no intent. They show that the beginning of the file was cut off, or
 * that an older file was moved away.
 * @throws if a file cannot be read or is not a journal
 */
export async function countMissingIntents(path: string): Promise<number> {
  const begun = new Set<string>();
  const missing = new Set<string>();
  for await (const lines of new FileTail(path).read(0))
    for (const text of lines) {
      const line = readId(text);
      if (line?.kind === 'intent') begun.add(line.id);
      else if (line?.kind === 'ending' && !begun.has(line.id)) missing.add(line.id);
    }
  return missing.size;
}
