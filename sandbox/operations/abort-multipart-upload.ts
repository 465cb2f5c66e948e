import { empty } from '../http.js';
import { defineOperation } from '../operation.js';

export const abortMultipartUpload = defineOperation({
  request: 'DELETE /{bucket}/{key}?uploadId',
  async handle({ parameters, query }, { storage }) {
    const { uploadId } = storage.findUpload(parameters, query);
    await storage.files.remove(storage.endUpload(uploadId));
    return empty({}, 204);
  },
});
