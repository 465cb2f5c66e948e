import { isIP } from 'node:net';
import { emptyAnswer, ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { byBytes } from '../storage/pages.js';
import { notOffered, wholeNumber } from '../storage/requests.js';
import { isDocumentOf, textOf, xmlAnswer } from '../storage/xml.js';

/** The regions with object storage, which docs/API.md names for RestoreInstance. */
const regions = ['jp-east-1', 'jp-west-2'];

/** Prefixes and suffixes of bucket names that S3 reserves. */
const reserved = /^(xn--|sthree-|amzn-s3-demo-)|(-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$/;

const isBucketName = (name: string) =>
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) && !name.includes('..') && isIP(name) === 0 && !reserved.test(name);

/** The most buckets of a page, which is also the default of a request with any of the options. */
const largestPage = 10_000;

export const listBuckets = defineOperation({
  request: 'GET /',
  options: ['continuation-token', 'max-buckets', 'prefix'],
  handle({ query }, { storage }) {
    const maximum = wholeNumber(query, 'max-buckets', largestPage);
    if (maximum < 1 || maximum > largestPage)
      throw new ServiceError(400, 'InvalidArgument', `max-buckets must be from 1 to ${largestPage}.`);
    const after = Buffer.from(query.get('continuation-token') ?? '', 'base64url').toString();
    const prefix = query.get('prefix') ?? '';
    const buckets = [...storage.buckets]
      .map(([Name, { created }]) => ({ Name, CreationDate: created }))
      .filter(({ Name }) => Name.startsWith(prefix) && byBytes(Name, after) > 0)
      .sort((a, b) => byBytes(a.Name, b.Name));
    const page = buckets.slice(0, maximum);
    const last = page.length < buckets.length ? page.at(-1)?.Name : undefined;
    return xmlAnswer('ListAllMyBucketsResult', {
      Buckets: { Bucket: page },
      ContinuationToken: last && Buffer.from(last).toString('base64url'),
      Prefix: query.has('prefix') ? prefix : undefined,
    });
  },
});

export const createBucket = defineOperation({
  request: 'PUT /{bucket}',
  handle({ parameters: { bucket }, body }, { storage, now }) {
    if (!isBucketName(bucket)) throw new ServiceError(400, 'InvalidBucketName', 'The specified bucket is not valid.');
    if (storage.buckets.has(bucket))
      throw new ServiceError(409, 'BucketAlreadyOwnedByYou', 'You have this bucket already.');
    const configuration = body.toString('utf8');
    if (configuration !== '' && !isDocumentOf(configuration, 'CreateBucketConfiguration', ['LocationConstraint']))
      throw notOffered('more about a bucket than its LocationConstraint');
    const region = textOf(configuration, 'LocationConstraint');
    if (region !== undefined && region !== '' && !regions.includes(region))
      throw new ServiceError(400, 'InvalidLocationConstraint', `The location must be ${regions.join(' or ')}.`, {
        LocationConstraint: region,
      });
    storage.buckets.set(bucket, { created: now().toISOString(), region });
    return emptyAnswer({ location: `/${bucket}` });
  },
});

export const headBucket = defineOperation({
  request: 'HEAD /{bucket}',
  handle({ parameters }, { storage }) {
    storage.findBucket(parameters.bucket);
    return emptyAnswer();
  },
});

export const getBucketLocation = defineOperation({
  request: 'GET /{bucket}?location',
  handle: ({ parameters }, { storage }) =>
    xmlAnswer('LocationConstraint', storage.findBucket(parameters.bucket).region ?? ''),
});
