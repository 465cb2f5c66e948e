import { empty, ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { notOffered } from '../storage/requests.js';
import { isDocumentOf, textOf, xml } from '../storage/xml.js';

export const listBuckets = defineOperation({
  request: 'GET /',
  handle(_, { storage }) {
    const buckets = [...storage.buckets].map(([Name, { created }]) => ({ Name, CreationDate: created }));
    return xml('ListAllMyBucketsResult', { Buckets: { Bucket: buckets } });
  },
});

export const createBucket = defineOperation({
  request: 'PUT /{bucket}',
  handle({ parameters: { bucket }, body }, { storage, now }) {
    if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
      throw new ServiceError(400, 'InvalidBucketName', 'The specified bucket is not valid.');
    if (storage.buckets.has(bucket))
      throw new ServiceError(409, 'BucketAlreadyOwnedByYou', 'You have this bucket already.');
    const configuration = body.toString('utf8');
    if (configuration !== '' && !isDocumentOf(configuration, 'CreateBucketConfiguration', ['LocationConstraint']))
      throw notOffered('more about a bucket than its LocationConstraint');
    const region = textOf(configuration, 'LocationConstraint');
    storage.buckets.set(bucket, { created: now().toISOString(), region });
    return empty({ location: `/${bucket}` });
  },
});

export const headBucket = defineOperation({
  request: 'HEAD /{bucket}',
  handle({ parameters }, { storage }) {
    storage.findBucket(parameters.bucket);
    return empty();
  },
});

export const getBucketLocation = defineOperation({
  request: 'GET /{bucket}?location',
  handle: ({ parameters }, { storage }) =>
    xml('LocationConstraint', storage.findBucket(parameters.bucket).region ?? ''),
});
