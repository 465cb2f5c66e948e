import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type Incoming, type Received, readText, receive, S3Error } from './bodies.js';
import { type Api, type ApiRequest, type ApiResponse, decodeSegment } from './http.js';
import { invented } from './invented.js';
import { encodeKey, listParts, listUploads, type Query, wholeNumber, xml } from './listings.js';
import { once, seededUploads } from './seeds.js';
import {
  apply,
  type Change,
  type Contents,
  filesOf,
  isChange,
  objectName,
  type Part,
  type StoredObject,
  type Upload,
  type UploadName,
} from './uploads.js';
import { document, element, textOf } from './xml.js';

/** A request whose body has still to be read, from `stream`. */
export type StorageRequest = ApiRequest & Incoming;

export interface Storage extends Api {
  handle(request: StorageRequest): Promise<ApiResponse>;
  /** Puts an upload there that is gone with the process, for tests. */
  addUpload(upload: UploadName & { readonly parts: readonly Part[] }): void;
  /** Deletes what a process that was ended has left in the folder. */
  tidy(): Promise<void>;
}

export interface StorageOptions {
  readonly now: () => Date;
  /** When the sandbox started for the first time. */
  readonly started: Date;
  /** The ID of the upload created after so many others. */
  readonly uploadId: (count: number) => string;
  /** Where bodies go. */
  readonly folder: () => Promise<string>;
  /** Whether bodies have to be on disk before they are answered. */
  readonly durable: boolean;
  /** Changes made before this start. */
  readonly saved: readonly unknown[];
  /** Writes a change down; resolves once it is on disk. */
  readonly record: (change: Change) => Promise<void>;
  /** Of all parts but the last, in bytes. */
  readonly minimumPartSize: number;
}

const maximumPart = 5 * 1024 ** 3;
const maximumText = 8 * 1024 * 1024;

/** Which operation a request is for, as a tool would be named. */
export function storageOperation({ method, path, query }: Pick<ApiRequest, 'method' | 'path' | 'query'>): string {
  const ofBucket = !/^\/[^/]*\/./.test(path);
  const has = (name: string) => query.has(name);
  if (ofBucket && method === 'GET' && has('uploads')) return 'list_multipart_uploads';
  if (!ofBucket && method === 'POST' && has('uploads')) return 'create_multipart_upload';
  if (!ofBucket && has('uploadId'))
    return (
      { GET: 'list_parts', PUT: 'upload_part', POST: 'complete_multipart_upload', DELETE: 'abort_multipart_upload' }[
        method
      ] ?? 'unknown'
    );
  // Other names select what the sandbox does not have: ACLs, tags, versions, …
  if ([...query.keys()].some((name) => name !== 'x-id')) return 'unknown';
  const plain = ofBucket
    ? { PUT: 'create_bucket', HEAD: 'head_bucket' }
    : { PUT: 'put_object', GET: 'get_object', HEAD: 'head_object' };
  return new Map(Object.entries(plain)).get(method) ?? 'unknown';
}

/** Object storage: multipart uploads and what they become (reference, sections 2.2 and 4.1; all but ListParts as S3 does it). */
export function createStorage(options: StorageOptions): Storage {
  const { now, started, folder, durable, minimumPartSize } = options;
  const contents: Contents = { buckets: new Set(), uploads: new Map(), objects: new Map(), created: 0 };
  const add = (upload: Upload) => {
    contents.buckets.add(upload.bucket);
    contents.uploads.set(upload.uploadId, upload);
  };
  for (const upload of seededUploads(started)) add(upload);
  for (const change of options.saved) if (isChange(change)) apply(contents, change);

  const operations: Readonly<Record<string, Act>> = {
    list_parts: withText(async ({ query }, name) => listParts(findUpload(name, query), query)),
    list_multipart_uploads: withText(async ({ query }, { bucket }) =>
      listUploads(
        bucket,
        [...contents.uploads.values()].filter((upload) => upload.bucket === bucket),
        query,
      ),
    ),
    create_multipart_upload: withText(async ({ headers }, name) => {
      const uploadId = options.uploadId(contents.created);
      await commit({ op: 'create', ...name, uploadId, initiated: now().toISOString(), headers: kept(headers) });
      const { bucket, key } = name;
      return xml('InitiateMultipartUploadResult', [
        element('Bucket', bucket),
        element('Key', key),
        element('UploadId', uploadId),
      ]);
    }),
    upload_part: async (request, name) => {
      const { query, headers } = request;
      const partNumber = wholeNumber(query, 'partNumber', 0);
      if (partNumber < 1 || partNumber > 10_000)
        throw new S3Error(400, 'InvalidArgument', 'partNumber must be a whole number from 1 to 10000.');
      const { uploadId } = findUpload(name, query);
      const { file, size, md5: etag } = await receiveFile(request);
      const part = { partNumber, size, etag, lastModified: now().toISOString(), file };
      // It may have been completed or aborted in the meantime.
      if (!contents.uploads.has(uploadId)) await remove([file]);
      findUpload(name, query);
      await commit({ op: 'part', uploadId, part });
      const checksums = Object.entries(headers).filter(([header]) => header.startsWith('x-amz-checksum-'));
      return empty({ etag: `"${etag}"`, ...Object.fromEntries(checksums) });
    },
    complete_multipart_upload: withText(async ({ query }, name, body) => {
      const upload = findUpload(name, query);
      const partNumbers = chosenParts(upload, body, minimumPartSize);
      const { bucket, key, uploadId } = upload;
      await commit({ op: 'complete', uploadId, partNumbers, lastModified: now().toISOString() });
      return xml('CompleteMultipartUploadResult', [
        element('Location', `/${bucket}/${encodeKey(key)}`),
        element('Bucket', bucket),
        element('Key', key),
        element('ETag', `"${findObject(name).etag}"`),
      ]);
    }),
    abort_multipart_upload: withText(async ({ query }, name) => {
      await commit({ op: 'abort', uploadId: findUpload(name, query).uploadId });
      return { ...empty({}), status: 204 };
    }),
    put_object: async (request, { bucket, key }) => {
      const { file, size, md5: etag } = await receiveFile(request);
      const lastModified = now().toISOString();
      const parts = [{ partNumber: 1, size, etag, lastModified, file }];
      await commit({
        op: 'object',
        object: { bucket, key, etag, lastModified, headers: kept(request.headers), parts },
      });
      return empty({ etag: `"${etag}"` });
    },
    get_object: withText(async (_, name) => {
      const object = findObject(name);
      const response = { ...objectHead(object), content: Readable.from(contentOf(object, await folder())) };
      return object.parts.some(({ file }) => file === undefined) ? invented(response, 'content') : response;
    }),
    head_object: withText(async (_, name) => objectHead(findObject(name))),
    create_bucket: withText(async (_, { bucket }) => {
      if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
        throw new S3Error(400, 'InvalidBucketName', 'The specified bucket is not valid.');
      if (contents.buckets.has(bucket))
        throw new S3Error(409, 'BucketAlreadyOwnedByYou', 'You have this bucket already.');
      await commit({ op: 'bucket', bucket });
      return empty({ location: `/${bucket}` });
    }),
    head_bucket: withText(async () => empty({})),
  };

  return {
    addUpload: (upload) =>
      add({ ...upload, initiated: now().toISOString(), headers: {}, parts: once(() => upload.parts) }),
    error,
    snapshot: () => ({
      buckets: [...contents.buckets],
      uploads: [...contents.uploads.values()].map(({ parts, ...upload }) => ({ ...upload, parts: parts().size })),
      objects: [...contents.objects.values()].map(({ parts, ...object }) => ({ ...object, size: sizeOf(parts) })),
    }),
    async handle(request) {
      const operation = storageOperation(request);
      const [name, act] = [parsePath(request.path), operations[operation]];
      if (name === undefined) return error(400, 'InvalidURI', 'The path is not properly encoded.');
      if (act === undefined || 'x-amz-copy-source' in request.headers)
        return error(501, 'NotImplemented', 'The sandbox does not offer this operation.');
      if (operation !== 'create_bucket' && !contents.buckets.has(name.bucket))
        return error(404, 'NoSuchBucket', 'The specified bucket does not exist.', { BucketName: name.bucket });
      try {
        const response = await act(request, name);
        return operation === 'list_parts' ? response : invented(response, 'operation');
      } catch (problem) {
        if (problem instanceof S3Error) return error(problem.status, problem.code, problem.message, problem.details);
        throw problem;
      }
    },
    async tidy() {
      const used = new Set([
        ...[...contents.uploads.values()].flatMap(({ parts }) => filesOf(parts().values())),
        ...[...contents.objects.values()].flatMap(({ parts }) => filesOf(parts)),
      ]);
      await remove((await readdir(await folder())).filter((file) => !used.has(file)));
    },
  };

  /** Makes a change and writes it down. What it makes useless is deleted only then. */
  async function commit(change: Change): Promise<void> {
    const dropped = apply(contents, change);
    await options.record(change);
    await remove(dropped);
  }

  async function remove(files: readonly string[]): Promise<void> {
    if (files.length === 0) return;
    const path = await folder();
    await Promise.all(files.map((file) => rm(join(path, file), { force: true })));
  }

  async function receiveFile(request: StorageRequest): Promise<Received & { readonly file: string }> {
    const { headers } = request;
    if ((headers['content-length'] ?? headers['x-amz-decoded-content-length']) === undefined)
      throw new S3Error(411, 'MissingContentLength', 'The header content-length is missing.');
    const file = randomUUID();
    return { file, ...(await receive(request, { path: join(await folder(), file), maximum: maximumPart, durable })) };
  }

  function findUpload({ bucket, key }: Name, query: Query): Upload {
    const uploadId = query.get('uploadId') ?? '';
    const upload = contents.uploads.get(uploadId);
    if (upload?.bucket === bucket && upload.key === key) return upload;
    throw new S3Error(404, 'NoSuchUpload', 'The specified multipart upload does not exist.', { UploadId: uploadId });
  }

  function findObject(name: Name): StoredObject {
    const object = contents.objects.get(objectName(name));
    if (object !== undefined) return object;
    throw new S3Error(404, 'NoSuchKey', 'The specified key does not exist.', { Key: name.key });
  }
}

type Name = Pick<UploadName, 'bucket' | 'key'>;
type Act = (request: StorageRequest, name: Name) => Promise<ApiResponse>;

/** An operation whose body is short, or should be empty. */
const withText =
  (act: (request: StorageRequest, name: Name, body: string) => Promise<ApiResponse>): Act =>
  async (request, name) =>
    act(request, name, await readText(request, maximumText));

/** The numbers of the parts that a CompleteMultipartUpload names, if the object can be made of them. */
function chosenParts(upload: Upload, body: string, minimumPartSize: number): number[] {
  const named = [...body.matchAll(/<Part>([\s\S]*?)<\/Part>/g)].map(([, part = '']) => ({
    partNumber: Number(textOf(part, 'PartNumber')),
    etag: textOf(part, 'ETag')?.replaceAll('"', ''),
  }));
  if (named.length === 0 || named.some(({ partNumber }) => Number.isNaN(partNumber)))
    throw new S3Error(400, 'MalformedXML', 'The body names no parts, or a part without its number.');
  if (named.some(({ partNumber }, index) => partNumber <= (named[index - 1]?.partNumber ?? 0)))
    throw new S3Error(400, 'InvalidPartOrder', 'The parts must be in ascending order.');
  const parts = upload.parts();
  for (const [index, { partNumber, etag }] of named.entries()) {
    const part = parts.get(partNumber);
    const details = { UploadId: upload.uploadId, PartNumber: String(partNumber), ETag: etag ?? '' };
    if (part === undefined || part.etag !== etag)
      throw new S3Error(400, 'InvalidPart', 'A part was not uploaded, or its ETag is another one.', details);
    if (part.size < minimumPartSize && index < named.length - 1)
      throw new S3Error(400, 'EntityTooSmall', 'A part that is not the last is too small.', {
        ...details,
        ProposedSize: String(part.size),
        MinSizeAllowed: String(minimumPartSize),
      });
  }
  return named.map(({ partNumber }) => partNumber);
}

/** Headers that are kept with an object. */
const kept = (headers: ApiRequest['headers']) =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name, value.replace(/^aws-chunked(, *|$)/, '')] as const)
      .filter(
        ([name, value]) =>
          /^(content-(type|encoding|disposition|language)|cache-control|x-(amz|ext)-meta-.+)$/.test(name) &&
          value !== '',
      ),
  );

const objectHead = ({ etag, lastModified, headers, parts }: StoredObject): ApiResponse =>
  empty({
    'content-type': 'binary/octet-stream',
    ...headers,
    'content-length': String(sizeOf(parts)),
    etag: `"${etag}"`,
    'last-modified': new Date(lastModified).toUTCString(),
  });

const sizeOf = (parts: readonly Part[]) => parts.reduce((total, { size }) => total + size, 0);

async function* contentOf({ parts }: StoredObject, folder: string): AsyncGenerator<Buffer> {
  const zeros = Buffer.alloc(64 * 1024);
  for (const { file, size } of parts) {
    if (file !== undefined) yield* createReadStream(join(folder, file));
    else for (let left = size; left > 0; left -= zeros.length) yield zeros.subarray(0, left);
  }
}

const error: Api['error'] = (status, code, message, details = {}) =>
  invented(
    {
      status,
      headers: { 'content-type': 'application/xml' },
      body: document(
        'Error',
        Object.entries({ Code: code, Message: message, ...details })
          .map(([name, value]) => element(name, value))
          .join(''),
      ),
    },
    'error',
  );

const empty = (headers: ApiResponse['headers']): ApiResponse => ({ status: 200, headers, body: '' });

function parsePath(path: string): Name | undefined {
  const [bucket = '', ...rest] = path.replace(/^\//, '').split('/');
  const decodedBucket = decodeSegment(bucket);
  const key = decodeSegment(rest.join('/'));
  return decodedBucket === undefined || key === undefined ? undefined : { bucket: decodedBucket, key };
}
