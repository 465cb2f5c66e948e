import { defineOperation } from '../operation.js';
import { xml } from '../storage/xml.js';

export const listBuckets = defineOperation({
  name: 'list_buckets',
  request: 'GET /',
  source: 's3',
  handle(_, { storage: { contents } }) {
    const buckets = [...contents.buckets].map(([Name, { created }]) => ({ Name, CreationDate: created ?? beforeKept }));
    return xml('ListAllMyBucketsResult', { Buckets: { Bucket: buckets } });
  },
});

/** Older states do not say when a bucket was created. */
const beforeKept = '2026-01-01T00:00:00.000Z';
