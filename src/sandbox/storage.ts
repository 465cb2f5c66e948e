import { type Api, type ApiRequest, type ApiResponse, decodeSegment } from './http.js';

export interface Part {
  readonly partNumber: number;
  /** Bytes. */
  readonly size: number;
  readonly etag: string;
  readonly lastModified: Date;
}

export interface Upload {
  readonly bucket: string;
  readonly key: string;
  readonly uploadId: string;
  readonly parts: readonly Part[];
}

export interface Storage extends Api {
  addUpload(upload: Upload): void;
}

const account = { id: 'sandbox-account', displayName: 'Sandbox' };
const defaultMaxParts = 1000;

/** Object storage: the multipart uploads it was given, and ListParts (reference, sections 2.2 and 4.1). */
export function createStorage(): Storage {
  const uploads: Upload[] = [];
  return {
    addUpload: (upload) => {
      uploads.push(upload);
    },
    error,
    snapshot: () => ({}),
    handle(request) {
      const address = parsePath(request.path);
      if (address === undefined) return error(400, 'InvalidURI', 'The path is not properly encoded.');
      const uploadId = request.query.get('uploadId');
      if (request.method !== 'GET' || address.key === '' || uploadId === undefined)
        return error(501, 'NotImplemented', 'The sandbox offers ListParts only.');
      if (!uploads.some(({ bucket }) => bucket === address.bucket))
        return error(404, 'NoSuchBucket', 'The specified bucket does not exist.', { BucketName: address.bucket });
      const upload = uploads.find(
        (candidate) =>
          candidate.bucket === address.bucket && candidate.key === address.key && candidate.uploadId === uploadId,
      );
      if (upload === undefined)
        return error(404, 'NoSuchUpload', 'The specified multipart upload does not exist.', { UploadId: uploadId });
      return listParts(upload, request);
    },
  };
}

function listParts(upload: Upload, { query }: ApiRequest): ApiResponse {
  const marker = wholeNumber(query.get('part-number-marker') ?? '0');
  const maxParts = wholeNumber(query.get('max-parts') ?? String(defaultMaxParts));
  if (marker === undefined) return error(400, 'InvalidArgument', 'part-number-marker must be a whole number.');
  if (maxParts === undefined) return error(400, 'InvalidArgument', 'max-parts must be a whole number.');
  const encodingType = query.get('encoding-type');
  if (encodingType !== undefined && encodingType !== 'url')
    return error(400, 'InvalidArgument', 'encoding-type must be url.');

  const after = upload.parts
    .filter(({ partNumber }) => partNumber > marker)
    .sort((a, b) => a.partNumber - b.partNumber);
  const page = after.slice(0, Math.min(maxParts, defaultMaxParts));
  const truncated = after.length > page.length;
  const key = encodingType === 'url' ? encodeURIComponent(upload.key).replaceAll('%2F', '/') : upload.key;
  const person = element('ID', account.id) + element('DisplayName', account.displayName);
  return {
    status: 200,
    headers: { 'content-type': 'application/xml' },
    body: document(
      'ListPartsResult',
      [
        element('Bucket', upload.bucket),
        element('Key', key),
        element('UploadId', upload.uploadId),
        `<Initiator>${person}</Initiator><Owner>${person}</Owner>`,
        element('StorageClass', 'STANDARD'),
        encodingType === undefined ? '' : element('Encoding-Type', encodingType),
        // The reference's sample leaves these out of an answer that is not truncated.
        truncated ? element('PartNumberMarker', String(marker)) + element('MaxParts', String(maxParts)) : '',
        truncated ? element('NextPartNumberMarker', String(page.at(-1)?.partNumber ?? marker)) : '',
        element('IsTruncated', String(truncated)),
        ...page.map(
          ({ partNumber, lastModified, etag, size }) =>
            `<Part>${element('PartNumber', String(partNumber))}${element('LastModified', lastModified.toISOString())}` +
            `${element('ETag', `"${etag}"`)}${element('Size', String(size))}</Part>`,
        ),
      ].join(''),
      ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"',
    ),
  };
}

const error: Api['error'] = (status, code, message, details = {}) => ({
  status,
  headers: { 'content-type': 'application/xml' },
  body: document(
    'Error',
    Object.entries({ Code: code, Message: message, ...details })
      .map(([name, value]) => element(name, value))
      .join(''),
  ),
});

const document = (root: string, content: string, attributes = '') =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${attributes}>${content}</${root}>`;

const element = (name: string, text: string) => `<${name}>${escapeXml(text)}</${name}>`;

const escapeXml = (text: string) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what has to be escaped
  text.replace(/[&<>"\u0000-\u001f]/g, (character) => {
    const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
    return names[character] ?? `&#x${character.charCodeAt(0).toString(16).toUpperCase()};`;
  });

function parsePath(path: string): { bucket: string; key: string } | undefined {
  const [bucket = '', ...rest] = path.replace(/^\//, '').split('/');
  const decodedBucket = decodeSegment(bucket);
  const key = decodeSegment(rest.join('/'));
  return decodedBucket === undefined || key === undefined ? undefined : { bucket: decodedBucket, key };
}

const wholeNumber = (text: string) => (/^\d{1,10}$/.test(text) ? Number(text) : undefined);
