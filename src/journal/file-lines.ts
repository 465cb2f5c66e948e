import type { FileHandle } from 'node:fs/promises';

/**
 * Bytes to read at once: few at first, because most reads find one entry. Other work gets its turn between two reads. The text of a
 * mebibyte would lie outside of V8's heap, where what is not needed stays for long.
 */
const firstChunkBytes = 64 * 1024;
const chunkBytes = 256 * 1024;
const newline = 0x0a;

/**
 * Complete lines that were read at once, and the offset of their end in the file. A line is text in which a character stands for a
 * byte (Latin-1): lines then share the memory of what was read, and nothing is decoded that nobody asks for.
 */
export interface Lines {
  readonly lines: readonly string[];
  readonly end: number;
}

/** The complete lines of a file after an offset. */
export async function* linesAfter(file: FileHandle, offset: number): AsyncGenerator<Lines> {
  let buffer: Buffer = Buffer.allocUnsafe(firstChunkBytes);
  /** Bytes at the start of the buffer: a line that is not complete yet. */
  let kept = 0;
  for (let position = offset; ; ) {
    const { bytesRead } = await file.read(buffer, kept, buffer.length - kept, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    const filled = kept + bytesRead;
    const complete = buffer.subarray(0, filled).lastIndexOf(newline) + 1;
    kept = filled - complete;
    if (complete > 0) yield { lines: buffer.toString('latin1', 0, complete - 1).split('\n'), end: position - kept };
    buffer = withRoom(buffer, complete, filled);
  }
}

/** A buffer that begins with the bytes between two offsets of another, and has room for more: itself, if it has the right size. */
function withRoom(buffer: Buffer, from: number, to: number): Buffer {
  const size = to < buffer.length ? buffer.length : Math.max(chunkBytes, 2 * (to - from));
  const next = size === buffer.length ? buffer : Buffer.allocUnsafe(size);
  buffer.copy(next, 0, from, to);
  return next;
}

/** The lines of a file from its last one backwards. */
export async function* linesFromEnd(file: FileHandle): AsyncGenerator<string> {
  const { size } = await file.stat();
  /** Of a line whose beginning is not read yet. */
  let pieces: string[] = [];
  for (let position = size; position > 0; ) {
    const length = Math.min(firstChunkBytes, position);
    position -= length;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
    const [beginning = '', ...lines] = buffer.toString('latin1', 0, bytesRead).split('\n');
    for (const line of lines.reverse()) {
      yield [line, ...pieces].join('');
      pieces = [];
    }
    pieces.unshift(beginning);
  }
  yield pieces.join('');
}
