import { defineOperation } from '../operation.js';
import { checksumElements, encodingOf, pageSize, people, wholeNumber } from '../storage/listing.js';
import { element, xml } from '../storage/xml.js';

/** ListParts (reference, sections 2.2 and 4.1). Checksums are S3's. */
export const listParts = defineOperation({
  name: 'list_parts',
  request: 'GET /{bucket}/{key}?uploadId',
  options: ['encoding-type', 'max-parts', 'part-number-marker'],
  source: 'reference',
  handle({ parameters, query }, { storage }) {
    const upload = storage.findUpload(parameters, query);
    const marker = wholeNumber(query, 'part-number-marker', 0);
    const maximum = pageSize(query, 'max-parts');
    const { encode, encodingElements } = encodingOf(query, 'Encoding-Type');
    const after = [...upload.parts().values()]
      .filter(({ partNumber }) => partNumber > marker)
      .sort((a, b) => a.partNumber - b.partNumber);
    const page = after.slice(0, maximum);
    const isTruncated = after.length > page.length;
    return xml('ListPartsResult', [
      element('Bucket', upload.bucket),
      element('Key', encode(upload.key)),
      element('UploadId', upload.uploadId),
      ...people,
      ...checksumElements(upload),
      ...encodingElements,
      // The reference's sample leaves these out of an answer that is not truncated.
      ...(isTruncated
        ? [
            element('PartNumberMarker', marker),
            element('MaxParts', maximum),
            element('NextPartNumberMarker', page.at(-1)?.partNumber ?? marker),
          ]
        : []),
      element('IsTruncated', isTruncated),
      ...page.map(
        ({ partNumber, lastModified, etag, size, checksum }) =>
          `<Part>${element('PartNumber', partNumber)}${element('LastModified', lastModified)}` +
          `${element('ETag', `"${etag}"`)}${element('Size', size)}` +
          `${checksum === undefined ? '' : element(`Checksum${upload.algorithm}`, checksum)}</Part>`,
      ),
    ]);
  },
});
