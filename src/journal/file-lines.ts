import type { FileHandle } from 'node:fs/promises';

/** Bytes to read at once: few at first, because most reads find one entry. Other work gets its turn between two reads. */
const firstChunkBytes = 64 * 1024;
const chunkBytes = 1024 * 1024;
const newline = 0x0a;

/** Complete lines that were read at once, and the offset of their end in the file. */
export interface Lines {
  readonly lines: readonly Buffer[];
  readonly end: number;
}

/** The complete lines of a file after an offset. What was read is valid until the next lines are asked for. */
export async function* linesAfter(file: FileHandle, offset: number): AsyncGenerator<Lines> {
  let pieces: Buffer[] = [];
  let buffer = Buffer.allocUnsafe(firstChunkBytes);
  for (let position = offset; ; ) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return;
    const chunk = buffer.subarray(0, bytesRead);
    const lines: Buffer[] = [];
    let start = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
      const last = chunk.subarray(start, at);
      lines.push(pieces.length === 0 ? last : Buffer.concat([...pieces, last]));
      pieces = [];
      start = at + 1;
    }
    if (lines.length > 0) yield { lines, end: position + start };
    pieces.push(Buffer.from(chunk.subarray(start)));
    position += bytesRead;
    if (bytesRead === buffer.length && buffer.length < chunkBytes) buffer = Buffer.allocUnsafe(chunkBytes);
  }
}

/** The lines of a file from its last one backwards. */
export async function* linesFromEnd(file: FileHandle): AsyncGenerator<Buffer> {
  const { size } = await file.stat();
  let pieces: Buffer[] = [];
  for (let position = size; position > 0; ) {
    const length = Math.min(firstChunkBytes, position);
    position -= length;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
    let end = bytesRead;
    for (let at = lastNewline(buffer, end); at >= 0; at = lastNewline(buffer, end)) {
      yield Buffer.concat([buffer.subarray(at + 1, end), ...pieces]);
      pieces = [];
      end = at;
    }
    pieces.unshift(buffer.subarray(0, end));
  }
  yield Buffer.concat(pieces);
}

const lastNewline = (buffer: Buffer, end: number) => (end === 0 ? -1 : buffer.lastIndexOf(newline, end - 1));
