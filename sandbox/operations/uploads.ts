import { emptyAnswer, ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { checksumAlgorithms } from '../storage/checksums.js';
import { notOffered, wholeNumber } from '../storage/requests.js';
import { xmlAnswer } from '../storage/xml.js';
import { keptHeaders, objectHeaders } from './objects.js';

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
    const answer = xmlAnswer('InitiateMultipartUploadResult', { Bucket: bucket, Key: key, UploadId: uploadId });
    if (algorithm === undefined) return answer;
    const checksumHeaders = { 'x-amz-checksum-algorithm': algorithm, 'x-amz-checksum-type': 'COMPOSITE' };
    return { ...answer, headers: { ...answer.headers, ...checksumHeaders } };
  },
});

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
    try {
      // Throws if the upload was completed or aborted while the body arrived. Then nothing will use the part.
      storage.findUpload(parameters, query);
    } catch (error) {
      await storage.files.remove([part]);
      throw error;
    }

    const parts = storage.partsOf(uploadId);
    const replaced = parts.get(String(partNumber));
    parts.set(String(partNumber), part);
    if (replaced !== undefined) await storage.files.remove([replaced]);
    return emptyAnswer({ etag: `"${part.etag}"`, ...part.checksums });
  },
});

export const abortMultipartUpload = defineOperation({
  request: 'DELETE /{bucket}/{key}?uploadId',
  async handle({ parameters, query }, { storage }) {
    const { uploadId } = storage.findUpload(parameters, query);
    await storage.files.remove(storage.endUpload(uploadId));
    return emptyAnswer({}, 204);
  },
});
