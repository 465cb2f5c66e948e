import { type ApiRequest, bucketInHost, isLoopback, ServiceError } from '../http.js';
import { checksumHeaders } from './checksums.js';

const commonHeaders = [
  ...['x-amz-date', 'x-amz-content-sha256', 'x-amz-security-token', 'x-amz-user-agent'],
  ...['x-ext-date', 'x-ext-content-sha256', 'x-ext-security-token'],
  ...['x-amz-decoded-content-length', 'x-amz-trailer', 'x-amz-sdk-checksum-algorithm', ...checksumHeaders],
];

/** Headers with a value that asks for what the sandbox does anyway. They are accepted with this value only. */
const acceptedValues = new Map([
  ['x-amz-acl', 'private'],
  ['x-amz-storage-class', 'STANDARD'],
  ['x-amz-checksum-type', 'COMPOSITE'],
]);

/** True for a header on a list. An entry that ends with a hyphen, such as `x-amz-meta-`, stands for all headers with this prefix. */
export const isListed = (header: string, list: readonly string[]) =>
  list.some((name) => header === name || (name.endsWith('-') && header.startsWith(name)));

/**
 * Throws a `ServiceError` for a host that is not this machine, for a `key` that is too long, and for a header that the sandbox would ignore, such as
 * one for encryption. `operationHeaders` are the headers that only this operation understands.
 */
export function checkStorageRequest({ headers }: ApiRequest, operationHeaders: readonly string[] = [], key = ''): void {
  if (!isLoopback(headers.host) && bucketInHost(headers.host) === undefined)
    throw notOffered('this host; use 127.0.0.1 or localhost, with the bucket in the path, or bucket.localhost');
  const acceptedHeaders = [...commonHeaders, ...operationHeaders];
  for (const [name, value] of Object.entries(headers)) {
    const hasMeaning = /^(x-(amz|ext)-|if-|range$)/.test(name) && acceptedValues.get(name) !== value;
    if (hasMeaning && !isListed(name, acceptedHeaders)) throw notOffered(`the header ${name}: ${value}`);
  }
  if (Buffer.byteLength(key) > 1024)
    throw new ServiceError(400, 'KeyTooLongError', 'Your key is too long.', { MaxSizeAllowed: '1024' });
}

/** Parses a whole number in the query. Returns `fallback` if the query does not have it. Throws a `ServiceError` for any other text. */
export function wholeNumber(query: ApiRequest['query'], name: string, fallback: number): number {
  const text = query.get(name) ?? String(fallback);
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new ServiceError(400, 'InvalidArgument', `${name} must be a whole number.`);
}

export const encodeKey = (key: string) => encodeURIComponent(key).replaceAll('%2F', '/');

/** The error for a feature of object storage that the sandbox does not have. */
export const notOffered = (what: string) =>
  new ServiceError(501, 'NotImplemented', `The sandbox does not offer ${what}. Nothing was done.`);
