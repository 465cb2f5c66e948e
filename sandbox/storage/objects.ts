import { type ApiRequest, empty, ServiceError } from '../http.js';
import { type StoredObject, sizeOf } from './records.js';
import { isListed, notOffered } from './requests.js';

/** Headers of an upload that its object is served with. */
export const objectHeaders = [
  ...['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'content-type', 'expires'],
  ...['x-amz-meta-', 'x-ext-meta-'],
];

export function keptHeaders(headers: ApiRequest['headers']): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => isListed(name, objectHeaders));
  const decoded = own.map(([name, value]) => [name, value.replace(/^aws-chunked(, *|$)/, '')] as const);
  return Object.fromEntries(decoded.filter(([, value]) => value !== ''));
}

/** Headers of a request for an object that are understood. */
export const readHeaders = ['range', 'if-match', 'x-amz-checksum-mode'];

/** Which bytes a request is for, and the answer to it without them. Throws a `ServiceError` if it cannot have them. */
export function describeObject(object: StoredObject, request: ApiRequest) {
  const { etag, lastModified, headers, parts, checksums } = object;
  if (![undefined, '*', etag, `"${etag}"`].includes(request.headers['if-match']))
    throw new ServiceError(412, 'PreconditionFailed', 'The object has another ETag.', { Condition: 'If-Match' });
  const size = sizeOf(parts);
  const range = rangeOf(request.headers.range, size);
  const { first, last } = range ?? { first: 0, last: size - 1 };
  const isChecked = request.headers['x-amz-checksum-mode'] === 'ENABLED' && range === undefined;
  const about = {
    'content-type': 'binary/octet-stream',
    ...headers,
    'accept-ranges': 'bytes',
    'content-length': String(last - first + 1),
    etag: `"${etag}"`,
    'last-modified': new Date(lastModified).toUTCString(),
    ...(range && { 'content-range': `bytes ${first}-${last}/${size}` }),
    ...(isChecked && checksums),
  };
  return { answer: empty(about, range === undefined ? 200 : 206), first, last };
}

/** One range of bytes. What is no range is ignored, as RFC 9110 (section 14.2) wants it. */
function rangeOf(header: string | undefined, size: number) {
  if (header === undefined) return undefined;
  if (header.includes(',')) throw notOffered('several ranges of bytes at once');
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? [];
  if (from === '' && to === '') return undefined;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined;
  const first = from === '' ? Math.max(size - Number(to), 0) : Number(from);
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (first <= last) return { first, last };
  const details = { RangeRequested: header, ActualObjectSize: String(size) };
  throw new ServiceError(416, 'InvalidRange', 'The requested range is not satisfiable.', details);
}
