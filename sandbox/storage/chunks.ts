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
  const { line, upTo } = reader(stream);
  let size: number;
  do {
    const head = headOf(await line(), checkNext !== undefined);
    const sha256 = createHash('sha256');
    size = head.size;
    for (let left = size; left > 0; ) {
      const piece = await upTo(left);
      left -= piece.length;
      if (checkNext !== undefined) sha256.update(piece);
      yield piece;
    }
    checkNext?.('PAYLOAD', sha256.digest('hex'), head.signature);
    if (size > 0 && (await line()) !== '') throw malformed();
  } while (size > 0);
  const lines: string[] = [];
  for (let text = await line(); text !== ''; text = await line()) lines.push(text);
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

function reader(stream: Readable) {
  const arriving = pieces(stream);
  let buffer: Buffer = Buffer.alloc(0);
  const more = async () => {
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
    async line(): Promise<string> {
      let end = buffer.indexOf('\r\n');
      for (; end < 0; end = buffer.indexOf('\r\n')) {
        if (buffer.length > maximumLine) throw malformed();
        await more();
      }
      return take(end + 2).toString('latin1', 0, end);
    },
    /** Reads at least one byte and at most `bytes`. */
    async upTo(bytes: number): Promise<Buffer> {
      if (buffer.length === 0) await more();
      return take(bytes);
    },
  };
}

const maximumLine = 4096;

const malformed = () => new ServiceError(400, 'IncompleteBody', 'The chunks of the body are malformed or incomplete.');
