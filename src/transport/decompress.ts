import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';

/** Decompresses bodies, because some services and proxies compress without being asked. */

/** Other bodies may be files that are meant to be compressed. */
const textTypes = /^(?:$|text\/|application\/(?:[\w.-]+\+)?(?:xml|json))/i;

/**
 * Also undoes gzip that no header names.
 * @throws an error of zlib
 */
export function decompress(body: Buffer, headers: Readonly<Record<string, string>>, maximumBytes: number): Buffer {
  const codings = (headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim());
  const isText = textTypes.test(headers['content-type'] ?? '');
  let bytes = body;
  for (const coding of [...codings, ...(isText ? ['gzip'] : [])].reverse()) {
    try {
      bytes = undo(coding, bytes, maximumBytes);
    } catch (error) {
      // Some services name a coding that they did not apply.
      if (!looksPlain.test(bytes.toString('latin1', 0, plainLength))) throw error;
    }
  }
  return bytes;
}

/** The beginning of XML, HTML or JSON. */
const looksPlain = /^\s*[<{[][\t\n\r -~]*$/;
const plainLength = 32;

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

/** Some services send deflate without the header that RFC 9110 asks for. */
const hasZlibHeader = (body: Buffer): boolean =>
  body.length > 1 && ((body[0] ?? 0) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;
