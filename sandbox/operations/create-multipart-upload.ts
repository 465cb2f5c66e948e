import { defineOperation } from '../operation.js';
import { checksumAlgorithms } from '../storage/checksums.js';
import { keptHeaders, objectHeaders } from '../storage/objects.js';
import { notOffered } from '../storage/requests.js';
import { element, xml } from '../storage/xml.js';

export const createMultipartUpload = defineOperation({
  name: 'create_multipart_upload',
  request: 'POST /{bucket}/{key}?uploads',
  headers: [...objectHeaders, 'x-amz-checksum-algorithm'],
  source: 's3',
  async handle({ parameters: { bucket, key }, headers }, { storage, now }) {
    storage.checkBucket(bucket);
    const { 'x-amz-checksum-algorithm': algorithm } = headers;
    if (algorithm !== undefined && !checksumAlgorithms.includes(algorithm))
      throw notOffered(`the checksum ${algorithm}, but ${checksumAlgorithms.join(', ')}`);
    const uploadId = storage.nextUploadId();
    const initiated = now().toISOString();
    await storage.commit({ op: 'create', bucket, key, uploadId, initiated, headers: keptHeaders(headers), algorithm });
    return xml(
      'InitiateMultipartUploadResult',
      [element('Bucket', bucket), element('Key', key), element('UploadId', uploadId)],
      algorithm === undefined ? {} : { 'x-amz-checksum-algorithm': algorithm, 'x-amz-checksum-type': 'COMPOSITE' },
    );
  },
});
