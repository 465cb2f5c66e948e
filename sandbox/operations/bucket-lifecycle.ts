import * as z from 'zod';
import { emptyAnswer, ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { xmlAnswer } from '../storage/xml.js';

const days = z.string().regex(/^[1-9]\d{0,8}$/, 'must be a positive integer');
const rule = z
  .strictObject({
    ID: z.string().max(255, 'should not exceed allowed limit of 255').optional(),
    Filter: z.strictObject({ Prefix: z.string().optional() }).optional(),
    Prefix: z.string().optional(),
    Status: z.enum(['Enabled', 'Disabled']),
    Expiration: z.strictObject({ Days: days }).optional(),
    AbortIncompleteMultipartUpload: z.strictObject({ DaysAfterInitiation: days }).optional(),
  })
  .refine(
    ({ Expiration, AbortIncompleteMultipartUpload }) => (Expiration ?? AbortIncompleteMultipartUpload) !== undefined,
    'must have an action',
  );

const areDistinct = (rules: readonly { readonly ID?: string | undefined }[]) => {
  const ids = rules.flatMap(({ ID }) => ID ?? []);
  return new Set(ids).size === ids.length;
};

/** Stores the lifecycle rules of a bucket. The sandbox never deletes objects or uploads by these rules. */
export const putBucketLifecycle = defineOperation({
  request: 'PUT /{bucket}?lifecycle',
  document: {
    root: 'LifecycleConfiguration',
    structures: ['Rule', 'Filter', 'Expiration', 'AbortIncompleteMultipartUpload'],
    lists: ['Rule'],
  },
  rules: z.strictObject({
    Rule: z.array(rule).refine(areDistinct, 'must be unique. Found same ID for more than one rule'),
  }),
  handle({ parameters: { bucket }, input, headers }, { storage }) {
    const record = storage.findBucket(bucket);
    if (headers['content-md5'] === undefined)
      throw new ServiceError(400, 'InvalidRequest', 'Missing required header for this request: Content-MD5.');
    const lifecycle = input.Rule.map(
      ({ ID = '', Filter, Prefix = '', Status, Expiration, AbortIncompleteMultipartUpload: abort }) => ({
        id: ID,
        prefix: Filter?.Prefix ?? Prefix,
        status: Status,
        ...(Expiration !== undefined && { days: Number(Expiration.Days) }),
        ...(abort !== undefined && { abortAfterDays: Number(abort.DaysAfterInitiation) }),
      }),
    );
    storage.buckets.set(bucket, { ...record, lifecycle });
    return emptyAnswer();
  },
});

export const getBucketLifecycle = defineOperation({
  request: 'GET /{bucket}?lifecycle',
  handle({ parameters: { bucket } }, { storage }) {
    const { lifecycle = [] } = storage.findBucket(bucket);
    if (lifecycle.length === 0)
      throw new ServiceError(404, 'NoSuchLifecycleConfiguration', 'The lifecycle configuration does not exist.');
    return xmlAnswer('LifecycleConfiguration', {
      Rule: lifecycle.map(({ id, prefix, status, days, abortAfterDays }) => ({
        ID: id,
        Filter: { Prefix: prefix },
        Status: status,
        Expiration: days === undefined ? undefined : { Days: days },
        AbortIncompleteMultipartUpload:
          abortAfterDays === undefined ? undefined : { DaysAfterInitiation: abortAfterDays },
      })),
    });
  },
});
