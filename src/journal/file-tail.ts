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

  async function* add(file: FileHandle, from: number): AsyncGenerator<Lines['lines']> {
    const { dev, ino } = await file.stat();
    for await (const { lines, end, last } of linesAfter(file, from)) {
      yield lines;
      position = { dev, ino, offset: end, last };
    }
  }
  /** Reads rotated files up to `current`, which another process may have renamed since it was opened. */
  async function* addRotated(
    paths: readonly string[],
    from: number,
    current: FileHandle | undefined,
  ): AsyncGenerator<Lines['lines']> {
    const known = await current?.stat();
    for (const [index, each] of paths.entries()) {
      if (known !== undefined && (await isFile(each, known))) return;
      await using file = await readRotatedFile(each);
      if (file !== undefined) yield* add(file, index === 0 ? from : 0);
    }
  }
  /** The file that was read last, which was renamed since, and the rotated files after it. */
  async function followed(known: Position): Promise<readonly string[] | undefined> {
    const paths = await rotatedFiles(path);
    for (const [index, each] of [...paths.entries()].reverse())
      if (await isFile(each, known)) {
        await using file = await readRotatedFile(each);
        return file !== undefined && (await hasGrown(known, file)) ? paths.slice(index) : undefined;
      }
    return undefined;
  }
  return {
    read: async function* (since: number, onRestart: () => void): AsyncGenerator<Lines['lines']> {
      const known = position;
      await using current = await readJournalFile(path);
      if (current !== undefined && known !== undefined && (await hasGrown(known, current))) {
        yield* add(current, known.offset);
        return;
      }
      const rest = known && (await followed(known));
      if (rest !== undefined) yield* addRotated(rest, known?.offset ?? 0, current);
      else {
        if (known !== undefined || !isStarted) onRestart();
        isStarted = true;
        position = undefined;
        yield* addRotated(await rotatedFiles(path, since), 0, current);
      }
      if (current !== undefined) yield* add(current, 0);
    },
  };
}

/** True if a file was read up to this position and has only grown since. */
async function hasGrown({ dev, ino, offset, last }: Position, file: FileHandle): Promise<boolean> {
  const stats = await file.stat();
  if (stats.dev !== dev || stats.ino !== ino) return false;
  const { buffer } = await file.read(Buffer.alloc(last.length), 0, last.length, offset - last.length);
  return buffer.equals(last);
}
