import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { textAt } from '../util/objects.js';

/** What is in the way is something else. It guards against nothing, and it is not ours to change. */
class NotAJournal extends Error {
  readonly code: string;
  constructor(code = 'it is not a journal') {
    super(code);
    this.code = code;
  }
}

/** Windows has neither flag. */
const guards = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Opens a file of the journal. No link is followed, and no pipe or device is waited for or written to.
 * @param flags for reading, or for reading and appending
 * @throws the system's error, or an Error with a `code` if it is not a journal
 */
export async function openJournalFile(path: string, flags: number): Promise<FileHandle> {
  const file = await open(path, flags | guards, 0o600).catch((error: unknown) => {
    throw textAt(error, 'code') === 'ELOOP' ? new NotAJournal('it is a link') : error;
  });
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) throw new NotAJournal('EISDIR');
    if (!stats.isFile()) throw new NotAJournal('it is not a regular file');
    await checkBeginning(file);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Opens a file of the journal for reading; undefined if there is none. */
export async function readJournalFile(path: string): Promise<FileHandle | undefined> {
  return openJournalFile(path, constants.O_RDONLY).catch((error: unknown) => {
    if (textAt(error, 'code') === 'ENOENT') return undefined;
    throw error;
  });
}

/** The same for a rotated file; undefined also if something else happens to lie there. */
export async function readRotatedFile(path: string): Promise<FileHandle | undefined> {
  return readJournalFile(path).catch((error: unknown) => {
    if (error instanceof NotAJournal) return undefined;
    throw error;
  });
}

/** What the name of a rotated file has after the journal's: the time, as ISO 8601 with hyphens, and something random. */
const rotatedSuffix = /^\.(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3})Z-[0-9a-f]{8}$/;

/** Names of all rotated files, oldest first. */
async function rotatedNames(path: string): Promise<string[]> {
  const name = basename(path);
  const names = await readdir(dirname(path)).catch(() => []);
  return names.filter((other) => other.startsWith(name) && rotatedSuffix.test(other.slice(name.length))).sort();
}

/** Paths of rotated files that were written to since a time (milliseconds), oldest first. */
export async function rotatedFiles(path: string, since: number): Promise<string[]> {
  const paths: string[] = [];
  for (const name of await rotatedNames(path)) {
    const stats = await lstat(join(dirname(path), name)).catch(() => undefined);
    if (stats?.isFile() && stats.mtimeMs >= since) paths.push(join(dirname(path), name));
  }
  return paths;
}

/** The path that a file is rotated to. It comes after those of earlier files, also where the clock was set back since. */
export async function nextRotatedPath(path: string, now: Date): Promise<string> {
  const last = (await rotatedNames(path)).at(-1)?.slice(basename(path).length) ?? '';
  const [, hour, minute, second, millisecond] = rotatedSuffix.exec(last) ?? [];
  const lastTime = hour === undefined ? 0 : Date.parse(`${hour}:${minute}:${second}.${millisecond}Z`);
  const time = new Date(Math.max(now.getTime(), lastTime + 1)).toISOString();
  return `${path}.${time.replace(/[:.]/g, '-')}-${randomUUID().slice(0, 8)}`;
}

const beginnings = ['{"intent"', '{"ending"'];
const beginningLength = 9;
/** How far into a file a line is looked for that a crash did not cut short. */
const inspectedBytes = 4096;

/** @throws NotAJournal unless the first line that no crash cut short begins as an entry does */
async function checkBeginning(file: FileHandle): Promise<void> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(inspectedBytes), 0, inspectedBytes, 0);
  for (const line of buffer.toString('latin1', 0, bytesRead).split('\n')) {
    const begun = line.slice(0, beginningLength);
    if (!beginnings.some((beginning) => beginning.startsWith(begun))) throw new NotAJournal();
    if (begun.length === beginningLength) return;
  }
}
