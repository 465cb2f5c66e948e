import { empty } from '../http.js';
import { defineOperation } from '../operation.js';

export const abortMultipartUpload = defineOperation({
  name: 'abort_multipart_upload',
  request: 'DELETE /{bucket}/{key}?uploadId',
  source: 's3',
  answers: 'nothing',
  async handle({ parameters, query }, { storage }) {
    await storage.commit({ op: 'abort', uploadId: storage.findUpload(parameters, query).uploadId });
    return empty({}, 204);
  },
});
