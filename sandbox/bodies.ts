import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';

/** A body on its way, and the headers that say what it should be. */
export interface Incoming {
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: Readable;
}

/** Why storage refuses a request, as S3 says it. */
export class S3Error extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, string>>;
  constructor(status: number, code: string, message: string, details: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export interface Received {
  /** Bytes. */
  readonly size: number;
  /** Hexadecimal. */
  readonly md5: string;
}

/** Streams a body into a new file. Leaves no file and throws a `S3Error` if it is not what its headers say. */
export async function receive(
  incoming: Incoming,
  { path, maximum, durable }: { path: string; maximum: number; durable: boolean },
): Promise<Received> {
  let received: Received | undefined;
  const payload = checked(incoming, maximum, (all) => {
    received = all;
  });
  try {
    await pipeline(payload, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: durable }));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  if (received === undefined) throw new Error('the body was not read to its end');
  return received;
}

/** A short body, as text. */
export async function readText(incoming: Incoming, maximum: number): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of checked(incoming, maximum, () => undefined)) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

interface Digest {
  update(data: Buffer): unknown;
  digest(encoding: 'base64' | 'hex'): string;
}

function crc32Digest(): Digest {
  let value = 0;
  return {
    update: (data) => {
      value = crc32(data, value);
    },
    digest: (encoding) => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value);
      return bytes.toString(encoding);
    },
  };
}

/** Checksums that a client may send and that are checked; others are taken as they are. */
const checksums: Readonly<Record<string, () => Digest>> = {
  'x-amz-checksum-crc32': crc32Digest,
  'x-amz-checksum-sha1': () => createHash('sha1'),
  'x-amz-checksum-sha256': () => createHash('sha256'),
};

/** The payload of a body. Throws at its end if it is not what the headers and trailers say. */
async function* checked(
  { headers, stream }: Incoming,
  maximum: number,
  onEnd: (received: Received) => void,
): AsyncGenerator<Buffer> {
  const declared = headers['x-ext-content-sha256'] ?? headers['x-amz-content-sha256'] ?? '';
  if (declared.startsWith('STREAMING-AWS4-'))
    throw new S3Error(501, 'NotImplemented', 'The sandbox does not take bodies whose chunks are signed.');
  const trailers: Record<string, string> = {};
  const md5 = createHash('md5');
  const digests = Object.entries(checksums)
    .filter(([name]) => headers[name] !== undefined || headers['x-amz-trailer'] === name)
    .map(([name, make]) => ({ name, digest: make() }));
  const sha256 = /^[0-9a-f]{64}$/.test(declared) ? createHash('sha256') : undefined;
  const isChunked = declared === 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
  if (sha256 === undefined && !isChunked && (declared !== 'UNSIGNED-PAYLOAD' || 'x-ext-content-sha256' in headers))
    throw new S3Error(
      400,
      'InvalidArgument',
      'The content-sha256 header must be the SHA-256 of the body, in lower case.',
    );

  const tooLarge = new S3Error(400, 'EntityTooLarge', `The body may have at most ${maximum} bytes.`);
  if (Number(headers['x-amz-decoded-content-length'] ?? headers['content-length']) > maximum) throw tooLarge;
  let size = 0;
  for await (const piece of isChunked ? unchunked(stream, trailers) : pieces(stream)) {
    size += piece.length;
    if (size > maximum) throw tooLarge;
    for (const digest of [md5, sha256, ...digests.map(({ digest }) => digest)]) digest?.update(piece);
    yield piece;
  }

  if (sha256 !== undefined && sha256.digest('hex') !== declared)
    throw new S3Error(400, 'XAmzContentSHA256Mismatch', 'The content-sha256 header does not match the body.');
  if (isChunked && Number(headers['x-amz-decoded-content-length'] ?? size) !== size)
    throw new S3Error(400, 'IncompleteBody', `The body has ${size} bytes, not those of x-amz-decoded-content-length.`);
  const binary = md5.digest();
  const given = { ...headers, ...trailers };
  const wrong = digests.find(({ name, digest }) => digest.digest('base64') !== given[name])?.name;
  const md5IsWrong = 'content-md5' in headers && binary.toString('base64') !== headers['content-md5'];
  if (wrong !== undefined || md5IsWrong)
    throw new S3Error(400, 'BadDigest', `The body does not match ${wrong ?? 'content-md5'}.`);
  onEnd({ size, md5: binary.toString('hex') });
}

/** What arrives. The stream stays open if the reading ends early, so that an answer can be sent. */
async function* pieces(stream: Readable): AsyncGenerator<Buffer> {
  for await (const piece of stream.iterator({ destroyOnReturn: false })) yield piece;
}

/** Takes a body in the encoding `aws-chunked` apart, and notes what follows the last chunk. */
async function* unchunked(stream: Readable, trailers: Record<string, string>): AsyncGenerator<Buffer> {
  const arriving = pieces(stream);
  const malformed = () => new S3Error(400, 'IncompleteBody', 'The chunks of the body are malformed or incomplete.');
  let buffer: Buffer = Buffer.alloc(0);
  const more = async () => {
    const { value, done } = await arriving.next();
    if (done === true) throw malformed();
    buffer = buffer.length === 0 ? value : Buffer.concat([buffer, value]);
  };
  const line = async () => {
    for (let end = buffer.indexOf('\r\n'); ; end = buffer.indexOf('\r\n')) {
      if (end >= 0) {
        const text = buffer.toString('latin1', 0, end);
        buffer = buffer.subarray(end + 2);
        return text;
      }
      if (buffer.length > 4096) throw malformed();
      await more();
    }
  };
  for (;;) {
    const size = await line();
    if (!/^[0-9a-f]{1,10}$/i.test(size)) throw malformed();
    let left = Number.parseInt(size, 16);
    if (left === 0) break;
    while (left > 0) {
      if (buffer.length === 0) await more();
      const piece = buffer.subarray(0, left);
      buffer = buffer.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
    if ((await line()) !== '') throw malformed();
  }
  for (let text = await line(); text !== ''; text = await line()) {
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(text) ?? [];
    trailers[name.toLowerCase()] = value;
  }
}
