import { defineOperation } from '../operation.js';
import { owner } from '../storage/listing.js';
import { element, xml } from '../storage/xml.js';

export const listBuckets = defineOperation({
  name: 'list_buckets',
  request: 'GET /',
  source: 's3',
  handle(_, { storage }) {
    const buckets = [...storage.contents.buckets].map(
      ([name, { created = beforeItWasKept }]) =>
        `<Bucket>${element('Name', name)}${element('CreationDate', created)}</Bucket>`,
    );
    return xml('ListAllMyBucketsResult', [owner, `<Buckets>${buckets.join('')}</Buckets>`]);
  },
});

/** Older states do not say when a bucket was created. */
const beforeItWasKept = '2026-01-01T00:00:00.000Z';
