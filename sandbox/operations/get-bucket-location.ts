import { defineOperation } from '../operation.js';
import { xml } from '../storage/xml.js';

export const getBucketLocation = defineOperation({
  request: 'GET /{bucket}?location',
  handle({ parameters: { bucket } }, { storage }) {
    storage.checkBucket(bucket);
    return xml('LocationConstraint', storage.buckets.get(bucket)?.region ?? '');
  },
});
