import type { FileHandle } from 'node:fs/promises';
import * as z from 'zod';
import { once, valueAt } from '../util/objects.js';
import { longestWindowMs } from './budget.js';
import { abandonedMs, addEntry, changesOf, type RecordedChanges } from './conflict.js';
import { type Entry, endingSchema, intentSchema, type RecordedChange } from './entry.js';
import { readJournalFile, readRotatedFile, rotatedFiles } from './file-open.js';
import { defaultLimit, isOfAnother, type ListOptions } from './journal.js';

/** The end of what was read of a file. */
interface Position {
  readonly dev: number;
  readonly ino: number;
  readonly offset: number;
  /** The last bytes before the offset: a file that was emptied or made anew may have grown beyond it since. */
  readonly last: Buffer;
}

const comparedBytes = 256;

/**
 * Follows a journal in a file, which others write to as well. The function that it makes reads what was appended since the last
 * time, and resolves with the changes of the last day, which is the longest window of a budget, and those without an
 * outcome, in the order in which their intents were written. It throws if the file cannot be read, is not a journal, or has a recent intent that is not understood.
 */
export function createTail(path: string, now: () => Date) {
  let position: Position | undefined;
  let changes: RecordedChanges = new Map();
  let notUnderstood: number[] = [];
  let turn: Promise<unknown> = Promise.resolve();

  const add = async (file: FileHandle, from: number): Promise<void> => {
    const { dev, ino } = await file.stat();
    for await (const { line, end } of linesAfter(file, from)) {
      position = { dev, ino, offset: end, last: line.subarray(-comparedBytes) };
      const entry = readLine(line);
      if (entry === undefined) continue;
      if ('time' in entry) notUnderstood.push(entry.time);
      else addEntry(changes, entry);
    }
  };
  const startAnew = async (since: number): Promise<void> => {
    changes = new Map();
    notUnderstood = [];
    for (const rotated of await rotatedFiles(path, since)) {
      await using file = await readRotatedFile(rotated);
      if (file !== undefined) await add(file, 0);
    }
    position = undefined;
  };
  /** Forgets what ended before a time (milliseconds). */
  const forget = (since: number): void => {
    for (const [id, { time, ending }] of changes)
      if (ending !== undefined && Date.parse(time) < since && Date.parse(ending.time) < since) changes.delete(id);
    notUnderstood = notUnderstood.filter((time) => time >= now().getTime() - abandonedMs);
  };
  const refresh = async (): Promise<readonly RecordedChange[]> => {
    const since = now().getTime() - longestWindowMs;
    await using current = await readJournalFile(path);
    try {
      if (current === undefined || position === undefined || !(await hasGrown(position, current)))
        await startAnew(since);
      if (current !== undefined) await add(current, position?.offset ?? 0);
    } catch (error) {
      position = undefined;
      throw error;
    }
    forget(since);
    if (notUnderstood.length > 0) throw new Error('it has a recent entry that this version does not understand');
    return [...changes.values()];
  };
  return (): Promise<readonly RecordedChange[]> => {
    const result = turn.then(refresh);
    turn = result.catch(() => undefined);
    return result;
  };
}

/** True if a file is the one that was read before, and only grew. */
async function hasGrown({ dev, ino, offset, last }: Position, file: FileHandle): Promise<boolean> {
  const stats = await file.stat();
  if (stats.dev !== dev || stats.ino !== ino) return false;
  const length = last.length;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length + 1), 0, length + 1, offset - length - 1);
  return bytesRead === length + 1 && buffer.subarray(0, length).equals(last) && buffer[length] === 0x0a;
}

/** Bytes to read at most for each change of the list. */
const listedBytes = 16 * 1024;

/**
 * The newest changes of a journal in a file, oldest first. Reads from the last line backwards, no further than necessary.
 * @throws if the file cannot be read or is not a journal
 */
export async function listNewest(
  path: string,
  { since = 0, limit = defaultLimit, caller }: ListOptions,
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

/** Entries of the file, then of those that were rotated since a time (milliseconds), without those that are not understood. */
async function* entriesNewestFirst(path: string, since: number, maximumBytes: number): AsyncGenerator<Entry> {
  let bytes = 0;
  for await (const opened of newestFirst(path, since)) {
    await using file = opened;
    if (file !== undefined)
      for await (const line of linesFromEnd(file)) {
        bytes += line.length;
        if (bytes > maximumBytes) return;
        const entry = readLine(line);
        if (entry !== undefined && !('time' in entry)) yield entry;
      }
  }
}

async function* newestFirst(path: string, since: number) {
  yield readJournalFile(path);
  for (const rotated of (await rotatedFiles(path, since)).reverse()) yield readRotatedFile(rotated);
}

/** Bytes to read at once. Other work gets its turn between two reads. */
const chunkBytes = 64 * 1024;
const newline = 0x0a;

/** The complete lines of a file after an offset, each with the offset of its end. */
async function* linesAfter(file: FileHandle, offset: number): AsyncGenerator<{ line: Buffer; end: number }> {
  let pieces: Buffer[] = [];
  for (let position = offset; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(chunkBytes), 0, chunkBytes, position);
    if (bytesRead === 0) return;
    const chunk = buffer.subarray(0, bytesRead);
    let start = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
      const last = chunk.subarray(start, at);
      yield { line: pieces.length === 0 ? last : Buffer.concat([...pieces, last]), end: position + at + 1 };
      pieces = [];
      start = at + 1;
    }
    pieces.push(chunk.subarray(start));
    position += bytesRead;
  }
}

async function* linesFromEnd(file: FileHandle): AsyncGenerator<Buffer> {
  const { size } = await file.stat();
  let pieces: Buffer[] = [];
  for (let position = size; position > 0; ) {
    const length = Math.min(chunkBytes, position);
    position -= length;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
    let end = bytesRead;
    for (let at = lastNewline(buffer, end); at >= 0; at = lastNewline(buffer, end)) {
      yield Buffer.concat([buffer.subarray(at + 1, end), ...pieces]);
      pieces = [];
      end = at;
    }
    pieces.unshift(buffer.subarray(0, end));
  }
  yield Buffer.concat(pieces);
}

const lastNewline = (buffer: Buffer, end: number) => (end === 0 ? -1 : buffer.lastIndexOf(newline, end - 1));

/** An intent that cannot be read, perhaps of a newer version. It may be in conflict with any other. */
interface NotUnderstood {
  /** The time when it was written, in milliseconds; infinite if that cannot be read either. */
  readonly time: number;
}

const timeSchema = once(() => z.iso.datetime());

/** The entry in a line; undefined if there is none, as in a line that a crash cut short. */
function readLine(line: Buffer): Entry | NotUnderstood | undefined {
  const entry = parseJson(line.toString('utf8'));
  const intent = valueAt(entry, 'intent');
  if (intent !== undefined) {
    const { data } = intentSchema().safeParse(intent);
    if (data !== undefined) return { intent: data };
    const { data: time } = timeSchema().safeParse(valueAt(intent, 'time'));
    return { time: time === undefined ? Number.POSITIVE_INFINITY : Date.parse(time) };
  }
  const { data } = endingSchema().safeParse(valueAt(entry, 'ending'));
  return data === undefined ? undefined : { ending: data };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
