import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';

/** This file decompresses bodies. Requests do not ask for compression, but some services and proxies compress anyway. */

/** The content types of text that gzip may hide although no header says so. Other bodies may be files that are meant to be compressed. */
const textTypes = /^(?:$|text\/|application\/(?:[\w.-]+\+)?(?:xml|json))/i;

/**
 * Undoes the codings that `content-encoding` names, the last one first. Gzip is recognized by its first bytes, because some services send it
 * without naming it, and some proxies undo it but leave the header. Unknown codings are left as they are.
 * @param headers with lower-case names
 * @param maximumBytes limit of the decompressed body
 * @throws an error of zlib (a code that begins with `Z_`, `ERR_BUFFER_TOO_LARGE` or a code of Brotli) for a damaged or too large body
 */
export function decompress(body: Buffer, headers: Readonly<Record<string, string>>, maximumBytes: number): Buffer {
  const codings = (headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim());
  const isText = textTypes.test(headers['content-type'] ?? '');
  let bytes = body;
  for (const coding of [...codings, ...(isText ? ['gzip'] : [])].reverse()) bytes = undo(coding, bytes, maximumBytes);
  return bytes;
}

function undo(coding: string, body: Buffer, maxOutputLength: number): Buffer {
  if (body.length === 0) return body;
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body, { maxOutputLength }) : body;
    case 'deflate':
      return hasZlibHeader(body) ? inflateSync(body, { maxOutputLength }) : inflateRawSync(body, { maxOutputLength });
    case 'br':
      return brotliDecompressSync(body, { maxOutputLength });
    default:
      return body;
  }
}

/** True for deflate with the header that RFC 9110 asks for. Some services send it without (RFC 1950, section 2.2: method 8, and a check). */
const hasZlibHeader = (body: Buffer): boolean =>
  body.length > 1 && ((body[0] ?? 0) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;
