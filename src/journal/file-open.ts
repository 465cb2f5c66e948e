import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, mkdir, mkdtemp, open, readdir, rename, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { textAt } from '../util/objects.js';

/** Thrown if the path does not lead to a journal, but to a folder, a link or another file. Nothing is written there. */
class NotAJournal extends Error {
  readonly code: string;
  constructor(code = 'it is not a journal') {
    super(code);
    this.code = code;
  }
}

/** Flags for `open`, so that it follows no link and does not wait for a pipe. Windows has neither flag. */
const guards = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Opens a regular file of the journal, and nothing else.
 * @param flags for reading, or for reading and appending
 * @throws the system's error, or an Error with a `code` if it is not a journal
 */
async function openRegularFile(path: string, flags: number): Promise<FileHandle> {
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

/** Opens a file of the journal for reading. Undefined if there is no file. */
export async function openJournalFile(path: string): Promise<FileHandle | undefined> {
  return openRegularFile(path, constants.O_RDONLY).catch((error: unknown) => {
    if (textAt(error, 'code') === 'ENOENT') return undefined;
    throw error;
  });
}

/**
 * Checks that entries can be appended, or the file created.
 * @throws the system's error, or an Error if it is not a journal
 */
export async function checkWritable(path: string): Promise<void> {
  try {
    await using _ = await openRegularFile(path, constants.O_RDWR | constants.O_APPEND);
  } catch (error) {
    if (textAt(error, 'code') !== 'ENOENT') throw error;
    // There is no file yet, so the folder must accept one.
    const folder = await existingFolder(dirname(path));
    if (!(await stat(folder)).isDirectory()) throw new NotAJournal('ENOTDIR');
    await access(folder, constants.W_OK);
    // A trial, because some file systems, such as /proc, report write access and refuse new files.
    await rmdir(await mkdtemp(join(folder, '.cloudops-')));
  }
}

/** The device that holds a journal, or would hold it. */
export const deviceOf = async (path: string): Promise<number> => (await stat(await existingFolder(dirname(path)))).dev;

/** A path or the closest existing folder above it. A broken link counts as existing. */
async function existingFolder(path: string): Promise<string> {
  const stats = await lstat(path).catch(() => undefined);
  return stats !== undefined || dirname(path) === path ? path : existingFolder(dirname(path));
}

/** Opens a rotated file for reading. Undefined if the file is gone or is not a journal. */
export async function openRotatedFile(path: string): Promise<FileHandle | undefined> {
  return openJournalFile(path).catch((error: unknown) => {
    if (error instanceof NotAJournal) return undefined;
    throw error;
  });
}

/** The suffix of a rotated file, `.2026-11-20T12-00-00-000Z-1f2e3d4c`: a time and random hexadecimal digits. */
const rotatedSuffix = /^\.(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3})Z-[0-9a-f]{8}$/;

/** Names of all rotated files, oldest first. */
async function rotatedNames(path: string): Promise<string[]> {
  const name = basename(path);
  const names = await readdir(dirname(path)).catch(() => []);
  return names.filter((other) => other.startsWith(name) && rotatedSuffix.test(other.slice(name.length))).sort();
}

/** Paths of rotated files that were last written to between two times (milliseconds), oldest first. */
export async function rotatedFiles(path: string, since = 0, until = Number.POSITIVE_INFINITY): Promise<string[]> {
  const paths: string[] = [];
  for (const name of await rotatedNames(path)) {
    const stats = await lstat(join(dirname(path), name)).catch(() => undefined);
    if (stats?.isFile() && stats.mtimeMs >= since && stats.mtimeMs < until) paths.push(join(dirname(path), name));
  }
  return paths;
}

/** True if a path leads to this file. False, for example, if the file was renamed. */
export async function leadsTo(path: string, file: Pick<Stats, 'dev' | 'ino'>): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  return stats?.dev === file.dev && stats.ino === file.ino;
}

/** The path for the next rotated file. It sorts after earlier paths, even if the clock was set back. */
async function nextRotatedPath(path: string, now: Date): Promise<string> {
  const last = (await rotatedNames(path)).at(-1)?.slice(basename(path).length) ?? '';
  const [, dateAndHour, minute, second, millisecond] = rotatedSuffix.exec(last) ?? [];
  const lastTime = dateAndHour === undefined ? 0 : Date.parse(`${dateAndHour}:${minute}:${second}.${millisecond}Z`);
  const time = new Date(Math.max(now.getTime(), lastTime + 1)).toISOString();
  return `${path}.${time.replace(/[:.]/g, '-')}-${randomUUID().slice(0, 8)}`;
}

const beginnings = ['{"intent"', '{"ending"'];
const beginningLength = 9;
/** Bytes at the beginning of a file that `checkBeginning` reads. */
const inspectedBytes = 4096;

/** @throws NotAJournal unless the file begins like a journal. Lines that a crash cut short do not count. */
async function checkBeginning(file: FileHandle): Promise<void> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(inspectedBytes), 0, inspectedBytes, 0);
  for (const line of buffer.toString('latin1', 0, bytesRead).split('\n')) {
    const begun = line.slice(0, beginningLength);
    if (!beginnings.some((beginning) => beginning.startsWith(begun))) throw new NotAJournal();
    // A line that ends before `beginningLength` may be an entry that a crash cut short, so the next line decides.
    if (begun.length === beginningLength) return;
  }
}

/** A file with more bytes is renamed, and a new file begun. */
const rotatedBytes = 10 * 1024 * 1024;

/** Larger texts are refused, because Node would write them in pieces and another process could write in between. */
export const maximumBytes = 512 * 1024;

interface AppendHooks {
  /** Called after the file was opened. If it rejects, nothing is written. */
  readonly afterOpen: () => Promise<void>;
  /** Called just before the lines are written. If `append` fails before this call, nothing was written. */
  readonly beforeWrite?: (() => void) | undefined;
}

/**
 * Appends lines in one write, flushed to disk.
 * @throws unless the file has all of the lines
 */
export async function append(
  path: string,
  lines: string,
  now: () => Date,
  { afterOpen, beforeWrite }: AppendHooks,
): Promise<void> {
  if (Buffer.byteLength(lines) >= maximumBytes) throw new Error('the entry is too large');
  await makeFolder(dirname(path));
  for (;;) {
    await using file = await openRegularFile(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT);
    await afterOpen();
    const stats = await file.stat();
    // After a rotation, the next iteration creates a new file.
    if (stats.size > rotatedBytes && (await rotate(path, now()))) continue;
    await write(file, stats, lines, beforeWrite);
    // The file is new, so the folder with its name is flushed, too.
    if (stats.size === 0) await syncFolder(dirname(path));
    // If another process rotated the file meanwhile, other processes may not find the lines, so they are written again.
    if (await leadsTo(path, stats)) return;
  }
}

/** Makes a folder and the folders above it. Below /proc, Node's option `recursive` would never end. */
export async function makeFolder(folder: string): Promise<void> {
  const make = () =>
    mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
      if (textAt(error, 'code') !== 'EEXIST') throw error;
    });
  await make().catch(async (error: unknown) => {
    if (textAt(error, 'code') !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await make();
  });
}

async function write(file: FileHandle, { size, mode }: Stats, lines: string, beforeWrite?: () => void): Promise<void> {
  if ((mode & 0o777) !== 0o600) await file.chmod(0o600);
  // If a crash cut the last line short, a newline ends that line first.
  const bytes = Buffer.from(`${(await endsMidLine(file, size)) ? '\n' : ''}${lines}`);
  beforeWrite?.();
  const { bytesWritten } = await file.write(bytes);
  if (bytesWritten !== bytes.length) throw new Error(`${bytesWritten} of ${bytes.length} bytes were written`);
  await file.sync();
}

/** Renames the file. Resolves with false if that failed, for example because another process renamed it first. */
async function rotate(path: string, time: Date): Promise<boolean> {
  return rename(path, await nextRotatedPath(path, time)).then(
    () => true,
    () => false,
  );
}

async function endsMidLine(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== 0x0a;
}

/** Makes the name of a new file durable, on systems that can flush a folder. */
async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
}
