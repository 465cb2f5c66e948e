import { defineOperation } from '../operation.js';
import { checksumAlgorithms } from '../storage/checksums.js';
import { keptHeaders, objectHeaders } from '../storage/objects.js';
import { notOffered } from '../storage/requests.js';
import { xml } from '../storage/xml.js';

export const createMultipartUpload = defineOperation({
  request: 'POST /{bucket}/{key}?uploads',
  headers: [...objectHeaders, 'x-amz-checksum-algorithm'],
  handle({ parameters: { bucket, key }, headers }, { storage, now }) {
    storage.findBucket(bucket);
    const { 'x-amz-checksum-algorithm': algorithm } = headers;
    if (algorithm !== undefined && !checksumAlgorithms.includes(algorithm))
      throw notOffered(`the checksum ${algorithm}, but ${checksumAlgorithms.join(', ')}`);
    const uploadId = storage.nextUploadId();
    const initiated = now().toISOString();
    storage.uploads.set(uploadId, { bucket, key, uploadId, initiated, headers: keptHeaders(headers), algorithm });
    const answer = xml('InitiateMultipartUploadResult', { Bucket: bucket, Key: key, UploadId: uploadId });
    const chosen = algorithm && { 'x-amz-checksum-algorithm': algorithm, 'x-amz-checksum-type': 'COMPOSITE' };
    return { ...answer, headers: { ...answer.headers, ...(chosen || {}) } };
  },
});
