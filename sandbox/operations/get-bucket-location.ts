import { defineOperation } from '../operation.js';
import { xml } from '../storage/xml.js';

export const getBucketLocation = defineOperation({
  request: 'GET /{bucket}?location',
  handle: ({ parameters }, { storage }) =>
    xml('LocationConstraint', storage.findBucket(parameters.bucket).region ?? ''),
});
