import { type ApiRequest, ServiceError } from '../http.js';
import { encodeKey, wholeNumber } from './requests.js';

/** Helpers for answers that list keys in pages. */

type Query = ApiRequest['query'];

/** Sorts keys by their UTF-8 bytes, as S3 does. */
export const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The owner of all buckets, objects and uploads. */
export const person = { ID: 'sandbox-account', DisplayName: 'Sandbox' };

/** The number of entries per page, at most 1,000. */
export const pageSize = (query: Query, name: string) => Math.min(wholeNumber(query, name, 1000), 1000);

/** The encoding of keys in an answer. */
export function keyEncoding(query: Query): { readonly encode: (key: string) => string; readonly type?: string } {
  const type = query.get('encoding-type');
  if (type === undefined) return { encode: (key) => key };
  if (type !== 'url') throw new ServiceError(400, 'InvalidArgument', 'encoding-type must be url.');
  return { encode: encodeKey, type };
}
