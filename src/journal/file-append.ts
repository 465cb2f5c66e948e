import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { nextRotatedPath, openJournalFile } from './file-open.js';

/** A file larger than this is renamed, and a new one begun. */
const rotatedBytes = 10 * 1024 * 1024;

/** Nothing larger is written at once: Node would write it in pieces, and another process between them. */
const maximumBytes = 512 * 1024;

/**
 * Appends lines in one write, flushed to disk.
 * @param onWrite called when from now on some of it may be in the file
 * @throws if they are not in the file as a whole
 */
export async function append(path: string, lines: string, now: () => Date, onWrite: () => void): Promise<void> {
  if (Buffer.byteLength(lines) >= maximumBytes) throw new Error('the entry is too large');
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  for (;;) {
    await using file = await openJournalFile(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT);
    const { size, mode, dev, ino } = await file.stat();
    if (size > rotatedBytes && (await rotate(path, now()))) continue;
    if ((mode & 0o777) !== 0o600) await file.chmod(0o600);
    // A line that a crash cut short must not swallow this one.
    const bytes = Buffer.from(`${(await endsMidLine(file, size)) ? '\n' : ''}${lines}`);
    onWrite();
    const { bytesWritten } = await file.write(bytes);
    if (bytesWritten !== bytes.length) throw new Error(`${bytesWritten} of ${bytes.length} bytes were written`);
    await file.sync();
    if (size === 0) await syncFolder(dirname(path));
    // If another process rotated the file meanwhile, the lines are not where others look for them.
    const current = await lstat(path).catch(() => undefined);
    if (current?.dev === dev && current.ino === ino) return;
  }
}

/** Resolves with whether it could be renamed. */
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

/** Makes the file's name durable too. Not every system lets a folder be flushed. */
async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
}
