import { type ApiRequest, ServiceError } from '../http.js';
import type { Upload } from './records.js';

type Query = ApiRequest['query'];

const person = { ID: 'sandbox-account', DisplayName: 'Sandbox' };

/** Who began an upload, and what its object will have. */
export const aboutUpload = ({ algorithm }: Upload) => ({
  Initiator: person,
  Owner: person,
  StorageClass: 'STANDARD',
  ChecksumAlgorithm: algorithm,
  ChecksumType: algorithm && 'COMPOSITE',
});

/** How many entries a page may have: 1,000 at most. */
export const pageSize = (query: Query, name: string) => Math.min(wholeNumber(query, name, 1000), 1000);

/** A number in a query. Throws a `ServiceError` if it is none. */
export function wholeNumber(query: Query, name: string, fallback: number): number {
  const text = query.get(name) ?? String(fallback);
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new ServiceError(400, 'InvalidArgument', `${name} must be a whole number.`);
}

export const encodeKey = (key: string) => encodeURIComponent(key).replaceAll('%2F', '/');

/** How keys are written in an answer. */
export function keyEncoding(query: Query): { readonly encode: (key: string) => string; readonly type?: string } {
  const type = query.get('encoding-type');
  if (type === undefined) return { encode: (key) => key };
  if (type !== 'url') throw new ServiceError(400, 'InvalidArgument', 'encoding-type must be url.');
  return { encode: encodeKey, type };
}
