import { boundedCaller } from './bounds.js';
import { abandonedMs } from './conflict.js';
import { linesFromEnd, readLine } from './file-lines.js';
import { type OpenFile, readJournalFile, readRotatedFile, rotatedFiles } from './file-open.js';
import { defaultLimit, type Ending, type ListOptions, type Mutation } from './journal.js';

/** What is read at most for each change that is wanted, in bytes. */
const listedBytes = 16 * 1024;

/**
 * The newest changes of a journal in a file, oldest first. Reads from the last line backwards, no further than is necessary.
 * @throws if the file cannot be read or is not a journal
 */
export async function listNewest(
  path: string,
  { since = 0, limit = defaultLimit, caller }: ListOptions,
): Promise<Mutation[]> {
  const name = boundedCaller(caller);
  const endings = new Map<string, Ending>();
  const mutations = new Map<string, Mutation>();
  for await (const line of linesNewestFirst(path, since, limit * listedBytes)) {
    const entry = readLine(line);
    if (entry === undefined || 'time' in entry) continue;
    if ('ending' in entry) {
      const { id } = entry.ending;
      // What is known is not made unknown by a process that took another to be gone.
      if ((endings.get(id)?.outcome ?? 'unknown') === 'unknown') endings.set(id, entry.ending);
      continue;
    }
    const { intent } = entry;
    if (Date.parse(intent.time) < since - abandonedMs) break;
    if (Date.parse(intent.time) < since || (name !== undefined && intent.caller !== name)) continue;
    mutations.set(intent.id, { ...intent, ending: endings.get(intent.id) });
    if (mutations.size === limit) break;
  }
  return [...mutations.values()].reverse();
}

/** Of the file and then, if they are asked for, of those that were rotated since a time (milliseconds). */
async function* linesNewestFirst(path: string, since: number, maximumBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const opened of newestFirst(path, since))
    for await (const line of linesFromEnd(opened.file, opened.size)) {
      bytes += line.length;
      if (bytes > maximumBytes) return;
      yield line;
    }
}

async function* newestFirst(path: string, since: number): AsyncGenerator<OpenFile> {
  const current = await readJournalFile(path);
  if (current !== undefined) yield* closedAfter(current);
  for (const rotated of (await rotatedFiles(path, since)).reverse()) {
    const opened = await readRotatedFile(rotated);
    if (opened !== undefined) yield* closedAfter(opened);
  }
}

async function* closedAfter(opened: OpenFile): AsyncGenerator<OpenFile> {
  try {
    yield opened;
  } finally {
    await opened.file.close();
  }
}
