import { empty } from '../http.js';
import { defineOperation } from '../operation.js';

export const headBucket = defineOperation({
  request: 'HEAD /{bucket}',
  handle({ parameters }, { storage }) {
    storage.findBucket(parameters.bucket);
    return empty();
  },
});
