import type { FileHandle } from 'node:fs/promises';

/** Bytes to read at once: few at first, because most reads find one entry. Other work gets its turn between two reads. */
const firstChunkBytes = 64 * 1024;
const chunkBytes = 256 * 1024;
const newline = 0x0a;

/** Complete lines that were read at once. */
export interface Lines {
  readonly lines: readonly string[];
  /** The offset of their end in the file. */
  readonly end: number;
  /** The end of these lines: the last line, and at least `lastBytes` bytes if the lines have as many. */
  readonly last: Buffer;
}

const lastBytes = 256;

/** The complete lines of a file after an offset. */
export async function* linesAfter(file: FileHandle, offset: number): AsyncGenerator<Lines> {
  let buffer: Buffer = Buffer.allocUnsafe(firstChunkBytes);
  /** Bytes of an incomplete line at the start of the buffer. */
  let incomplete = 0;
  let position = offset;
  for (;;) {
    const { bytesRead } = await file.read(buffer, incomplete, buffer.length - incomplete, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    const filled = incomplete + bytesRead;
    const complete = buffer.subarray(0, filled).lastIndexOf(newline) + 1;
    incomplete = filled - complete;
    if (complete > 0)
      yield {
        lines: buffer.toString('utf8', 0, complete - 1).split('\n'),
        end: position - incomplete,
        last: lastLineOf(buffer.subarray(0, complete)),
      };
    buffer = withRoom(buffer, complete, filled);
  }
}

/** Copies the last line as a whole, because entries of the same change differ only at the beginning, and at least `lastBytes` bytes. */
function lastLineOf(lines: Buffer): Buffer {
  const endOfPrevious = lines.length < 2 ? -1 : lines.lastIndexOf(newline, lines.length - 2);
  const longEnough = Math.max(0, lines.length - lastBytes);
  return Buffer.from(lines.subarray(Math.min(endOfPrevious + 1, longEnough)));
}

/** A buffer that begins with the bytes from `start` to `end` of another and has room for more. It is the same buffer if its size fits. */
function withRoom(buffer: Buffer, start: number, end: number): Buffer {
  const isFull = end === buffer.length;
  const size = isFull ? Math.max(chunkBytes, 2 * (end - start)) : buffer.length;
  const next = size === buffer.length ? buffer : Buffer.allocUnsafe(size);
  buffer.copy(next, 0, start, end);
  return next;
}

/** The lines of a file from the last one backwards. */
export async function* linesFromEnd(file: FileHandle): AsyncGenerator<string> {
  let { size: position } = await file.stat();
  /** The later pieces of a line whose beginning is not read yet, as Latin-1, because two reads may share a character of UTF-8. */
  let pieces: string[] = [];
  while (position > 0) {
    const length = Math.min(firstChunkBytes, position);
    position -= length;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
    const [beginning = '', ...lines] = buffer.toString('latin1', 0, bytesRead).split('\n');
    for (const line of lines.reverse()) {
      yield decodeLine([line, ...pieces]);
      pieces = [];
    }
    pieces.unshift(beginning);
  }
  yield decodeLine(pieces);
}

const decodeLine = (pieces: readonly string[]) => Buffer.from(pieces.join(''), 'latin1').toString();
