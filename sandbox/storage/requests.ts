import { type ApiRequest, isLoopback, ServiceError } from '../http.js';
import { checksumHeaders } from './checksums.js';

const commonHeaders = [
  ...['x-amz-date', 'x-amz-content-sha256', 'x-amz-security-token', 'x-amz-user-agent'],
  ...['x-ext-date', 'x-ext-content-sha256', 'x-ext-security-token'],
  ...['x-amz-decoded-content-length', 'x-amz-trailer', 'x-amz-sdk-checksum-algorithm', ...checksumHeaders],
];

/** Values that ask for the sandbox's only behaviour. */
const givenAnyway = new Map([
  ['x-amz-acl', 'private'],
  ['x-amz-storage-class', 'STANDARD'],
  ['x-amz-checksum-type', 'COMPOSITE'],
]);

/** True for a header on a list. A listed name that ends in a hyphen stands for all headers that begin with it. */
export const isListed = (header: string, list: readonly string[]) =>
  list.some((name) => header === name || (name.endsWith('-') && header.startsWith(name)));

/** Refuses (`ServiceError`) a request that storage would carry out only in part; `own` lists the headers of its operation. */
export function checkStorageRequest({ headers }: ApiRequest, own: readonly string[] = [], key = ''): void {
  if (!isLoopback(headers.host))
    throw notOffered('a bucket in the name of the host; use path-style addressing at 127.0.0.1 or localhost');
  for (const [name, value] of Object.entries(headers)) {
    const hasMeaning = /^(x-(amz|ext)-|if-|range$)/.test(name) && givenAnyway.get(name) !== value;
    if (hasMeaning && !isListed(name, [...commonHeaders, ...own])) throw notOffered(`the header ${name}: ${value}`);
  }
  if (Buffer.byteLength(key) > 1024)
    throw new ServiceError(400, 'KeyTooLongError', 'Your key is too long.', { MaxSizeAllowed: '1024' });
}

/** A number in a query. Throws a `ServiceError` if it is anything else. */
export function wholeNumber(query: ApiRequest['query'], name: string, fallback: number): number {
  const text = query.get(name) ?? String(fallback);
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new ServiceError(400, 'InvalidArgument', `${name} must be a whole number.`);
}

export const encodeKey = (key: string) => encodeURIComponent(key).replaceAll('%2F', '/');

/** A refusal of something that object storage has and the sandbox does not. */
export const notOffered = (what: string) =>
  new ServiceError(501, 'NotImplemented', `The sandbox does not offer ${what}. Nothing was done.`);
