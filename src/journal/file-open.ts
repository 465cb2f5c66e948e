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

/** Paths of rotated files that were written to since a time (milliseconds), oldest first. */
export async function rotatedFiles(path: string, since: number): Promise<string[]> {
  const folder = dirname(path);
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith(`${basename(path)}.`)).sort();
  const paths: string[] = [];
  for (const name of names) {
    const stats = await lstat(join(folder, name)).catch(() => undefined);
    if (stats?.isFile() && stats.mtimeMs >= since) paths.push(join(folder, name));
  }
  return paths;
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
