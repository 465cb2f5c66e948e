import { S3Error } from './bodies.js';
import type { ApiRequest, ApiResponse } from './http.js';
import type { Upload } from './uploads.js';
import { answerDocument, element } from './xml.js';

/** Lists of object storage, page by page. */

export type Query = ApiRequest['query'];

const account = { id: 'sandbox-account', displayName: 'Sandbox' };
const pageLimit = 1000;
const person = element('ID', account.id) + element('DisplayName', account.displayName);
const people = [`<Initiator>${person}</Initiator>`, `<Owner>${person}</Owner>`, element('StorageClass', 'STANDARD')];

/** ListParts (reference, sections 2.2 and 4.1). */
export function listParts(upload: Upload, query: Query): ApiResponse {
  const marker = wholeNumber(query, 'part-number-marker', 0);
  const maxParts = Math.min(wholeNumber(query, 'max-parts', pageLimit), pageLimit);
  const after = [...upload.parts().values()]
    .filter(({ partNumber }) => partNumber > marker)
    .sort((a, b) => a.partNumber - b.partNumber);
  const page = after.slice(0, maxParts);
  const truncated = after.length > page.length;
  return xml('ListPartsResult', [
    element('Bucket', upload.bucket),
    element('Key', keyIn(query)(upload.key)),
    element('UploadId', upload.uploadId),
    ...people,
    ...encodingOf(query, 'Encoding-Type'),
    // The reference's sample leaves these out of an answer that is not truncated.
    ...(truncated
      ? [
          element('PartNumberMarker', marker),
          element('MaxParts', maxParts),
          element('NextPartNumberMarker', page.at(-1)?.partNumber ?? marker),
        ]
      : []),
    element('IsTruncated', truncated),
    ...page.map(
      ({ partNumber, lastModified, etag, size }) =>
        `<Part>${element('PartNumber', partNumber)}${element('LastModified', lastModified)}` +
        `${element('ETag', `"${etag}"`)}${element('Size', size)}</Part>`,
    ),
  ]);
}

/** ListMultipartUploads, as S3 does it. */
export function listUploads(bucket: string, uploads: readonly Upload[], query: Query): ApiResponse {
  if (query.has('delimiter')) throw new S3Error(501, 'NotImplemented', 'The sandbox does not group keys.');
  const [keyMarker, idMarker] = [query.get('key-marker') ?? '', query.get('upload-id-marker') ?? ''];
  const maxUploads = Math.min(wholeNumber(query, 'max-uploads', pageLimit), pageLimit);
  const order = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  const after = uploads
    .filter(({ key }) => key.startsWith(query.get('prefix') ?? ''))
    .filter(
      ({ key, uploadId }) => order(key, keyMarker) > 0 || (key === keyMarker && idMarker !== '' && uploadId > idMarker),
    )
    .sort((a, b) => order(a.key, b.key) || order(a.uploadId, b.uploadId));
  const page = after.slice(0, maxUploads);
  const last = page.at(-1);
  const encode = keyIn(query);
  return xml('ListMultipartUploadsResult', [
    element('Bucket', bucket),
    element('KeyMarker', encode(keyMarker)),
    element('UploadIdMarker', idMarker),
    ...(after.length > page.length && last !== undefined
      ? [element('NextKeyMarker', encode(last.key)), element('NextUploadIdMarker', last.uploadId)]
      : []),
    ...encodingOf(query, 'EncodingType'),
    element('MaxUploads', maxUploads),
    element('IsTruncated', after.length > page.length),
    ...page.map(
      ({ key, uploadId, initiated }) =>
        `<Upload>${element('Key', encode(key))}${element('UploadId', uploadId)}${people.join('')}` +
        `${element('Initiated', initiated)}</Upload>`,
    ),
  ]);
}

/** An answer of storage. */
export const xml = (root: string, content: readonly string[]): ApiResponse => ({
  status: 200,
  headers: { 'content-type': 'application/xml' },
  body: answerDocument(root, content),
});

export const encodeKey = (key: string) => encodeURIComponent(key).replaceAll('%2F', '/');

/** How keys are written in an answer. */
function keyIn(query: Query): (key: string) => string {
  const encodingType = query.get('encoding-type');
  if (encodingType !== undefined && encodingType !== 'url')
    throw new S3Error(400, 'InvalidArgument', 'encoding-type must be url.');
  return encodingType === undefined ? (key) => key : encodeKey;
}

const encodingOf = (query: Query, name: string) => (query.has('encoding-type') ? [element(name, 'url')] : []);

/** A number in a query. Throws an `S3Error` if it is none. */
export function wholeNumber(query: Query, name: string, fallback: number): number {
  const text = query.get(name) ?? String(fallback);
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new S3Error(400, 'InvalidArgument', `${name} must be a whole number.`);
}
