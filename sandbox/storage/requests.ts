import { type ApiRequest, isLoopback, ServiceError } from '../http.js';
import { checksumHeaders } from './checksums.js';

const commonHeaders = [
  ...['x-amz-date', 'x-amz-content-sha256', 'x-amz-security-token', 'x-amz-user-agent'],
  ...['x-ext-date', 'x-ext-content-sha256', 'x-ext-security-token'],
  ...['x-amz-decoded-content-length', 'x-amz-trailer', 'x-amz-sdk-checksum-algorithm', ...checksumHeaders],
];

/** Header values that ask for the sandbox's only behaviour. They are accepted. */
const givenAnyway = new Map([
  ['x-amz-acl', 'private'],
  ['x-amz-storage-class', 'STANDARD'],
  ['x-amz-checksum-type', 'COMPOSITE'],
]);

/** True for a header on a list. A listed name that ends in a hyphen stands for all headers that begin with it. */
export const isListed = (header: string, list: readonly string[]) =>
  list.some((name) => header === name || (name.endsWith('-') && header.startsWith(name)));

/** Throws a `ServiceError` for a header that the sandbox would ignore. `own` lists the headers of the operation. */
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

/** Parses a number of the query. Throws a `ServiceError` if it is not a number. */
export function wholeNumber(query: ApiRequest['query'], name: string, fallback: number): number {
  const text = query.get(name) ?? String(fallback);
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new ServiceError(400, 'InvalidArgument', `${name} must be a whole number.`);
}

export const encodeKey = (key: string) => encodeURIComponent(key).replaceAll('%2F', '/');

/** The error for a feature of object storage that the sandbox does not have. */
export const notOffered = (what: string) =>
  new ServiceError(501, 'NotImplemented', `The sandbox does not offer ${what}. Nothing was done.`);
