import type { FileHandle } from 'node:fs/promises';
import { type Lines, linesAfter } from './file-lines.js';
import { leadsTo, openJournalFile, openRotatedFile, rotatedFiles } from './file-open.js';

/** How far a file was read. `dev` and `ino` identify the file, even after it was renamed. */
interface Position {
  readonly dev: number;
  readonly ino: number;
  readonly offset: number;
  /** The last bytes before the offset. If a file has other bytes there, it was emptied or replaced and has grown past the offset since. */
  readonly last: Buffer;
}

/** A file that is to be read from `offset` on. */
interface Rest {
  readonly path: string;
  readonly offset: number;
}

/** Follows a journal in a file that other processes also write and rotate. */
export class FileTail {
  readonly #path: string;
  readonly #checkDisk: () => Promise<void>;
  /** How far the journal was read. Undefined before the first line was read. */
  #position: Position | undefined;
  /** True once `read` was called. */
  #isStarted = false;

  /** @param checkDisk called after the file was opened, and before it is read. Throws if the path may lead to another disk now */
  constructor(path: string, checkDisk: () => Promise<void> = async () => undefined) {
    this.#path = path;
    this.#checkDisk = checkDisk;
  }

  /** False if the path now leads to another journal than before, or to no file. True before the first entry was read. */
  async isSameJournal(): Promise<boolean> {
    if (this.#position === undefined) return true;
    await using file = await openJournalFile(this.#path);
    return file !== undefined && (await endsAlike(this.#position, file));
  }

  /**
   * Yields the lines that were appended since the last read. The first read calls `onRestart` and yields all lines, except of rotated files
   * that were last written before `since` (milliseconds). A later read does the same if the content that was read last is gone.
   * @param onRestart makes the caller forget the lines of earlier reads
   * @throws if a file cannot be read or is not a journal
   */
  async *read(since: number, onRestart?: () => void): AsyncGenerator<Lines['lines']> {
    const lastPosition = this.#position;
    // Undefined if there is no file.
    await using current = await openJournalFile(this.#path);
    // A check before opening would miss a disk that is unmounted in between.
    await this.#checkDisk();

    // Usually, the last read ended in this file, which has only grown since.
    if (current !== undefined && lastPosition !== undefined && (await canContinue(current, lastPosition))) {
      yield* this.#readFile(current, lastPosition.offset);
      return;
    }

    // Otherwise, the file of the last read may have been rotated. Undefined if it is not found, or if this is the first read.
    const rotatedSinceLastRead = lastPosition && (await this.#rotatedSince(lastPosition));
    if (rotatedSinceLastRead === undefined) this.#forgetReads(onRestart);
    const rotated = rotatedSinceLastRead ?? (await rotatedFiles(this.#path, since)).map(wholeFile);
    // If another process has rotated `current` meanwhile, it is left out here, so that it is not read twice.
    yield* this.#readRotatedBefore(current, rotated);
    // The current file comes last, from its start, because the last read ended in another file or in content that is gone.
    if (current !== undefined) yield* this.#readFile(current, 0);
  }

  /** Forgets the earlier reads, and makes the caller forget them. */
  #forgetReads(onRestart: (() => void) | undefined): void {
    // If earlier reads found no line at all, the caller has nothing to forget.
    const hasFoundNoLine = this.#isStarted && this.#position === undefined;
    if (!hasFoundNoLine) onRestart?.();
    this.#isStarted = true;
    // `#readFile` sets the position only if it finds a line. If it finds none, the next read must not continue at the old place.
    this.#position = undefined;
  }

  /** Yields the lines of a file from `offset` on, and remembers how far it was read. */
  async *#readFile(file: FileHandle, offset: number): AsyncGenerator<Lines['lines']> {
    const { dev, ino } = await file.stat();
    for await (const { lines, end, last } of linesAfter(file, offset)) {
      yield lines;
      this.#position = { dev, ino, offset: end, last };
    }
  }

  /**
   * Yields the lines of rotated files, oldest first. If another process has renamed `current` since it was opened, `current` is one of these
   * files. It is left out here, because the caller reads it next.
   */
  async *#readRotatedBefore(current: FileHandle | undefined, rotated: readonly Rest[]): AsyncGenerator<Lines['lines']> {
    const currentStats = await current?.stat();
    for (const { path, offset } of rotated) {
      // This is `current`. All files after it are newer.
      if (currentStats !== undefined && (await leadsTo(path, currentStats))) return;
      await using file = await openRotatedFile(path);
      if (file !== undefined) yield* this.#readFile(file, offset);
    }
  }

  /** Finds the file of `position` among the rotated files. Returns its rest and all later files; undefined if it is gone or was changed. */
  async #rotatedSince(position: Position): Promise<readonly Rest[] | undefined> {
    const paths = await rotatedFiles(this.#path);
    for (let index = paths.length - 1; index >= 0; index -= 1) {
      const path = paths[index];
      if (path === undefined || !(await leadsTo(path, position))) continue;
      await using file = await openRotatedFile(path);
      if (file === undefined || !(await canContinue(file, position))) return undefined;
      return [{ path, offset: position.offset }, ...paths.slice(index + 1).map(wholeFile)];
    }
    return undefined;
  }
}

const wholeFile = (path: string): Rest => ({ path, offset: 0 });

/** True if this file was read up to the position, and since then has only grown or is unchanged. */
async function canContinue(file: FileHandle, position: Position): Promise<boolean> {
  const { dev, ino } = await file.stat();
  return dev === position.dev && ino === position.ino && (await endsAlike(position, file));
}

/** True if a file still has the same bytes before `offset`. Otherwise, the file was replaced or cut. */
async function endsAlike({ offset, last }: Position, file: FileHandle): Promise<boolean> {
  const { buffer } = await file.read(Buffer.alloc(last.length), 0, last.length, offset - last.length);
  return buffer.equals(last);
}
