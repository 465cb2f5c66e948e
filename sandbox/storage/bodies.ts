import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type ApiRequest, ServiceError } from '../http.js';
import { checksumAlgorithms, checksumHeader, checksumHeaders, createDigest } from './checksums.js';
import { notOffered } from './requests.js';

export const readShort = (request: ApiRequest): Promise<Buffer> =>
  receive(request, 8 * 1024 * 1024, buffer).then(({ stored }) => stored);

/**
 * Stores the payload of a body. Throws a `ServiceError` if it has more than `maximum` bytes or does not match its headers
 * and trailers. Resolves with the checksums that the client sent and, in any case, the one `wanted`.
 */
export async function receive<Stored>(
  { headers, stream }: ApiRequest,
  maximum: number,
  store: (payload: AsyncIterable<Buffer>) => Promise<Stored>,
  wanted?: string,
) {
  const { isChunked, trailer, sha256: declared } = announcementOf(headers);
  const isSent = (header: string) => header in headers || header === trailer;
  const checked = checksumAlgorithms.filter((one) => one === wanted || isSent(checksumHeader(one)));
  const digests = new Map(checked.map((one) => [checksumHeader(one), createDigest(one)]));
  const md5 = createHash('md5');
  const sha256 = declared === undefined ? undefined : createHash('sha256');

  const tooLarge = new ServiceError(400, 'EntityTooLarge', `The body may have at most ${maximum} bytes.`);
  if (Number(headers['x-amz-decoded-content-length'] ?? headers['content-length']) > maximum) throw tooLarge;
  const trailers: Record<string, string> = {};
  let size = 0;
  async function* payload() {
    for await (const piece of isChunked ? unchunked(stream, trailers) : pieces(stream)) {
      size += piece.length;
      if (size > maximum) throw tooLarge;
      for (const digest of [md5, sha256, ...digests.values()]) digest?.update(piece);
      yield piece;
    }
  }
  const stored = await store(payload());

  if (sha256 !== undefined && sha256.digest('hex') !== declared)
    throw new ServiceError(400, 'XAmzContentSHA256Mismatch', 'The content-sha256 header does not match the body.');
  if (isChunked && Number(headers['x-amz-decoded-content-length'] ?? size) !== size)
    throw new ServiceError(400, 'IncompleteBody', `The body has ${size} bytes: not x-amz-decoded-content-length.`);
  const binary = md5.digest();
  const found = [...digests].map(([header, digest]) => [header, digest.digest().toString('base64')] as const);
  const checksums = Object.fromEntries(found);
  const given = { ...headers, ...trailers };
  for (const [header, value] of Object.entries({ ...checksums, 'content-md5': binary.toString('base64') }))
    if ((isSent(header) || header in given) && given[header] !== value)
      throw new ServiceError(400, 'BadDigest', `The body does not match ${header}.`);
  return { stored, size, etag: binary.toString('hex'), checksums };
}

/** The form of a body as its headers announce it. Throws a `ServiceError` for one that is not offered. */
function announcementOf(headers: ApiRequest['headers']) {
  const declared = headers['x-ext-content-sha256'] ?? headers['x-amz-content-sha256'] ?? '';
  if (declared.startsWith('STREAMING-AWS4-')) throw notOffered('bodies whose chunks are signed');
  const trailer = headers['x-amz-trailer'];
  if (trailer !== undefined && !checksumHeaders.includes(trailer)) throw notOffered(`the trailer ${trailer}`);
  const sha256 = /^[0-9a-f]{64}$/.test(declared) ? declared : undefined;
  const isChunked = declared === 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
  const isUnsigned = declared === 'UNSIGNED-PAYLOAD' && !('x-ext-content-sha256' in headers);
  if (sha256 === undefined && !isChunked && !isUnsigned)
    throw new ServiceError(400, 'InvalidArgument', 'The content-sha256 header must be the SHA-256 of the body.');
  return { isChunked, trailer, sha256 };
}

/** Pieces of a stream, which stays open if the reading ends early, so that an answer can be sent. */
const pieces = (stream: Readable): AsyncIterableIterator<Buffer> => stream.iterator({ destroyOnReturn: false });

/** Decodes a body in the encoding `aws-chunked`. Adds the headers after the last chunk to `trailers`. */
async function* unchunked(stream: Readable, trailers: Record<string, string>): AsyncGenerator<Buffer> {
  const arriving = pieces(stream);
  const malformed = new ServiceError(400, 'IncompleteBody', 'The chunks of the body are malformed or incomplete.');
  let buffer: Buffer = Buffer.alloc(0);
  const more = async () => {
    const { value, done } = await arriving.next();
    if (done === true) throw malformed;
    buffer = buffer.length === 0 ? value : Buffer.concat([buffer, value]);
  };
  const line = async (): Promise<string> => {
    const end = buffer.indexOf('\r\n');
    if (end < 0 && buffer.length > 4096) throw malformed;
    if (end < 0) return more().then(line);
    const text = buffer.toString('latin1', 0, end);
    buffer = buffer.subarray(end + 2);
    return text;
  };
  for (;;) {
    const size = await line();
    if (!/^[0-9a-f]{1,10}$/i.test(size)) throw malformed;
    let left = Number.parseInt(size, 16);
    if (left === 0) break;
    while (left > 0) {
      if (buffer.length === 0) await more();
      const piece = buffer.subarray(0, left);
      buffer = buffer.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
    if ((await line()) !== '') throw malformed;
  }
  for (let text = await line(); text !== ''; text = await line()) {
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(text) ?? [];
    trailers[name.toLowerCase()] = value;
  }
}
