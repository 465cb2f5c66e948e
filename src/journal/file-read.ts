import { changesOf } from './conflict.js';
import type { Entry, RecordedChange } from './entry.js';
import { linesFromEnd } from './file-lines.js';
import { openJournalFile, openRotatedFile, rotatedFiles } from './file-open.js';
import { FileTail } from './file-tail.js';
import { defaultLimit, isOfAnother, type ListChangesOptions, type ReadOptions } from './journal.js';
import { readEntry } from './line.js';

/** The most bytes to read per listed change. */
const listedBytes = 16 * 1024;

/**
 * Returns the newest changes of a journal in a file, oldest first. Reads from the last line backwards until it has `limit` changes, or has
 * read `limit` times `listedBytes`.
 * @throws if the file cannot be read or is not a journal
 */
export async function listNewest(
  path: string,
  { limit = defaultLimit, caller }: ListChangesOptions,
): Promise<RecordedChange[]> {
  const entries: Entry[] = [];
  const ids = new Set<string>();

  for await (const entry of entriesNewestFirst(path, limit * listedBytes)) {
    // Backwards, an ending comes before its intent. Endings without a listed intent are dropped at the end.
    if ('ending' in entry) {
      entries.push(entry);
      continue;
    }

    if (isOfAnother(entry.intent, caller)) continue;
    entries.push(entry);
    ids.add(entry.intent.id);
    if (ids.size === limit) break;
  }
  return changesOf(entries.reverse());
}

/** The entries of the file, then of the rotated files. Skips lines that this version does not understand. */
async function* entriesNewestFirst(path: string, maximumBytes: number): AsyncGenerator<Entry> {
  let bytes = 0;
  for await (const opened of filesNewestFirst(path)) {
    await using file = opened;
    if (file === undefined) continue;
    for await (const line of linesFromEnd(file)) {
      bytes += Buffer.byteLength(line);
      if (bytes > maximumBytes) return;
      const entry = readEntry(line);
      if (entry !== undefined) yield entry;
    }
  }
}

async function* filesNewestFirst(path: string) {
  yield openJournalFile(path);
  for (const rotated of (await rotatedFiles(path)).reverse()) yield openRotatedFile(rotated);
}

/**
 * Streams all changes of a journal in a file, as `Journal.read` describes: each change when its outcome is read, a change with the outcome
 * `unknown` again when a known outcome follows, and unfinished changes last, when `follow` has ended the stream. A change with a known outcome
 * is forgotten here. Its intent does not come again, because `distinctEntries` skips repeated intents.
 * @throws if a file cannot be read or is not a journal
 */
export async function* readChanges(
  path: string,
  { since = 0, until = Number.POSITIVE_INFINITY, follow }: ReadOptions,
): AsyncGenerator<RecordedChange> {
  /** By ID: changes without an outcome, and changes that were yielded with the outcome `unknown`, which a known outcome may follow. */
  const withoutKnownOutcome = new Map<string, RecordedChange>();

  for await (const entry of distinctEntries(path, since, follow)) {
    if ('intent' in entry) {
      const time = Date.parse(entry.intent.time);
      if (time >= since && time < until) withoutKnownOutcome.set(entry.intent.id, entry.intent);
      continue;
    }

    const { ending } = entry;
    const change = withoutKnownOutcome.get(ending.id);
    const isUnknown = ending.outcome === 'unknown';
    // Skips the ending of a change that did not begin between `since` and `until` or whose outcome was yielded before, and a second
    // `unknown`.
    if (change === undefined || (isUnknown && change.ending !== undefined)) continue;

    const ended = { ...change, ending };
    if (isUnknown) withoutKnownOutcome.set(ending.id, ended);
    else withoutKnownOutcome.delete(ending.id);
    yield ended;
  }
  yield* [...withoutKnownOutcome.values()].filter(({ ending }) => ending === undefined);
}

/** The entries of a journal, oldest first. With `follow`, yields each intent once, although all entries come again if the file is replaced. */
function distinctEntries(path: string, since: number, follow: ReadOptions['follow']): AsyncGenerator<Entry> {
  const entries = entriesOldestFirst(path, since, follow);
  return follow === undefined ? entries : withoutRepeatedIntents(entries);
}

async function* withoutRepeatedIntents(entries: AsyncIterable<Entry>): AsyncGenerator<Entry> {
  const ids = new Set<string>();
  for await (const entry of entries) {
    const isRepeated = 'intent' in entry && ids.has(entry.intent.id);
    if ('intent' in entry) ids.add(entry.intent.id);
    if (!isRepeated) yield entry;
  }
}

/**
 * Yields the entries of the files that were rotated after `since` (milliseconds) and of the current file, and after each `follow` the new
 * entries, until `follow` resolves with false. If the file was replaced meanwhile, all entries come again. Skips lines that this version
 * does not understand.
 */
async function* entriesOldestFirst(path: string, since: number, follow: ReadOptions['follow']): AsyncGenerator<Entry> {
  const tail = new FileTail(path);
  do {
    for await (const lines of tail.read(since))
      for (const line of lines) {
        const entry = readEntry(line);
        if (entry !== undefined) yield entry;
      }
    // Ends after one read if there is no `follow`.
  } while (await follow?.());
}
