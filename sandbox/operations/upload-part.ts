import { empty, ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { wholeNumber } from '../storage/listing.js';

export const uploadPart = defineOperation({
  request: 'PUT /{bucket}/{key}?uploadId',
  options: ['partNumber'],
  streams: true,
  async handle(request, { storage, now }) {
    const { query, parameters } = request;
    const partNumber = wholeNumber(query, 'partNumber', 0);
    if (partNumber < 1 || partNumber > 10_000)
      throw new ServiceError(400, 'InvalidArgument', 'partNumber must be a whole number from 1 to 10000.');
    const { uploadId, algorithm } = storage.findUpload(parameters, query);
    const received = await storage.files.receive(request, algorithm);
    const part = { ...received, partNumber, lastModified: now().toISOString() };
    // It may have been completed or aborted in the meantime.
    if (!storage.uploads.has(uploadId)) await storage.files.remove([part]);
    storage.findUpload(parameters, query);
    const parts = storage.partsOf(uploadId);
    const replaced = parts.get(String(partNumber));
    parts.set(String(partNumber), part);
    await storage.files.remove(replaced === undefined ? [] : [replaced]);
    return empty({ etag: `"${part.etag}"`, ...part.checksums });
  },
});
