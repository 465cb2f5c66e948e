import { hash } from 'node:crypto';
import { ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { readShort } from '../storage/bodies.js';
import { checksumElements, checksumHeaders, checksumNames, compositeChecksum } from '../storage/checksums.js';
import { type Part, type StoredObject, sizeOf, tableKeyOf, type Upload } from '../storage/records.js';
import { encodeKey } from '../storage/requests.js';
import { isDocumentOf, textOf, xmlAnswer } from '../storage/xml.js';

const minimumPartSize = 5 * 1024 * 1024;

export const completeMultipartUpload = defineOperation({
  request: 'POST /{bucket}/{key}?uploadId',
  headers: ['x-amz-mp-object-size'],
  streams: true,
  async handle(request, { storage, now }) {
    const { parameters, query, headers } = request;
    // The checksum headers of this request are those of the whole object, so `readShort` must not compare them with the body.
    const otherHeaders = Object.entries(headers).filter(([name]) => !checksumHeaders.includes(name));
    const listedParts = readListedParts(await readShort({ ...request, headers: Object.fromEntries(otherHeaders) }));

    // A client that lost the answer sends the same request again, and gets the same answer although the upload has ended.
    const existing = storage.objects.get(tableKeyOf(parameters));
    if (existing !== undefined && existing.uploadId === query.get('uploadId') && isMadeOf(existing, listedParts))
      return answerOf(existing);

    const upload = storage.findUpload(parameters, query);
    const parts = findListedParts(upload.uploadId, listedParts, storage.partsOf(upload.uploadId));
    const object = objectFrom(upload, parts, now().toISOString());
    checkAgainstHeaders(object, headers);

    const uploadedParts = storage.endUpload(upload.uploadId);
    const replacedParts = storage.storeObject(object);

    // Deletes the files of parts that the client did not list, and of the object that had the same name before.
    const usedParts = new Set(parts);
    const unusedParts = uploadedParts.filter((part) => !usedParts.has(part));
    await storage.files.remove([...unusedParts, ...replacedParts]);
    return answerOf(object);
  },
});

type ListedPart = ReturnType<typeof readListedParts>[number];

/** Parses the list of parts in the body. Each has its number, its ETag, and pairs of checksum header and value (undefined if missing). */
function readListedParts(body: Buffer) {
  const document = body.toString('utf8');
  const elements = ['Part', 'PartNumber', 'ETag', ...checksumNames.values()];
  const listedParts = [...document.matchAll(/<Part>([\s\S]*?)<\/Part>/g)].map(([, part = '']) => ({
    partNumber: Number(textOf(part, 'PartNumber')),
    etag: textOf(part, 'ETag')?.replaceAll('"', ''),
    checksums: [...checksumNames].map(([header, element]) => [header, textOf(part, element)] as const),
  }));
  const isDocument = isDocumentOf(document, 'CompleteMultipartUpload', elements);
  if (!isDocument || listedParts.length === 0 || listedParts.some(({ partNumber }) => Number.isNaN(partNumber)))
    throw new ServiceError(400, 'MalformedXML', 'The body is not a list of parts with their numbers.');
  return listedParts;
}

const isMadeOf = ({ parts }: StoredObject, listedParts: readonly ListedPart[]) =>
  parts.length === listedParts.length &&
  parts.every(({ partNumber, etag }, index) => {
    const listed = listedParts[index];
    return partNumber === listed?.partNumber && etag === listed.etag;
  });

/** Returns the stored parts that the client lists. Throws a `ServiceError` if one is missing, differs from the list or is too small. */
function findListedParts(
  uploadId: string,
  listedParts: readonly ListedPart[],
  storedParts: ReadonlyMap<string, Part>,
): Part[] {
  if (listedParts.some(({ partNumber }, index) => partNumber <= (listedParts[index - 1]?.partNumber ?? 0)))
    throw new ServiceError(400, 'InvalidPartOrder', 'The parts must be in ascending order.');

  return listedParts.map(({ partNumber, etag, checksums }, index) => {
    const part = storedParts.get(String(partNumber));
    const ids = { UploadId: uploadId, PartNumber: String(partNumber) };
    const hasOtherChecksum = checksums.some(
      ([header, value]) => value !== undefined && value !== part?.checksums[header],
    );
    if (part === undefined || part.etag !== etag || hasOtherChecksum)
      throw new ServiceError(400, 'InvalidPart', 'A part is missing, or has another ETag or checksum.', ids);

    // Only the last part may be smaller.
    if (part.size >= minimumPartSize || index === listedParts.length - 1) return part;
    const sizes = { ProposedSize: String(part.size), MinSizeAllowed: String(minimumPartSize) };
    throw new ServiceError(400, 'EntityTooSmall', 'A part that is not the last is too small.', { ...ids, ...sizes });
  });
}

function objectFrom(upload: Upload, parts: readonly Part[], lastModified: string): StoredObject {
  const { bucket, key, uploadId, headers, algorithm } = upload;
  const digests = Buffer.from(parts.map(({ etag }) => etag).join(''), 'hex');
  const etag = `${hash('md5', digests)}-${parts.length}`;
  const checksums = compositeChecksum(algorithm, parts);
  return { bucket, key, uploadId, headers, etag, lastModified, parts: [...parts], checksums };
}

/** Throws a `ServiceError` if the new object does not have the size or the checksum that the client's headers name. */
function checkAgainstHeaders({ parts, checksums }: StoredObject, headers: Readonly<Record<string, string>>): void {
  const { 'x-amz-mp-object-size': size } = headers;
  if (size !== undefined && Number(size) !== sizeOf(parts))
    throw new ServiceError(400, 'InvalidRequest', `The parts do not have ${size} bytes together.`);
  const wrong = checksumHeaders.find((name) => name in headers && headers[name] !== checksums[name]);
  if (wrong !== undefined) throw new ServiceError(400, 'BadDigest', `The object does not match ${wrong}.`);
}

const answerOf = ({ bucket, key, etag, checksums }: StoredObject) =>
  xmlAnswer('CompleteMultipartUploadResult', {
    Location: `/${bucket}/${encodeKey(key)}`,
    Bucket: bucket,
    Key: key,
    ETag: `"${etag}"`,
    ...checksumElements(checksums),
  });
