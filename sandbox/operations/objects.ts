import { type ApiRequest, emptyAnswer, ServiceError } from '../http.js';
import { defineOperation, markInvented } from '../operation.js';
import { wholeChecksum } from '../storage/checksums.js';
import { type StoredObject, sizeOf } from '../storage/records.js';
import { isListed, notOffered } from '../storage/requests.js';

/** The headers of an upload that are stored with the object, and returned when it is read. A name that ends in `-` is a prefix. */
export const objectHeaders = [
  ...['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'content-type', 'expires'],
  ...['x-amz-meta-', 'x-ext-meta-'],
];

export function keptHeaders(headers: ApiRequest['headers']): Record<string, string> {
  const stored = Object.entries(headers).filter(([name]) => isListed(name, objectHeaders));
  // `aws-chunked` in content-encoding is the encoding of the request, and was decoded. Any other encoding belongs to the object.
  const decoded = stored.map(([name, value]) => [name, value.replace(/^aws-chunked(, *|$)/, '')] as const);
  return Object.fromEntries(decoded.filter(([, value]) => value !== ''));
}

export const putObject = defineOperation({
  request: 'PUT /{bucket}/{key}',
  headers: objectHeaders,
  streams: true,
  async handle(request, { storage, now }) {
    const { bucket, key } = request.parameters;
    storage.findBucket(bucket);
    const received = await storage.files.receive(request);
    const { etag } = received;
    const checksums = wholeChecksum(received.checksums);
    const lastModified = now().toISOString();
    const parts = [{ ...received, partNumber: 1, lastModified }];
    const headers = keptHeaders(request.headers);
    const replaced = storage.storeObject({ bucket, key, etag, lastModified, headers, parts, checksums });
    await storage.files.remove(replaced);
    return emptyAnswer({ etag: `"${etag}"`, ...checksums });
  },
});

/** Deletes an object. As on S3, this succeeds even if the object does not exist. */
export const deleteObject = defineOperation({
  request: 'DELETE /{bucket}/{key}',
  async handle({ parameters }, { storage }) {
    storage.findBucket(parameters.bucket);
    await storage.files.remove(storage.deleteObject(parameters));
    return emptyAnswer({}, 204);
  },
});

const readHeaders = ['range', 'if-match', 'x-amz-checksum-mode'];

export const getObject = defineOperation({
  request: 'GET /{bucket}/{key}',
  headers: readHeaders,
  answersBytes: true,
  handle(request, { storage }) {
    const object = storage.findObject(request.parameters);
    const { answer, firstByte, lastByte } = answerWithoutBody(object, request);
    const response = { ...answer, content: storage.files.read(object.parts, firstByte, lastByte) };
    return object.parts.some(({ file }) => file === undefined) ? markInvented(response, ['content']) : response;
  },
});

export const headObject = defineOperation({
  request: 'HEAD /{bucket}/{key}',
  headers: readHeaders,
  handle: (request, { storage }) => answerWithoutBody(storage.findObject(request.parameters), request).answer,
});

/** Returns the answer without its body, and where the body begins and ends. Throws if the range has no bytes, or `if-match` names another ETag. */
function answerWithoutBody(object: StoredObject, request: ApiRequest) {
  const { etag, lastModified, headers: storedHeaders, parts, checksums } = object;
  const { range: rangeHeader, 'if-match': expectedEtag, 'x-amz-checksum-mode': checksumMode } = request.headers;
  if (![undefined, '*', etag, `"${etag}"`].includes(expectedEtag))
    throw new ServiceError(412, 'PreconditionFailed', 'The object has another ETag.', { Condition: 'If-Match' });

  const size = sizeOf(parts);
  const range = rangeOf(rangeHeader, size);
  // In an empty object, `lastByte` is -1, so that the content has no bytes.
  const { firstByte, lastByte } = range ?? { firstByte: 0, lastByte: size - 1 };

  const headers = {
    'content-type': 'binary/octet-stream',
    ...storedHeaders,
    'accept-ranges': 'bytes',
    'content-length': String(lastByte - firstByte + 1),
    etag: `"${etag}"`,
    'last-modified': new Date(lastModified).toUTCString(),
    ...(range !== undefined && { 'content-range': `bytes ${firstByte}-${lastByte}/${size}` }),
    // A range is sent without the checksums, because they cover the whole object.
    ...(checksumMode === 'ENABLED' && range === undefined && checksums),
  };
  return { answer: emptyAnswer(headers, range === undefined ? 200 : 206), firstByte, lastByte };
}

/** Parses a Range header. Undefined if it is missing or invalid, because RFC 9110 (section 14.2) says to ignore an invalid one. */
function rangeOf(header: string | undefined, size: number) {
  if (header === undefined) return undefined;
  if (header.includes(',')) throw notOffered('several ranges of bytes at once');
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? [];
  if (from === '' && to === '') return undefined;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined;
  // `bytes=-500` means the last 500 bytes, and `bytes=500-` all bytes from 500 on.
  const firstByte = from === '' ? Math.max(size - Number(to), 0) : Number(from);
  const lastByte = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (firstByte <= lastByte) return { firstByte, lastByte };
  const details = { RangeRequested: header, ActualObjectSize: String(size) };
  throw new ServiceError(416, 'InvalidRange', 'The requested range is not satisfiable.', details);
}
