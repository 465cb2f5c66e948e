import { empty, ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { checksumHeader } from '../storage/checksums.js';
import { wholeNumber } from '../storage/listing.js';

export const uploadPart = defineOperation({
  name: 'upload_part',
  request: 'PUT /{bucket}/{key}?uploadId',
  options: ['partNumber'],
  source: 's3',
  answers: 'nothing',
  streams: true,
  async handle(request, { storage, now }) {
    const { query, parameters } = request;
    const partNumber = wholeNumber(query, 'partNumber', 0);
    if (partNumber < 1 || partNumber > 10_000)
      throw new ServiceError(400, 'InvalidArgument', 'partNumber must be a whole number from 1 to 10000.');
    const { uploadId, algorithm = '' } = storage.findUpload(parameters, query);
    const { file, size, md5: etag, checksums } = await storage.files.receive(request, algorithm);
    // It may have been completed or aborted in the meantime.
    if (!storage.contents.uploads.has(uploadId)) await storage.files.remove([file]);
    storage.findUpload(parameters, query);
    const part = {
      partNumber,
      size,
      etag,
      lastModified: now().toISOString(),
      file,
      checksum: checksums.get(algorithm),
    };
    await storage.commit({ op: 'part', uploadId, part });
    const named = [...checksums].map(([algorithm, value]) => [checksumHeader(algorithm), value]);
    return empty({ etag: `"${etag}"`, ...Object.fromEntries(named) });
  },
});
