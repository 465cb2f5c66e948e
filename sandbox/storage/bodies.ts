import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { type ApiRequest, type CheckNextSignature, ServiceError } from '../http.js';
import { checksumAlgorithms, checksumHeader, checksumHeaders, createDigest } from './checksums.js';
import { pieces, unchunked } from './chunks.js';
import { notOffered } from './requests.js';

/** Reads a body of at most 8 MiB into memory. Throws a `ServiceError` if `receiveBody` does. */
export const readShort = (request: ApiRequest): Promise<Buffer> =>
  receiveBody(request, 8 * 1024 * 1024, buffer).then(({ stored }) => stored);

/**
 * Decodes a body while `store` reads it, and then checks it against the headers and against the trailers, which follow the body. Throws a
 * `ServiceError` if the body does not match them, or has more than `maximum` bytes. Resolves with the result of `store` (`stored`), the number
 * of decoded bytes (`size`), the ETag, and the computed `checksums` by header: one for each checksum that the client sends, and one for
 * `wantedAlgorithm`, even if the client sends none.
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
  const digests = createBodyDigests(algorithms, { needsSha256: declaredSha256 !== undefined });

  // `request.checkNextSignature` checks the signature of a chunk. Only requests in tests have none, because their own signature was not checked.
  const checkNextSignature = hasSignedChunks ? (request.checkNextSignature ?? refuseSignedChunks) : undefined;
  /** The trailers that came. `unchunked` adds them at the end of the body. */
  const trailers: Record<string, string> = {};
  /** The number of decoded bytes that were read. */
  let size = 0;
  /** Yields the decoded body, and updates its size and its digests. */
  async function* payload() {
    const decoded = isChunked ? unchunked(stream, trailers, checkNextSignature) : pieces(stream);
    for await (const piece of decoded) {
      size += piece.length;
      if (size > maximum) throw tooLarge();
      digests.update(piece);
      yield piece;
    }
  }
  const stored = await store(payload());

  // The whole body has been read, so its digests and trailers are complete.
  const { sha256, md5, checksums } = digests.finish();
  if (declaredSha256 !== undefined && sha256 !== declaredSha256)
    throw new ServiceError(400, 'XAmzContentSHA256Mismatch', 'The content-sha256 header does not match the body.');
  // Without chunks, there is nothing to check, because Node.js itself enforces `content-length`.
  const declaredSize = isChunked ? headers['x-amz-decoded-content-length'] : undefined;
  if (declaredSize !== undefined && Number(declaredSize) !== size)
    throw new ServiceError(400, 'IncompleteBody', `The body has ${size} bytes: not x-amz-decoded-content-length.`);

  // Each checksum that the client sent must match, and the announced trailer must have come.
  const computed = { ...checksums, 'content-md5': md5.toString('base64') };
  checkChecksums(computed, { ...headers, ...trailers }, announcedTrailer);
  return { stored, size, etag: md5.toString('hex'), checksums };
}

/** Computes the digests of a body: the MD5 for the ETag, the SHA-256 if `needsSha256`, and the checksums of `algorithms` by header. */
function createBodyDigests(algorithms: readonly string[], { needsSha256 }: { readonly needsSha256: boolean }) {
  const md5 = createHash('md5');
  const sha256 = needsSha256 ? createHash('sha256') : undefined;
  const digests = new Map(algorithms.map((algorithm) => [checksumHeader(algorithm), createDigest(algorithm)]));
  return {
    update(piece: Buffer): void {
      for (const digest of [md5, sha256, ...digests.values()]) digest?.update(piece);
    },
    finish() {
      const checksums = Object.fromEntries(
        [...digests].map(([header, digest]) => [header, digest.digest().toString('base64')] as const),
      );
      return { md5: md5.digest(), sha256: sha256?.digest('hex'), checksums };
    },
  };
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

/** Replaces a missing `checkNextSignature`, because chunk signatures cannot be checked if the signature of the request was not. */
const refuseSignedChunks: CheckNextSignature = () => {
  throw notOffered('signed chunks without a checked signature of the headers');
};

/** Reads from the headers how a body is encoded and signed. Throws a `ServiceError` for an encoding that the sandbox does not offer. */
function bodyEncodingOf(headers: ApiRequest['headers']) {
  // A client sends the header of S3, or the cloud's own header (docs/API.md: Signing).
  const ownHeader = headers['x-ext-content-sha256'];
  const contentSha256 = ownHeader ?? headers['x-amz-content-sha256'] ?? '';
  const encoding = encodingNamed(contentSha256);
  const hasSignedChunks = encoding === 'signed chunks';

  if (encoding === undefined && contentSha256.startsWith('STREAMING-AWS4-'))
    throw notOffered(`bodies of the form ${contentSha256}`);
  // Only signed chunks must declare their total length.
  if (hasSignedChunks && headers['x-amz-decoded-content-length'] === undefined)
    throw new ServiceError(411, 'MissingContentLength', 'The header x-amz-decoded-content-length is missing.');
  const announcedTrailer = headers['x-amz-trailer'];
  if (announcedTrailer !== undefined && !checksumHeaders.includes(announcedTrailer))
    throw notOffered(`the trailer ${announcedTrailer}`);
  // `UNSIGNED-PAYLOAD` is only a value of the S3 header, and not of the cloud's own header.
  const isRefused = encoding === undefined || (encoding === 'unsigned' && ownHeader !== undefined);
  if (isRefused)
    throw new ServiceError(400, 'InvalidArgument', 'The content-sha256 header must be the SHA-256 of the body.');
  return {
    isChunked: hasSignedChunks || encoding === 'unsigned chunks',
    hasSignedChunks,
    announcedTrailer,
    declaredSha256: encoding === 'hashed' ? contentSha256 : undefined,
  };
}

/** The encoding of a body by the value of its content-sha256 header: the SHA-256 of a whole body, or a word. Undefined for any other value. */
function encodingNamed(contentSha256: string) {
  if (/^[0-9a-f]{64}$/.test(contentSha256)) return 'hashed';
  switch (contentSha256) {
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD':
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER':
      return 'signed chunks';
    case 'STREAMING-UNSIGNED-PAYLOAD-TRAILER':
      return 'unsigned chunks';
    case 'UNSIGNED-PAYLOAD':
      return 'unsigned';
    default:
      return undefined;
  }
}
