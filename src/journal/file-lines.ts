import type { FileHandle } from 'node:fs/promises';

/** Size of the first read (bytes), which most often gets all new lines, and of all reads from the end. */
const smallChunkBytes = 64 * 1024;
/** Size of the further reads of `linesAfter` (bytes), except in a very long line. It is limited so that other work gets its turn in between. */
const largeChunkBytes = 256 * 1024;
const newline = 0x0a;

/** The complete lines of one read. */
export interface Lines {
  readonly lines: readonly string[];
  /** The offset in the file at which the lines end. */
  readonly end: number;
  /** The last bytes of the lines: the whole last line, and at least `lastBytes` bytes if the lines are that long. */
  readonly last: Buffer;
}

const lastBytes = 256;

/** Yields the complete lines of a file from `offset` on. An incomplete last line is left out. */
export async function* linesAfter(file: FileHandle, offset: number): AsyncGenerator<Lines> {
  /** Where the next read begins in the file. */
  let position = offset;
  let chunkBytes = smallChunkBytes;
  /** The bytes before `position` that are an incomplete line. */
  let incomplete: Buffer = Buffer.alloc(0);

  for (;;) {
    // The next bytes are read into the buffer after the incomplete line, so that they need not be copied.
    const buffer = Buffer.allocUnsafe(incomplete.length + chunkBytes);
    incomplete.copy(buffer);
    const { bytesRead } = await file.read(buffer, incomplete.length, chunkBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;

    const bytes = buffer.subarray(0, incomplete.length + bytesRead);
    // 0 if no line is complete.
    const endOfLines = bytes.lastIndexOf(newline) + 1;
    incomplete = bytes.subarray(endOfLines);
    if (endOfLines > 0) {
      yield {
        lines: bytes.toString('utf8', 0, endOfLines - 1).split('\n'),
        end: position - incomplete.length,
        // `FileTail` recognises the file by these bytes at its next read.
        last: lastLineOf(bytes.subarray(0, endOfLines)),
      };
    }
    // After a full read, more bytes are likely to follow, so the next chunk is large. It is at least twice as long as the incomplete line, which
    // each read copies, so that a very long line needs only a few reads.
    const isFull = bytesRead === chunkBytes;
    if (isFull) chunkBytes = Math.max(largeChunkBytes, 2 * incomplete.length);
  }
}

/** Copies the last line, but at least `lastBytes` bytes. A whole line, because entries may differ only at their beginning. */
function lastLineOf(lines: Buffer): Buffer {
  const endOfPrevious = lines.length < 2 ? -1 : lines.lastIndexOf(newline, lines.length - 2);
  const startOfLastLine = endOfPrevious + 1;
  const startOfLastBytes = Math.max(0, lines.length - lastBytes);
  return Buffer.from(lines.subarray(Math.min(startOfLastLine, startOfLastBytes)));
}

/** Yields the lines of a file from the last to the first. What follows the last newline comes first: an incomplete line, or an empty text. */
export async function* linesFromEnd(file: FileHandle): AsyncGenerator<string> {
  const { size } = await file.stat();
  /** The bytes from here to the end were read already. */
  let position = size;
  /** Pieces, in order, of a line whose beginning is not read yet. As Latin-1, because a chunk may begin within a character of UTF-8. */
  let pieces: string[] = [];

  while (position > 0) {
    // All chunks are small, because a list of the newest changes needs only the last lines.
    const length = Math.min(smallChunkBytes, position);
    position -= length;
    // `bytesRead` is `length`, unless the file was cut after `stat`. Then the missing bytes are skipped, because they no longer exist.
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
    // `chunkStart` may be the end of a line that begins in the preceding chunk, which is read next. Each of `lines` begins after a newline, so
    // its beginning is complete.
    const [chunkStart = '', ...lines] = buffer.toString('latin1', 0, bytesRead).split('\n');
    for (const line of lines.reverse()) {
      // Only the last line of the chunk goes on in `pieces`. The lines before it end in this chunk.
      yield decodeLine([line, ...pieces]);
      pieces = [];
    }
    pieces.unshift(chunkStart);
  }
  // The first line of the file.
  yield decodeLine(pieces);
}

const decodeLine = (pieces: readonly string[]) => Buffer.from(pieces.join(''), 'latin1').toString();
