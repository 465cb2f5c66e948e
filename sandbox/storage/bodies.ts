import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { type ApiRequest, type CheckNext, ServiceError } from '../http.js';
import { checksumAlgorithms, checksumHeader, checksumHeaders, createDigest } from './checksums.js';
import { pieces, unchunked } from './chunks.js';
import { notOffered } from './requests.js';

/** Reads a body of at most 8 MiB into memory. Throws a `ServiceError` if `receiveBody` does. */
export const readShort = (request: ApiRequest): Promise<Buffer> =>
  receiveBody(request, 8 * 1024 * 1024, buffer).then(({ stored }) => stored);

/**
 * Passes the decoded body to `store`, and checks it against its headers and trailers. Throws a `ServiceError` if it does not match them, or
 * has more than `maximum` bytes. Resolves with the computed checksums: by the algorithms that the client announced, and by `wantedAlgorithm`.
 */
export async function receiveBody<Stored>(
  { headers, stream, checkNext = uncheckable }: ApiRequest,
  maximum: number,
  store: (payload: AsyncIterable<Buffer>) => Promise<Stored>,
  wantedAlgorithm?: string,
) {
  const { isChunked, hasSignedChunks, trailer, declaredSha256 } = bodyEncodingOf(headers);
  const tooLarge = () => new ServiceError(400, 'EntityTooLarge', `The body may have at most ${maximum} bytes.`);
  if (Number(headers['x-amz-decoded-content-length'] ?? headers['content-length']) > maximum) throw tooLarge();

  // The digests are updated while `store` reads the body. A trailer, which follows the body, is announced by the headers.
  const isAnnounced = (header: string) => header in headers || header === trailer;
  const algorithms = checksumAlgorithms.filter(
    (algorithm) => algorithm === wantedAlgorithm || isAnnounced(checksumHeader(algorithm)),
  );
  const digests = new Map(algorithms.map((algorithm) => [checksumHeader(algorithm), createDigest(algorithm)]));
  const md5 = createHash('md5');
  const sha256OfBody = declaredSha256 === undefined ? undefined : createHash('sha256');

  /** Filled when `unchunked` has reached the end of the body. */
  const trailers: Record<string, string> = {};
  /** The number of decoded bytes that were read. */
  let size = 0;
  async function* payload() {
    const decoded = isChunked ? unchunked(stream, trailers, hasSignedChunks ? checkNext : undefined) : pieces(stream);
    for await (const piece of decoded) {
      size += piece.length;
      if (size > maximum) throw tooLarge();
      for (const digest of [md5, sha256OfBody, ...digests.values()]) digest?.update(piece);
      yield piece;
    }
  }
  const stored = await store(payload());

  // The whole body has been read, so its digests and trailers are complete.
  if (sha256OfBody !== undefined && sha256OfBody.digest('hex') !== declaredSha256)
    throw new ServiceError(400, 'XAmzContentSHA256Mismatch', 'The content-sha256 header does not match the body.');
  // Without chunks, Node.js itself ends the body after `content-length` bytes, and fails if fewer come.
  if (isChunked && Number(headers['x-amz-decoded-content-length'] ?? size) !== size)
    throw new ServiceError(400, 'IncompleteBody', `The body has ${size} bytes: not x-amz-decoded-content-length.`);

  const md5OfBody = md5.digest();
  const checksums = Object.fromEntries(
    [...digests].map(([header, digest]) => [header, digest.digest().toString('base64')] as const),
  );
  const computed = { ...checksums, 'content-md5': md5OfBody.toString('base64') };
  checkChecksums(computed, { ...headers, ...trailers }, isAnnounced);
  return { stored, size, etag: md5OfBody.toString('hex'), checksums };
}

/** Throws a `ServiceError` if the client sent another checksum than the computed one, or announced a checksum that did not come. */
function checkChecksums(
  computed: Readonly<Record<string, string>>,
  received: Readonly<Record<string, string>>,
  isAnnounced: (header: string) => boolean,
): void {
  for (const [header, value] of Object.entries(computed)) {
    const isExpected = isAnnounced(header) || header in received;
    if (isExpected && received[header] !== value)
      throw new ServiceError(400, 'BadDigest', `The body does not match ${header}.`);
  }
}

/** Refuses signed chunks in a request whose own signature was not checked, because the chunk signatures continue it. */
const uncheckable: CheckNext = () => {
  throw notOffered('signed chunks without a checked signature of the headers');
};

/** Reads from the headers how a body is encoded and signed. Throws a `ServiceError` for an encoding that the sandbox does not offer. */
function bodyEncodingOf(headers: ApiRequest['headers']) {
  // The SHA-256 of the body, or a word such as `UNSIGNED-PAYLOAD` or `STREAMING-…` for a body that is signed in another way or not at all.
  const contentSha256 = headers['x-ext-content-sha256'] ?? headers['x-amz-content-sha256'] ?? '';
  const hasSignedChunks = signedForms.includes(contentSha256);
  if (contentSha256.startsWith('STREAMING-AWS4-') && !hasSignedChunks)
    throw notOffered(`bodies of the form ${contentSha256}`);
  // Unsigned chunks are accepted without this header.
  if (hasSignedChunks && headers['x-amz-decoded-content-length'] === undefined)
    throw new ServiceError(411, 'MissingContentLength', 'The header x-amz-decoded-content-length is missing.');

  const trailer = headers['x-amz-trailer'];
  if (trailer !== undefined && !checksumHeaders.includes(trailer)) throw notOffered(`the trailer ${trailer}`);

  const declaredSha256 = /^[0-9a-f]{64}$/.test(contentSha256) ? contentSha256 : undefined;
  const isChunked = hasSignedChunks || contentSha256 === 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
  // Without chunks, `x-ext-content-sha256` must be the hash (docs/API.md: Signing). Only S3's own header may leave the body unsigned.
  const isUnsignedPayload = contentSha256 === 'UNSIGNED-PAYLOAD' && !('x-ext-content-sha256' in headers);
  if (declaredSha256 === undefined && !isChunked && !isUnsignedPayload)
    throw new ServiceError(400, 'InvalidArgument', 'The content-sha256 header must be the SHA-256 of the body.');
  return { isChunked, hasSignedChunks, trailer, declaredSha256 };
}

/** The values of the content-sha256 header that announce a body in signed chunks, without and with trailers. */
const signedForms = ['STREAMING-AWS4-HMAC-SHA256-PAYLOAD', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER'];
