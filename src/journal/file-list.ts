import { abandonedMs, mutationsOf } from './conflict.js';
import { boundedCaller, type Entry, type Mutation } from './entry.js';
import { linesFromEnd, readLine } from './file-lines.js';
import { readJournalFile, readRotatedFile, rotatedFiles } from './file-open.js';
import { defaultLimit, type ListOptions } from './journal.js';

/** What is read at most for each change that is wanted, in bytes. */
const listedBytes = 16 * 1024;

/**
 * The newest changes of a journal in a file, oldest first. Reads from the last line backwards, no further than necessary.
 * @throws if the file cannot be read or is not a journal
 */
export async function listNewest(
  path: string,
  { since = 0, limit = defaultLimit, caller }: ListOptions,
): Promise<Mutation[]> {
  const name = boundedCaller(caller);
  const entries: Entry[] = [];
  const ids = new Set<string>();
  for await (const line of linesNewestFirst(path, since, limit * listedBytes)) {
    const entry = readLine(line);
    if (entry === undefined || 'time' in entry) continue;
    if ('intent' in entry) {
      const { intent } = entry;
      if (Date.parse(intent.time) < since - abandonedMs) break;
      if (Date.parse(intent.time) < since || (name !== undefined && intent.caller !== name)) continue;
      ids.add(intent.id);
    }
    entries.push(entry);
    if (ids.size === limit) break;
  }
  return mutationsOf(entries.reverse());
}

/** Of the file and then, if they are asked for, of those that were rotated since a time (milliseconds). */
async function* linesNewestFirst(path: string, since: number, maximumBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const opened of newestFirst(path, since)) {
    await using file = opened;
    if (file !== undefined)
      for await (const line of linesFromEnd(file)) {
        bytes += line.length;
        if (bytes > maximumBytes) return;
        yield line;
      }
  }
}

async function* newestFirst(path: string, since: number) {
  yield readJournalFile(path);
  for (const rotated of (await rotatedFiles(path, since)).reverse()) yield readRotatedFile(rotated);
}
