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
 * Decodes a body while `store` reads it, and then checks it against the headers and against the trailers, which follow the body. Throws a
 * `ServiceError` if the body does not match them, or has more than `maximum` bytes. Resolves with `stored`, the result of `store`, and with the
 * computed `checksums` by header: one for each checksum that the client sends, and one for `wantedAlgorithm`, even if the client sends none.
 */
export async function receiveBody<Stored>(
  request: ApiRequest,
  maximum: number,
  store: (payload: AsyncIterable<Buffer>) => Promise<Stored>,
  wantedAlgorithm?: string,
) {
  const { headers, stream } = request;
  const { isChunked, hasSignedChunks, announcedTrailer, declaredSha256 } = bodyEncodingOf(headers);
  const tooLarge = () => new ServiceError(400, 'EntityTooLarge', `The body may have at most ${maximum} bytes.`);
  if (Number(headers['x-amz-decoded-content-length'] ?? headers['content-length']) > maximum) throw tooLarge();

  // A client sends a checksum in a header, or in the trailer that the header `x-amz-trailer` announces.
  const clientSends = (name: string) => name in headers || name === announcedTrailer;
  const algorithms = checksumAlgorithms.filter(
    (algorithm) => algorithm === wantedAlgorithm || clientSends(checksumHeader(algorithm)),
  );
  const digests = new Map(algorithms.map((algorithm) => [checksumHeader(algorithm), createDigest(algorithm)]));
  // The MD5 is always computed, because the MD5 is also the ETag of the body.
  const md5 = createHash('md5');
  const sha256OfBody = declaredSha256 === undefined ? undefined : createHash('sha256');

  // `request.checkNext` checks the signature of a chunk. Requests without a checked signature, which exist only in tests, have no `checkNext`.
  // Then signed chunks are refused.
  const checkNext = hasSignedChunks ? (request.checkNext ?? refuseSignedChunks) : undefined;
  /** The trailers that came. `unchunked` adds them at the end of the body. */
  const trailers: Record<string, string> = {};
  /** The number of decoded bytes that were read. */
  let size = 0;
  /** Yields the decoded body, and updates its size and its digests. */
  async function* payload() {
    const decoded = isChunked ? unchunked(stream, trailers, checkNext) : pieces(stream);
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
  const declaredSize = isChunked ? headers['x-amz-decoded-content-length'] : undefined;
  if (declaredSize !== undefined && Number(declaredSize) !== size)
    throw new ServiceError(400, 'IncompleteBody', `The body has ${size} bytes: not x-amz-decoded-content-length.`);

  const md5OfBody = md5.digest();
  const checksums = Object.fromEntries(
    [...digests].map(([header, digest]) => [header, digest.digest().toString('base64')] as const),
  );
  // Each checksum that the client sent must match, and the announced trailer must have come.
  const computed = { ...checksums, 'content-md5': md5OfBody.toString('base64') };
  checkChecksums(computed, { ...headers, ...trailers }, announcedTrailer);
  return { stored, size, etag: md5OfBody.toString('hex'), checksums };
}

/** Throws a `ServiceError` if the client sent another checksum than the computed one, or did not send the announced trailer. */
function checkChecksums(
  computed: Readonly<Record<string, string>>,
  received: Readonly<Record<string, string>>,
  announcedTrailer: string | undefined,
): void {
  for (const [header, value] of Object.entries(computed)) {
    const isExpected = header in received || header === announcedTrailer;
    if (isExpected && received[header] !== value)
      throw new ServiceError(400, 'BadDigest', `The body does not match ${header}.`);
  }
}

/** Takes the place of `checkNext` in a request whose own signature was not checked, so that the signatures of its chunks cannot be checked. */
const refuseSignedChunks: CheckNext = () => {
  throw notOffered('signed chunks without a checked signature of the headers');
};

/** Reads from the headers how a body is encoded and signed. Throws a `ServiceError` for an encoding that the sandbox does not offer. */
function bodyEncodingOf(headers: ApiRequest['headers']) {
  // A client sends `x-amz-content-sha256`, as in S3, or `x-ext-content-sha256` (docs/API.md: Signing). The value is the SHA-256 of a body
  // that comes without chunks, or a word for any other encoding.
  const contentSha256 = headers['x-ext-content-sha256'] ?? headers['x-amz-content-sha256'] ?? '';
  const declaredSha256 = /^[0-9a-f]{64}$/.test(contentSha256) ? contentSha256 : undefined;
  const hasSignedChunks = signedChunkEncodings.includes(contentSha256);
  const isChunked = hasSignedChunks || contentSha256 === 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
  // Without chunks, only S3 allows an unsigned body.
  const isUnsignedPayload = contentSha256 === 'UNSIGNED-PAYLOAD' && !('x-ext-content-sha256' in headers);

  const hasOtherSignature = contentSha256.startsWith('STREAMING-AWS4-') && !hasSignedChunks;
  if (hasOtherSignature) throw notOffered(`bodies of the form ${contentSha256}`);
  // Unsigned chunks may leave out their total length.
  if (hasSignedChunks && headers['x-amz-decoded-content-length'] === undefined)
    throw new ServiceError(411, 'MissingContentLength', 'The header x-amz-decoded-content-length is missing.');
  const announcedTrailer = headers['x-amz-trailer'];
  if (announcedTrailer !== undefined && !checksumHeaders.includes(announcedTrailer))
    throw notOffered(`the trailer ${announcedTrailer}`);
  if (declaredSha256 === undefined && !isChunked && !isUnsignedPayload)
    throw new ServiceError(400, 'InvalidArgument', 'The content-sha256 header must be the SHA-256 of the body.');
  return { isChunked, hasSignedChunks, announcedTrailer, declaredSha256 };
}

/** The values of the content-sha256 header that announce a body in signed chunks, without and with trailers. */
const signedChunkEncodings = ['STREAMING-AWS4-HMAC-SHA256-PAYLOAD', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER'];
