import type { FileHandle } from 'node:fs/promises';
import * as z from 'zod';
import { once } from '../util/once.js';
import { type Entry, storedEnding, storedEndingSchema, storedIntent, storedIntentSchema } from './entry.js';

/** What is read at once, in bytes. Between two such pieces there is time for other work. */
const chunkBytes = 64 * 1024;
const newline = 0x0a;

/** The complete lines of a file after an offset, each with the offset of its end. */
export async function* linesAfter(file: FileHandle, offset: number): AsyncGenerator<{ line: Buffer; end: number }> {
  let pieces: Buffer[] = [];
  for (let position = offset; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(chunkBytes), 0, chunkBytes, position);
    if (bytesRead === 0) return;
    const chunk = buffer.subarray(0, bytesRead);
    let start = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
      const last = chunk.subarray(start, at);
      yield { line: pieces.length === 0 ? last : Buffer.concat([...pieces, last]), end: position + at + 1 };
      pieces = [];
      start = at + 1;
    }
    pieces.push(chunk.subarray(start));
    position += bytesRead;
  }
}

/** The lines of a file, last one first. */
export async function* linesFromEnd(file: FileHandle): AsyncGenerator<Buffer> {
  const { size } = await file.stat();
  let pieces: Buffer[] = [];
  for (let position = size; position > 0; ) {
    const length = Math.min(chunkBytes, position);
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

export const writeLine = (entry: Entry): string =>
  `${JSON.stringify('intent' in entry ? { intent: storedIntent(entry.intent) } : { ending: storedEnding(entry.ending) })}\n`;

/** An intent that cannot be understood, perhaps a newer version's. It may be in conflict with any other. */
interface NotUnderstood {
  /** When it was written, in milliseconds; infinite if that cannot be understood either. */
  readonly time: number;
}

const lineSchema = once(() => z.object({ intent: z.unknown(), ending: z.unknown() }).partial());
const timeSchema = once(() => z.object({ time: z.iso.datetime() }));

/** What a line says; nothing for a line that is no entry, such as one that a crash cut short. */
export function readLine(line: Buffer): Entry | NotUnderstood | undefined {
  const { data: { intent, ending } = {} } = lineSchema().safeParse(parseJson(line.toString('utf8')));
  if (intent !== undefined) {
    const { data } = storedIntentSchema().safeParse(intent);
    if (data !== undefined) return { intent: data };
    const { data: { time } = {} } = timeSchema().safeParse(intent);
    return { time: time === undefined ? Number.POSITIVE_INFINITY : Date.parse(time) };
  }
  const { data } = storedEndingSchema().safeParse(ending);
  return data === undefined ? undefined : { ending: data };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
