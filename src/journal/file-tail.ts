import type { FileHandle } from 'node:fs/promises';
import { type Lines, linesAfter } from './file-lines.js';
import { isFile, readJournalFile, readRotatedFile, rotatedFiles } from './file-open.js';

/** How far a file was read. */
interface Position {
  readonly dev: number;
  readonly ino: number;
  readonly offset: number;
  /** The last bytes before the offset. They show that a file was not emptied or replaced and grew beyond the offset again. */
  readonly last: Buffer;
}

/**
 * Follows a journal in a file that other processes also write and rotate. `read` gives the lines that were appended since the last
 * read. The first read gives all lines of the files that were written since a time (milliseconds). If `read` cannot tell which lines are
 * new, it calls `onRestart` and begins like the first read. It throws if a file cannot be read or is not a journal.
 */
export function createTail(path: string) {
  let position: Position | undefined;
  let isStarted = false;

  async function* readFrom(file: FileHandle, offset: number): AsyncGenerator<Lines['lines']> {
    const { dev, ino } = await file.stat();
    for await (const { lines, end, last } of linesAfter(file, offset)) {
      yield lines;
      position = { dev, ino, offset: end, last };
    }
  }
  /** Reads rotated files up to `current`, which another process may have renamed since it was opened. */
  async function* readRotated(
    paths: readonly string[],
    offsetInFirst: number,
    current: FileHandle | undefined,
  ): AsyncGenerator<Lines['lines']> {
    const currentStats = await current?.stat();
    for (const [index, rotated] of paths.entries()) {
      if (currentStats !== undefined && (await isFile(rotated, currentStats))) return;
      await using file = await readRotatedFile(rotated);
      if (file !== undefined) yield* readFrom(file, index === 0 ? offsetInFirst : 0);
    }
  }
  /** The file that was read last, which was renamed since, and the rotated files after it. */
  async function rotatedSince(lastRead: Position): Promise<readonly string[] | undefined> {
    const paths = await rotatedFiles(path);
    for (const [index, rotated] of [...paths.entries()].reverse())
      if (await isFile(rotated, lastRead)) {
        await using file = await readRotatedFile(rotated);
        return file !== undefined && (await hasGrown(lastRead, file)) ? paths.slice(index) : undefined;
      }
    return undefined;
  }
  return {
    /** False if the path leads to another journal than the one that was read, or to none. True before the first entry was read. */
    isSameJournal: async (): Promise<boolean> => {
      if (position === undefined) return true;
      await using file = await readJournalFile(path);
      return file !== undefined && (await endsAlike(position, file));
    },
    read: async function* (since: number, onRestart: () => void): AsyncGenerator<Lines['lines']> {
      const lastRead = position;
      await using current = await readJournalFile(path);
      if (current !== undefined && lastRead !== undefined && (await hasGrown(lastRead, current))) {
        yield* readFrom(current, lastRead.offset);
        return;
      }
      const rotated = lastRead && (await rotatedSince(lastRead));
      if (lastRead !== undefined && rotated !== undefined) yield* readRotated(rotated, lastRead.offset, current);
      else {
        if (lastRead !== undefined || !isStarted) onRestart();
        isStarted = true;
        position = undefined;
        yield* readRotated(await rotatedFiles(path, since), 0, current);
      }
      if (current !== undefined) yield* readFrom(current, 0);
    },
  };
}

/** True if a file was read up to this position and has only grown since. */
async function hasGrown(position: Position, file: FileHandle): Promise<boolean> {
  const { dev, ino } = await file.stat();
  return dev === position.dev && ino === position.ino && (await endsAlike(position, file));
}

/** True if a file has the bytes that were read last. */
async function endsAlike({ offset, last }: Position, file: FileHandle): Promise<boolean> {
  const { buffer } = await file.read(Buffer.alloc(last.length), 0, last.length, offset - last.length);
  return buffer.equals(last);
}
