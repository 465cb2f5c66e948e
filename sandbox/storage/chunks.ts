import { createHash, hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { type CheckNext, ServiceError } from '../http.js';

/** Iterates a stream, and leaves the stream open if iteration stops early, so that an answer can be sent. */
export const pieces = (stream: Readable): AsyncIterableIterator<Buffer> => stream.iterator({ destroyOnReturn: false });

/**
 * Decodes a body in the encoding `aws-chunked`. Adds the headers after the last chunk to `trailers`. With `checkNext`, each
 * chunk and the trailers must be signed. Throws a `ServiceError` if the body is incomplete or a signature is wrong.
 */
export async function* unchunked(
  stream: Readable,
  trailers: Record<string, string>,
  checkNext?: CheckNext,
): AsyncGenerator<Buffer> {
  const { readLine, readBytes } = createReader(stream);
  let size: number;
  do {
    const head = headOf(await readLine(), checkNext !== undefined);
    const sha256 = createHash('sha256');
    size = head.size;
    for (let left = size; left > 0; ) {
      const piece = await readBytes(left);
      left -= piece.length;
      if (checkNext !== undefined) sha256.update(piece);
      yield piece;
    }
    checkNext?.('PAYLOAD', sha256.digest('hex'), head.signature);
    if (size > 0 && (await readLine()) !== '') throw malformed();
  } while (size > 0);
  const lines: string[] = [];
  for (let line = await readLine(); line !== ''; line = await readLine()) lines.push(line);
  const { [signatureTrailer]: signature = '', ...others } = trailersOf(lines);
  Object.assign(trailers, others);
  if (lines.length === 0 || checkNext === undefined) return;
  const signed = Object.entries(others).map(([name, value]) => `${name}:${value}\n`);
  checkNext('TRAILER', hash('sha256', Buffer.from(signed.join(''), 'latin1')), signature);
}

const signatureTrailer = 'x-amz-trailer-signature';

/** Parses trailers by name. Some clients end a line with a bare line feed. */
const trailersOf = (lines: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    lines.map((text) => {
      const [, name = '', value = ''] = /^([^:]+):\s*(.*?)\n?$/.exec(text) ?? [];
      return [name.toLowerCase(), value];
    }),
  );

/** Parses the line before a chunk: the size in bytes and, if chunks are signed, the signature. */
function headOf(text: string, isSigned: boolean) {
  const form = isSigned ? /^([0-9a-f]{1,10});chunk-signature=([0-9a-f]{64})$/i : /^([0-9a-f]{1,10})$/i;
  const [, size, signature = ''] = form.exec(text) ?? [];
  if (size === undefined) throw malformed();
  return { size: Number.parseInt(size, 16), signature };
}

/** Reads lines and bytes of a stream, in any order. Throws a `ServiceError` if the stream ends too early. */
function createReader(stream: Readable) {
  const arriving = pieces(stream);
  /** Bytes that have arrived and were not read yet. */
  let buffer: Buffer = Buffer.alloc(0);
  const receiveMore = async () => {
    const { value, done } = await arriving.next();
    if (done === true) throw malformed();
    buffer = buffer.length === 0 ? value : Buffer.concat([buffer, value]);
  };
  const take = (bytes: number): Buffer => {
    const taken = buffer.subarray(0, bytes);
    buffer = buffer.subarray(taken.length);
    return taken;
  };
  return {
    /** Reads the next line, without the line break. */
    async readLine(): Promise<string> {
      let end = buffer.indexOf('\r\n');
      while (end < 0) {
        if (buffer.length > maximumLine) throw malformed();
        await receiveMore();
        end = buffer.indexOf('\r\n');
      }
      return take(end + 2).toString('latin1', 0, end);
    },
    /** Reads at least one byte and at most `bytes`. */
    async readBytes(bytes: number): Promise<Buffer> {
      if (buffer.length === 0) await receiveMore();
      return take(bytes);
    },
  };
}

const maximumLine = 4096;

const malformed = () => new ServiceError(400, 'IncompleteBody', 'The chunks of the body are malformed or incomplete.');
