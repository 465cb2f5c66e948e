import { defineOperation } from '../operation.js';
import { checksumElements } from '../storage/checksums.js';
import { aboutUpload, keyEncoding, pageSize, wholeNumber } from '../storage/listing.js';
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
      // The reference's sample leaves these out of an answer that is not truncated.
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
