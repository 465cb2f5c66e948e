import { empty } from '../http.js';
import { defineOperation } from '../operation.js';

export const headBucket = defineOperation({
  name: 'head_bucket',
  request: 'HEAD /{bucket}',
  handle({ parameters }, { storage }) {
    storage.checkBucket(parameters.bucket);
    return empty();
  },
});
