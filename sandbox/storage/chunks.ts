import { createHash, hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { type CheckNextSignature, ServiceError } from '../http.js';

/** Iterates over a request body. If the iteration stops early, the connection stays open, so that an answer can still be sent. */
export const pieces = (stream: Readable): AsyncIterableIterator<Buffer> => stream.iterator({ destroyOnReturn: false });

/**
 * Decodes a body in the encoding `aws-chunked`, and adds its trailers to `trailers`. With `checkNextSignature`, chunks and trailers must be
 * signed. Each signature covers the one before it, so they are checked in order. The bytes of a chunk are yielded before its check, so the
 * caller discards all of them if the check throws.
 * A signed body, with line breaks as `|`: `5;chunk-signature=…|hello|0;chunk-signature=…|x-amz-checksum-crc32:…|x-amz-trailer-signature:…||`
 */
export async function* unchunked(
  stream: Readable,
  trailers: Record<string, string>,
  checkNextSignature?: CheckNextSignature,
): AsyncGenerator<Buffer> {
  const { readLine, readBytes } = createReader(stream);
  const headForm = checkNextSignature === undefined ? unsignedHead : signedHead;
  let size: number;
  do {
    const head = readHead(await readLine(), headForm);
    size = head.size;
    const sha256 = createHash('sha256');
    let unreadBytes = size;
    while (unreadBytes > 0) {
      const piece = await readBytes(unreadBytes);
      unreadBytes -= piece.length;
      if (checkNextSignature !== undefined) sha256.update(piece);
      yield piece;
    }
    checkNextSignature?.('PAYLOAD', sha256.digest('hex'), head.signature);

    // Each chunk ends with a line break, except for the last, which is empty.
    if (size > 0 && (await readLine()) !== '') throw malformed();
  } while (size > 0);

  const lines: string[] = [];
  let line = await readLine();
  while (line !== '') {
    lines.push(line);
    line = await readLine();
  }
  const { [signatureTrailer]: signature = '', ...values } = trailersOf(lines);
  Object.assign(trailers, values);

  // Without trailers there is no trailer signature. The signature of the last chunk has already shown that no chunk is missing.
  if (lines.length === 0 || checkNextSignature === undefined) return;
  const signedLines = Object.entries(values).map(([name, value]) => `${name}:${value}\n`);
  checkNextSignature('TRAILER', hash('sha256', Buffer.from(signedLines.join(''), 'latin1')), signature);
}

const signatureTrailer = 'x-amz-trailer-signature';

/** Parses lines such as `name: value` to values by name. Some clients put an additional line feed at the end of a line. */
const trailersOf = (lines: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    lines.map((text) => {
      const [, name = '', value = ''] = /^([^:]+):\s*(.*?)\n?$/.exec(text) ?? [];
      return [name.toLowerCase(), value];
    }),
  );

/** The forms of the line before a chunk: the size of the chunk in hex and, in a signed body, the signature of the chunk. */
const unsignedHead = /^([0-9a-f]{1,10})$/i;
const signedHead = /^([0-9a-f]{1,10});chunk-signature=([0-9a-f]{64})$/i;

function readHead(line: string, form: RegExp) {
  const [, size, signature = ''] = form.exec(line) ?? [];
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
  /** Removes up to `bytes` bytes from the start of the buffer. */
  const take = (bytes: number): Buffer => {
    const taken = buffer.subarray(0, bytes);
    buffer = buffer.subarray(taken.length);
    return taken;
  };

  return {
    /** Reads the next line, and returns it without its line break. */
    async readLine(): Promise<string> {
      let end = buffer.indexOf('\r\n');
      while (end < 0) {
        if (buffer.length > maximumLine) throw malformed();
        await receiveMore();
        end = buffer.indexOf('\r\n');
      }
      return take(end + 2).toString('latin1', 0, end);
    },
    /** Reads the bytes that have already arrived: at least one, and at most `bytes`. */
    async readBytes(bytes: number): Promise<Buffer> {
      if (buffer.length === 0) await receiveMore();
      return take(bytes);
    },
  };
}

const maximumLine = 4096;

const malformed = () => new ServiceError(400, 'IncompleteBody', 'The chunks of the body are malformed or incomplete.');
