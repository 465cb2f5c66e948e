import { empty } from '../http.js';
import { defineOperation } from '../operation.js';
import { checksumHeader } from '../storage/checksums.js';
import { keptHeaders, objectHeaders } from '../storage/objects.js';

export const putObject = defineOperation({
  name: 'put_object',
  request: 'PUT /{bucket}/{key}',
  headers: objectHeaders,
  source: 's3',
  answers: 'nothing',
  streams: true,
  async handle(request, { storage, now }) {
    const { bucket, key } = request.parameters;
    storage.checkBucket(bucket);
    const { file, size, md5: etag, checksums } = await storage.files.receive(request);
    const lastModified = now().toISOString();
    const [checksum] = [...checksums].map(([algorithm, value]) => ({ algorithm, value }));
    const parts = [{ partNumber: 1, size, etag, lastModified, file }];
    const headers = keptHeaders(request.headers);
    await storage.commit({ op: 'object', object: { bucket, key, etag, lastModified, headers, parts, checksum } });
    return empty({ etag: `"${etag}"`, ...(checksum && { [checksumHeader(checksum.algorithm)]: checksum.value }) });
  },
});
