import { type ApiRequest, ServiceError } from '../http.js';
import type { Upload } from './contents.js';
import { element } from './xml.js';

/** What the lists of object storage have in common. */

type Query = ApiRequest['query'];

const person = element('ID', 'sandbox-account') + element('DisplayName', 'Sandbox');
export const owner = `<Owner>${person}</Owner>`;
/** Who began an upload, and the class that its object will have. */
export const people = [`<Initiator>${person}</Initiator>`, owner, element('StorageClass', 'STANDARD')];

export const checksumElements = ({ algorithm }: Upload) =>
  algorithm === undefined ? [] : [element('ChecksumAlgorithm', algorithm), element('ChecksumType', 'COMPOSITE')];

/** How many entries a page may have: 1,000 at most. */
export const pageSize = (query: Query, name: string) => Math.min(wholeNumber(query, name, 1000), 1000);

/** A number in a query. Throws a `ServiceError` if it is none. */
export function wholeNumber(query: Query, name: string, fallback: number): number {
  const text = query.get(name) ?? String(fallback);
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new ServiceError(400, 'InvalidArgument', `${name} must be a whole number.`);
}

export const encodeKey = (key: string) => encodeURIComponent(key).replaceAll('%2F', '/');

/** How keys are written in an answer, and the element that says so. */
export function encodingOf(query: Query, name = 'EncodingType') {
  const encodingType = query.get('encoding-type');
  if (encodingType !== undefined && encodingType !== 'url')
    throw new ServiceError(400, 'InvalidArgument', 'encoding-type must be url.');
  const encode = (key: string) => (encodingType === undefined ? key : encodeKey(key));
  return { encode, encodingElements: encodingType === undefined ? [] : [element(name, encodingType)] };
}
