import { type ApiRequest, ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { checksumElements } from '../storage/checksums.js';
import type { Upload } from '../storage/records.js';
import { encodeKey, notOffered, wholeNumber } from '../storage/requests.js';
import { xml } from '../storage/xml.js';

/** ListParts (reference, sections 2.2 and 4.1). Checksums are S3's. */
export const listParts = defineOperation({
  request: 'GET /{bucket}/{key}?uploadId',
  options: ['encoding-type', 'max-parts', 'part-number-marker'],
  source: 'reference',
  handle({ parameters, query }, { storage }) {
    const upload = storage.findUpload(parameters, query);
    const marker = wholeNumber(query, 'part-number-marker', 0);
    const maximum = pageSize(query, 'max-parts');
    const { encode, type } = keyEncoding(query);
    const after = [...storage.partsOf(upload.uploadId).values()]
      .filter(({ partNumber }) => partNumber > marker)
      .sort((a, b) => a.partNumber - b.partNumber);
    const page = after.slice(0, maximum);
    const isTruncated = after.length > page.length;
    const next = page.at(-1)?.partNumber ?? marker;
    return xml('ListPartsResult', {
      Bucket: upload.bucket,
      Key: encode(upload.key),
      UploadId: upload.uploadId,
      ...aboutUpload(upload),
      'Encoding-Type': type,
      // The reference's sample has these only in a truncated answer.
      ...(isTruncated && { PartNumberMarker: marker, MaxParts: maximum, NextPartNumberMarker: next }),
      IsTruncated: isTruncated,
      Part: page.map(({ partNumber, lastModified, etag, size, checksums }) => ({
        PartNumber: partNumber,
        LastModified: lastModified,
        ETag: `"${etag}"`,
        Size: size,
        ...checksumElements(checksums),
      })),
    });
  },
});

export const listMultipartUploads = defineOperation({
  request: 'GET /{bucket}?uploads',
  options: ['delimiter', 'encoding-type', 'key-marker', 'max-uploads', 'prefix', 'upload-id-marker'],
  handle({ parameters: { bucket }, query }, { storage }) {
    storage.findBucket(bucket);
    const given = (name: string) => query.get(name) ?? '';
    if (given('delimiter') !== '') throw notOffered('groups of keys');
    const [keyMarker, idMarker, prefix] = [given('key-marker'), given('upload-id-marker'), given('prefix')];
    const maximum = pageSize(query, 'max-uploads');
    const { encode, type } = keyEncoding(query);
    const after = [...storage.uploads.values()]
      .filter((upload) => upload.bucket === bucket && upload.key.startsWith(prefix))
      .filter(({ key, uploadId }) => {
        const isSameKey = key === keyMarker && idMarker !== '';
        return byBytes(key, keyMarker) > 0 || (isSameKey && uploadId > idMarker);
      })
      .sort((a, b) => byBytes(a.key, b.key) || byBytes(a.uploadId, b.uploadId));
    const page = after.slice(0, maximum);
    const isTruncated = after.length > page.length;
    const last = page.at(-1);
    return xml('ListMultipartUploadsResult', {
      Bucket: bucket,
      KeyMarker: encode(keyMarker),
      UploadIdMarker: idMarker,
      ...(isTruncated && last && { NextKeyMarker: encode(last.key), NextUploadIdMarker: last.uploadId }),
      Prefix: encode(prefix),
      EncodingType: type,
      MaxUploads: maximum,
      IsTruncated: isTruncated,
      Upload: page.map((upload) => ({
        Key: encode(upload.key),
        UploadId: upload.uploadId,
        ...aboutUpload(upload),
        Initiated: upload.initiated,
      })),
    });
  },
});

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

type Query = ApiRequest['query'];

const person = { ID: 'sandbox-account', DisplayName: 'Sandbox' };

/** Elements about an upload's owner and its future object. */
const aboutUpload = ({ algorithm }: Upload) => ({
  Initiator: person,
  Owner: person,
  StorageClass: 'STANDARD',
  ChecksumAlgorithm: algorithm,
  ChecksumType: algorithm && 'COMPOSITE',
});

/** Entries of a page: at most 1,000. */
const pageSize = (query: Query, name: string) => Math.min(wholeNumber(query, name, 1000), 1000);

/** The encoding of keys in an answer. */
function keyEncoding(query: Query): { readonly encode: (key: string) => string; readonly type?: string } {
  const type = query.get('encoding-type');
  if (type === undefined) return { encode: (key) => key };
  if (type !== 'url') throw new ServiceError(400, 'InvalidArgument', 'encoding-type must be url.');
  return { encode: encodeKey, type };
}
