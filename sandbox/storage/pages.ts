import { type ApiRequest, ServiceError } from '../http.js';
import { encodeKey, wholeNumber } from './requests.js';

/** This file has helpers for answers that list buckets, keys or uploads in pages. */

type Query = ApiRequest['query'];

/** Compares two keys by their UTF-8 bytes, which is the order of S3. */
export const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The owner of all buckets, objects and uploads. */
export const sandboxOwner = { ID: 'sandbox-account', DisplayName: 'Sandbox' };

/** The maximum number of entries in a page: the number in the query, but at most 1,000. */
export const pageSize = (query: Query, name: string) => Math.min(wholeNumber(query, name, 1000), 1000);

/** The function that encodes the keys in an answer, and the value of `encoding-type`, if the query asks for an encoding. */
export function keyEncoding(query: Query): { readonly encode: (key: string) => string; readonly type?: string } {
  const type = query.get('encoding-type');
  if (type === undefined) return { encode: (key) => key };
  if (type !== 'url') throw new ServiceError(400, 'InvalidArgument', 'encoding-type must be url.');
  return { encode: encodeKey, type };
}
