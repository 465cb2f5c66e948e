import { defineOperation } from '../operation.js';
import { xml } from '../storage/xml.js';

export const listBuckets = defineOperation({
  request: 'GET /',
  handle(_, { storage }) {
    const buckets = [...storage.buckets].map(([Name, { created }]) => ({ Name, CreationDate: created }));
    return xml('ListAllMyBucketsResult', { Buckets: { Bucket: buckets } });
  },
});
