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

/** Follows a journal in a file that other processes also write and rotate. */
export class FileTail {
  readonly #path: string;
  /** Undefined before the first line was read. */
  #position: Position | undefined;
  #isStarted = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** False if the path now leads to another journal than before, or to no file. True before the first entry was read. */
  async isSameJournal(): Promise<boolean> {
    if (this.#position === undefined) return true;
    await using file = await readJournalFile(this.#path);
    return file !== undefined && (await endsAlike(this.#position, file));
  }

  /**
   * Reads the lines that were appended since the last read. The first read gives all lines of the files that were written since a time
   * (milliseconds). If it is unknown which lines are new, this calls `onRestart` and begins like the first read.
   * @throws if a file cannot be read or is not a journal
   */
  async *read(since: number, onRestart: () => void): AsyncGenerator<Lines['lines']> {
    const last = this.#position;
    await using current = await readJournalFile(this.#path);
    if (current !== undefined && last !== undefined && (await hasGrown(last, current))) {
      yield* this.#readFile(current, last.offset);
      return;
    }
    const rotated = last && (await this.#rotatedSince(last));
    if (last !== undefined && rotated !== undefined) yield* this.#readRotated(rotated, last.offset, current);
    else {
      if (last !== undefined || !this.#isStarted) onRestart();
      this.#isStarted = true;
      this.#position = undefined;
      yield* this.#readRotated(await rotatedFiles(this.#path, since), 0, current);
    }
    if (current !== undefined) yield* this.#readFile(current, 0);
  }

  async *#readFile(file: FileHandle, offset: number): AsyncGenerator<Lines['lines']> {
    const { dev, ino } = await file.stat();
    for await (const { lines, end, last } of linesAfter(file, offset)) {
      yield lines;
      this.#position = { dev, ino, offset: end, last };
    }
  }

  /** Reads rotated files up to `current`, which another process may have renamed since it was opened. */
  async *#readRotated(
    paths: readonly string[],
    offsetInFirst: number,
    current: FileHandle | undefined,
  ): AsyncGenerator<Lines['lines']> {
    const currentStats = await current?.stat();
    for (const [index, path] of paths.entries()) {
      if (currentStats !== undefined && (await isFile(path, currentStats))) return;
      await using file = await readRotatedFile(path);
      if (file !== undefined) yield* this.#readFile(file, index === 0 ? offsetInFirst : 0);
    }
  }

  /** Returns the file at a position, which was renamed since, and the rotated files after it. Undefined if the file is not found. */
  async #rotatedSince(position: Position): Promise<readonly string[] | undefined> {
    const paths = await rotatedFiles(this.#path);
    for (let index = paths.length - 1; index >= 0; index -= 1) {
      const path = paths[index];
      if (path === undefined || !(await isFile(path, position))) continue;
      await using file = await readRotatedFile(path);
      return file !== undefined && (await hasGrown(position, file)) ? paths.slice(index) : undefined;
    }
    return undefined;
  }
}

/** True if a file was read up to this position and has only grown since. */
async function hasGrown(position: Position, file: FileHandle): Promise<boolean> {
  const { dev, ino } = await file.stat();
  return dev === position.dev && ino === position.ino && (await endsAlike(position, file));
}

/** True if a file still has the same bytes before `offset`. Otherwise, the file was replaced or cut. */
async function endsAlike({ offset, last }: Position, file: FileHandle): Promise<boolean> {
  const { buffer } = await file.read(Buffer.alloc(last.length), 0, last.length, offset - last.length);
  return buffer.equals(last);
}
