import { defineOperation } from '../operation.js';
import { checksumElements } from '../storage/checksums.js';
import { byBytes, keyEncoding, pageSize, sandboxOwner } from '../storage/pages.js';
import type { Upload } from '../storage/records.js';
import { notOffered, wholeNumber } from '../storage/requests.js';
import { xmlAnswer } from '../storage/xml.js';

/** Lists the parts of an upload as docs/API.md says (ListParts), and their checksums as S3 does. */
export const listParts = defineOperation({
  request: 'GET /{bucket}/{key}?uploadId',
  options: ['encoding-type', 'max-parts', 'part-number-marker'],
  source: 'reference',
  handle({ parameters, query }, { storage }) {
    const upload = storage.findUpload(parameters, query);
    const marker = wholeNumber(query, 'part-number-marker', 0);
    const maximum = pageSize(query, 'max-parts');
    const { encode, type } = keyEncoding(query);

    const partsAfterMarker = [...storage.partsOf(upload.uploadId).values()]
      .filter(({ partNumber }) => partNumber > marker)
      .sort((a, b) => a.partNumber - b.partNumber);
    const page = partsAfterMarker.slice(0, maximum);
    const isTruncated = partsAfterMarker.length > page.length;
    // With `max-parts=0`, the page is empty, and the marker stays.
    const nextMarker = page.at(-1)?.partNumber ?? marker;

    return xmlAnswer('ListPartsResult', {
      Bucket: upload.bucket,
      Key: encode(upload.key),
      UploadId: upload.uploadId,
      ...uploadElements(upload),
      // docs/API.md does not name this element. The tools of cloudops-mcp read it with and without a hyphen. This listing writes the hyphen and
      // ListMultipartUploads does not, so that both spellings are tried.
      'Encoding-Type': type,
      // The sample in docs/API.md has these elements only if more parts follow.
      ...(isTruncated && { PartNumberMarker: marker, MaxParts: maximum, NextPartNumberMarker: nextMarker }),
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
    if ((query.get('delimiter') ?? '') !== '') throw notOffered('groups of keys');

    const keyMarker = query.get('key-marker') ?? '';
    const idMarker = query.get('upload-id-marker') ?? '';
    const prefix = query.get('prefix') ?? '';
    const maximum = pageSize(query, 'max-uploads');
    const { encode, type } = keyEncoding(query);

    // Several uploads may have the key of the marker. Without an ID in the marker, all of them were on the previous page.
    const isAfterMarker = ({ key, uploadId }: Upload) =>
      byBytes(key, keyMarker) > 0 || (key === keyMarker && idMarker !== '' && uploadId > idMarker);
    const uploadsAfterMarker = [...storage.uploads.values()]
      .filter((upload) => upload.bucket === bucket && upload.key.startsWith(prefix) && isAfterMarker(upload))
      .sort((a, b) => byBytes(a.key, b.key) || byBytes(a.uploadId, b.uploadId));
    const page = uploadsAfterMarker.slice(0, maximum);
    const isTruncated = uploadsAfterMarker.length > page.length;
    const last = page.at(-1);

    return xmlAnswer('ListMultipartUploadsResult', {
      Bucket: bucket,
      KeyMarker: encode(keyMarker),
      UploadIdMarker: idMarker,
      ...(isTruncated && last !== undefined && { NextKeyMarker: encode(last.key), NextUploadIdMarker: last.uploadId }),
      Prefix: encode(prefix),
      EncodingType: type,
      MaxUploads: maximum,
      IsTruncated: isTruncated,
      Upload: page.map((upload) => ({
        Key: encode(upload.key),
        UploadId: upload.uploadId,
        ...uploadElements(upload),
        Initiated: upload.initiated,
      })),
    });
  },
});

/** The elements about an upload that both listings have: who began it, and the settings of its later object. */
const uploadElements = ({ algorithm }: Upload) => ({
  Initiator: sandboxOwner,
  Owner: sandboxOwner,
  StorageClass: 'STANDARD',
  ChecksumAlgorithm: algorithm,
  ChecksumType: algorithm && 'COMPOSITE',
});
