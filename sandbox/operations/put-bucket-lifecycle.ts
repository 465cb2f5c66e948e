import { empty, ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { notOffered } from '../storage/requests.js';
import { isDocumentOf, textOf } from '../storage/xml.js';

const elements = ['Rule', 'ID', 'Filter', 'Prefix', 'Status', 'Expiration', 'Days'];

/** Keeps the rules; the sandbox deletes nothing by them. */
export const putBucketLifecycle = defineOperation({
  request: 'PUT /{bucket}?lifecycle',
  handle({ parameters: { bucket }, body, headers }, { storage }) {
    const record = storage.findBucket(bucket);
    if (headers['content-md5'] === undefined)
      throw new ServiceError(400, 'InvalidRequest', 'Missing required header for this request: Content-MD5.');
    const document = body.toString('utf8');
    if (!/<Rule>/.test(document)) throw malformed('It has no rule.');
    if (!isDocumentOf(document, 'LifecycleConfiguration', elements))
      throw notOffered('more in a lifecycle rule than ID, prefix, status and days');
    const lifecycle = [...document.matchAll(/<Rule>([\s\S]*?)<\/Rule>/g)].map(([, rule = '']) => readRule(rule));
    const ids = lifecycle.map(({ id }) => id);
    if (new Set(ids).size < ids.length)
      throw new ServiceError(400, 'InvalidArgument', 'Rule ID must be unique. Found same ID for more than one rule.');
    storage.buckets.set(bucket, { ...record, lifecycle });
    return empty();
  },
});

function readRule(rule: string) {
  const [id = '', prefix = '', status = '', days = ''] = ['ID', 'Prefix', 'Status', 'Days'].map((name) =>
    textOf(rule, name),
  );
  if (id.length > 255)
    throw new ServiceError(400, 'InvalidArgument', 'ID length should not exceed allowed limit of 255.');
  if (status !== 'Enabled' && status !== 'Disabled') throw malformed('Status must be Enabled or Disabled.');
  if (!/^[1-9]\d{0,8}$/.test(days))
    throw new ServiceError(400, 'InvalidArgument', "'Days' for Expiration action must be a positive integer.");
  return { id, prefix, status, days: Number(days) };
}

const malformed = (why: string) =>
  new ServiceError(400, 'MalformedXML', `The XML you provided was not well-formed or did not validate. ${why}`);
