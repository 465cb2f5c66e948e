import { ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { readShort } from '../storage/bodies.js';
import { checksumAlgorithms, checksumHeader, checksumHeaders } from '../storage/checksums.js';
import { completedObject, type StoredObject, type Upload } from '../storage/contents.js';
import { encodeKey } from '../storage/listing.js';
import { sizeOf } from '../storage/objects.js';
import { isDocumentOf, textOf, xml } from '../storage/xml.js';

export const completeMultipartUpload = defineOperation({
  name: 'complete_multipart_upload',
  request: 'POST /{bucket}/{key}?uploadId',
  headers: ['x-amz-mp-object-size'],
  source: 's3',
  streams: true,
  async handle(request, { storage, now, minimumPartSize }) {
    const { parameters, query, headers } = request;
    // A checksum is that of the object here, and not of the body.
    const ofBody = Object.entries(headers).filter(([name]) => !checksumHeaders.includes(name));
    const named = namedParts(await readShort({ ...request, headers: Object.fromEntries(ofBody) }));
    const uploadId = query.get('uploadId') ?? '';
    const before = storage.contents.completed.get(uploadId);
    // The first answer may have been lost.
    if (before?.bucket === parameters.bucket && before.key === parameters.key && isMadeOf(before, named))
      return answerOf(before);
    const upload = storage.findUpload(parameters, query);
    checkParts(upload, named, minimumPartSize);
    const change = { partNumbers: named.map(({ partNumber }) => partNumber), lastModified: now().toISOString() };
    const object = completedObject(upload, change);
    checkObject(object, headers);
    await storage.commit({ op: 'complete', uploadId, ...change });
    return answerOf(object);
  },
});

interface NamedPart {
  readonly partNumber: number;
  readonly etag: string | undefined;
  /** Base64, by algorithm. */
  readonly checksums: readonly (readonly [algorithm: string, value: string | undefined])[];
}

function namedParts(body: Buffer): NamedPart[] {
  const document = body.toString('utf8');
  const elements = ['Part', 'PartNumber', 'ETag', ...checksumAlgorithms.map((algorithm) => `Checksum${algorithm}`)];
  const named = [...document.matchAll(/<Part>([\s\S]*?)<\/Part>/g)].map(([, part = '']) => ({
    partNumber: Number(textOf(part, 'PartNumber')),
    etag: textOf(part, 'ETag')?.replaceAll('"', ''),
    checksums: checksumAlgorithms.map((algorithm) => [algorithm, textOf(part, `Checksum${algorithm}`)] as const),
  }));
  const isDocument = isDocumentOf(document, 'CompleteMultipartUpload', elements);
  if (!isDocument || named.length === 0 || named.some(({ partNumber }) => Number.isNaN(partNumber)))
    throw new ServiceError(400, 'MalformedXML', 'The body is not a list of parts with their numbers.');
  return named;
}

const isMadeOf = ({ parts }: StoredObject, named: readonly NamedPart[]) =>
  parts.length === named.length &&
  parts.every(({ partNumber, etag }, at) => partNumber === named[at]?.partNumber && etag === named[at]?.etag);

/** Throws a `ServiceError` if no object can be made of these parts. */
function checkParts({ uploadId, parts, algorithm }: Upload, named: readonly NamedPart[], minimumSize: number): void {
  if (named.some(({ partNumber }, index) => partNumber <= (named[index - 1]?.partNumber ?? 0)))
    throw new ServiceError(400, 'InvalidPartOrder', 'The parts must be in ascending order.');
  for (const [index, { partNumber, etag, checksums }] of named.entries()) {
    const part = parts().get(partNumber);
    const refuse = (code: string, message: string, details = {}) =>
      new ServiceError(400, code, message, { UploadId: uploadId, PartNumber: String(partNumber), ...details });
    const isOther = checksums.some(
      ([name, value]) => value !== undefined && !(name === algorithm && value === part?.checksum),
    );
    if (part === undefined || part.etag !== etag || isOther)
      throw refuse('InvalidPart', 'A part was not uploaded, or its ETag or checksum is another one.');
    if (part.size < minimumSize && index < named.length - 1)
      throw refuse('EntityTooSmall', 'A part that is not the last is too small.', {
        ProposedSize: String(part.size),
        MinSizeAllowed: String(minimumSize),
      });
  }
}

/** Throws a `ServiceError` if the object is not what the client says it is. */
function checkObject({ parts, checksum }: StoredObject, headers: Readonly<Record<string, string>>): void {
  const { 'x-amz-mp-object-size': size } = headers;
  if (size !== undefined && Number(size) !== sizeOf(parts))
    throw new ServiceError(400, 'InvalidRequest', `The parts do not have ${size} bytes together.`);
  const own = checksum && checksumHeader(checksum.algorithm);
  const wrong = checksumHeaders.find((name) => name in headers && !(name === own && headers[name] === checksum?.value));
  if (wrong !== undefined) throw new ServiceError(400, 'BadDigest', `The object does not match ${wrong}.`);
}

const answerOf = ({ bucket, key, etag, checksum }: StoredObject) =>
  xml('CompleteMultipartUploadResult', {
    Location: `/${bucket}/${encodeKey(key)}`,
    Bucket: bucket,
    Key: key,
    ETag: `"${etag}"`,
    ...(checksum && { [`Checksum${checksum.algorithm}`]: checksum.value, ChecksumType: 'COMPOSITE' }),
  });
