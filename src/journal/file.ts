import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import {
  abandonedMs,
  type Entry,
  endingSchema,
  findConflict,
  intentSchema,
  type Journal,
  mutationsOf,
} from './journal.js';

/** A file larger than this is put aside, under its name and the time, and a new one begun. */
const maximumBytes = 10 * 1024 * 1024;

/**
 * A journal of JSON lines. Each entry is appended in one write and flushed to disk before anything goes on, so the order of
 * lines decides between processes: no lock is needed, and none can be left behind.
 */
export function createFileJournal(path: string, now: () => Date): Journal {
  const end: Journal['end'] = (ending) => append(path, { ending }, now());
  return {
    end,
    read: async (since = 0) => mutationsOf(await readEntries(path, since)),
    close: async () => undefined,
    begin: async (intent, { allowRepeat }) => {
      const stop = (code: string) => end({ id: intent.id, time: now().toISOString(), outcome: 'not sent', code });
      try {
        await append(path, { intent }, now());
        const recent = mutationsOf(await readEntries(path, now().getTime() - abandonedMs));
        const begun = findConflict(recent, intent, allowRepeat);
        if (begun.kind !== 'begun') await stop(begun.kind);
        return begun;
      } catch (error) {
        await stop('unwritable').catch(() => undefined);
        const reason = error instanceof Error && 'code' in error ? String(error.code) : 'it changed while it was read';
        return { kind: 'unwritable', reason: `${basename(path)}: ${reason}` };
      }
    },
  };
}

async function append(path: string, entry: Entry, time: Date): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rotate(path, time);
  for (;;) {
    const file = await open(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600);
    try {
      await file.chmod(0o600);
      const { size } = await file.stat();
      const created = size === 0;
      checkBeginning(
        (await file.read(Buffer.alloc(beginningLength), 0, beginningLength, 0)).buffer.toString(
          'utf8',
          0,
          Math.min(size, beginningLength),
        ),
      );
      // A line that a crash cut short must not swallow this one.
      const line = `${(await endsMidLine(file, size)) ? '\n' : ''}${JSON.stringify(entry)}\n`;
      await file.appendFile(line);
      await file.sync();
      if (created) await syncFolder(dirname(path));
      // If another process put the file aside meanwhile, the line is not where others look for it.
      if ((await file.stat()).ino === (await stat(path).catch(() => undefined))?.ino) return;
    } finally {
      await file.close();
    }
  }
}

/** Makes the file's name durable too. Not every system lets a folder be flushed. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

async function endsMidLine(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== 0x0a;
}

async function rotate(path: string, time: Date): Promise<void> {
  const current = await stat(path).catch(() => undefined);
  if (current !== undefined && current.size > maximumBytes)
    await rename(path, `${path}.${time.toISOString().replace(/[:.]/g, '-')}-${randomUUID().slice(0, 8)}`).catch(
      () => undefined,
    );
}

/** The entries of all files that were written to since a time (milliseconds), oldest first. */
async function readEntries(path: string, since: number): Promise<Entry[]> {
  const folder = dirname(path);
  const aside = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith(`${basename(path)}.`)).sort();
  const entries: Entry[] = [];
  for (const file of [...aside.map((name) => join(folder, name)), path]) {
    const { mtimeMs } = (await stat(file).catch(() => undefined)) ?? { mtimeMs: 0 };
    if (file !== path && mtimeMs < since) continue;
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    if (file === path) checkBeginning(text);
    entries.push(...text.split('\n').flatMap(parseLine));
  }
  return entries;
}

/** Lines that are no entries are skipped, but a file that is something else altogether guards against nothing. */
class NotAJournal extends Error {
  readonly code = 'it is not a journal';
}

const beginnings = ['{"intent"', '{"ending"'];
const beginningLength = 9;

/** @throws NotAJournal */
function checkBeginning(text: string): void {
  const begun = text.slice(0, beginningLength);
  if (!beginnings.some((beginning) => beginning.startsWith(begun))) throw new NotAJournal();
}

const entrySchema = z.union([z.object({ intent: intentSchema }), z.object({ ending: endingSchema })]);

/** An entry, or nothing for a line that is none, such as one that a crash cut short. */
function parseLine(line: string): Entry[] {
  if (line === '') return [];
  try {
    return [entrySchema.parse(JSON.parse(line))];
  } catch {
    return [];
  }
}
