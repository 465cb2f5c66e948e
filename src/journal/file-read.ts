import { abandonedMs, changesOf } from './conflict.js';
import type { Entry, RecordedChange } from './entry.js';
import { linesFromEnd } from './file-lines.js';
import { readJournalFile, readRotatedFile, rotatedFiles } from './file-open.js';
import { FileTail } from './file-tail.js';
import { defaultLimit, isOfAnother, type ListChangesOptions, type ReadOptions } from './journal.js';
import { readEntry } from './line.js';

/** The most bytes to read per listed change. */
const listedBytes = 16 * 1024;

/**
 * The newest changes of a journal in a file, oldest first. Reads backwards from the last line, and stops when it has enough.
 * @throws if the file cannot be read or is not a journal
 */
export async function listNewest(
  path: string,
  { since = 0, limit = defaultLimit, caller }: ListChangesOptions,
): Promise<RecordedChange[]> {
  const entries: Entry[] = [];
  const ids = new Set<string>();
  for await (const entry of entriesNewestFirst(path, since, limit * listedBytes)) {
    if ('intent' in entry) {
      const time = Date.parse(entry.intent.time);
      if (time < since - abandonedMs) break;
      if (time < since || isOfAnother(entry.intent, caller)) continue;
      ids.add(entry.intent.id);
    }
    entries.push(entry);
    if (ids.size === limit) break;
  }
  return changesOf(entries.reverse());
}

/** The entries of the file, and then of the files that were rotated since a time (milliseconds). Skips lines that are not understood. */
async function* entriesNewestFirst(path: string, since: number, maximumBytes: number): AsyncGenerator<Entry> {
  let bytes = 0;
  for await (const opened of newestFirst(path, since)) {
    await using file = opened;
    if (file !== undefined)
      for await (const line of linesFromEnd(file)) {
        bytes += Buffer.byteLength(line);
        if (bytes > maximumBytes) return;
        const entry = readEntry(line);
        if (entry !== undefined) yield entry;
      }
  }
}

async function* newestFirst(path: string, since: number) {
  yield readJournalFile(path);
  for (const rotated of (await rotatedFiles(path, since)).reverse()) yield readRotatedFile(rotated);
}

/**
 * Reads all of a journal in a file, as `Journal.read` describes. Memory holds only changes that are unfinished or unknown.
 * @throws if a file cannot be read or is not a journal
 */
export async function* readChanges(path: string, { since = 0, until, follow }: ReadOptions) {
  const tail = new FileTail(path);
  const open = new Map<string, RecordedChange>();
  /** Changes whose outcome is unknown. A known outcome may follow. */
  const unknown = new Map<string, RecordedChange>();
  const isWanted = ({ time }: RecordedChange) =>
    Date.parse(time) >= since && (until === undefined || Date.parse(time) < until);
  const endedBy = (entry: Entry): RecordedChange | undefined => {
    if ('intent' in entry) {
      if (isWanted(entry.intent)) open.set(entry.intent.id, entry.intent);
      return undefined;
    }
    const { ending } = entry;
    const change = open.get(ending.id) ?? (ending.outcome === 'unknown' ? undefined : unknown.get(ending.id));
    if (change === undefined) return undefined;
    open.delete(ending.id);
    const ended = { ...change, ending };
    keepUnknown(unknown, ended);
    return ended;
  };
  do {
    for await (const lines of tail.read(since, () => undefined))
      for (const line of lines) {
        const entry = readEntry(line);
        const ended = entry && endedBy(entry);
        if (ended !== undefined) yield ended;
      }
  } while (await follow?.());
  yield* open.values();
}

function keepUnknown(unknown: Map<string, RecordedChange>, change: RecordedChange): void {
  if (change.ending?.outcome === 'unknown') unknown.set(change.id, change);
  else unknown.delete(change.id);
}
