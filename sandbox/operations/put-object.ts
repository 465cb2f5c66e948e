import { empty } from '../http.js';
import { defineOperation } from '../operation.js';
import { wholeChecksum } from '../storage/checksums.js';
import { keptHeaders, objectHeaders } from '../storage/objects.js';

export const putObject = defineOperation({
  request: 'PUT /{bucket}/{key}',
  headers: objectHeaders,
  streams: true,
  async handle(request, { storage, now }) {
    const { bucket, key } = request.parameters;
    storage.findBucket(bucket);
    const received = await storage.files.receive(request);
    const { etag } = received;
    const checksums = wholeChecksum(received.checksums);
    const lastModified = now().toISOString();
    const parts = [{ ...received, partNumber: 1, lastModified }];
    const headers = keptHeaders(request.headers);
    const replaced = storage.storeObject({ bucket, key, etag, lastModified, headers, parts, checksums });
    await storage.files.remove(replaced);
    return empty({ etag: `"${etag}"`, ...checksums });
  },
});
