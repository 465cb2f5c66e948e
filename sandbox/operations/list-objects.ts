import { type ApiRequest, ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { byBytes, keyEncoding, pageSize, sandboxOwner } from '../storage/pages.js';
import { type StoredObject, sizeOf } from '../storage/records.js';
import type { Storage } from '../storage/storage.js';
import { xmlAnswer } from '../storage/xml.js';

export const listObjects = defineOperation({
  request: 'GET /{bucket}',
  options: ['delimiter', 'encoding-type', 'marker', 'max-keys', 'prefix'],
  handle({ parameters: { bucket }, query }, { storage }) {
    const marker = query.get('marker') ?? '';
    const { encode, commonElements, contents, isTruncated, lastName, isGrouped } = listPage(
      storage,
      bucket,
      query,
      marker,
    );
    return xmlAnswer('ListBucketResult', {
      ...commonElements,
      Marker: encode(marker),
      // As on S3, only a request with a delimiter gets a marker. Other clients continue after the last key of the page.
      NextMarker: isTruncated && isGrouped ? encode(lastName) : undefined,
      Contents: contents.map((entry) => ({ ...entry, Owner: sandboxOwner })),
    });
  },
});

export const listObjectsV2 = defineOperation({
  request: 'GET /{bucket}?list-type',
  options: ['continuation-token', 'delimiter', 'encoding-type', 'fetch-owner', 'max-keys', 'prefix', 'start-after'],
  handle({ parameters: { bucket }, query }, { storage }) {
    if (query.get('list-type') !== '2') throw invalidArgument('list-type must be 2.');

    const token = query.get('continuation-token');
    const startAfter = query.get('start-after');
    // A token continues after the previous page. `start-after` counts only for the first page.
    const after = token === undefined ? (startAfter ?? '') : readToken(token);
    const { encode, commonElements, groupCount, contents, isTruncated, lastName } = listPage(
      storage,
      bucket,
      query,
      after,
    );

    const owner = query.get('fetch-owner') === 'true' ? sandboxOwner : undefined;
    return xmlAnswer('ListBucketResult', {
      ...commonElements,
      KeyCount: contents.length + groupCount,
      StartAfter: startAfter === undefined ? undefined : encode(startAfter),
      ContinuationToken: token,
      NextContinuationToken: isTruncated ? tokenOf(lastName) : undefined,
      Contents: contents.map((entry) => ({ ...entry, Owner: owner })),
    });
  },
});

/** Lists the keys after `after`. With the delimiter `/` and the prefix `a/`, all keys that begin with `a/b/` become one group, named `a/b/`. */
function listPage(storage: Storage, bucket: string, query: ApiRequest['query'], after: string) {
  storage.findBucket(bucket);
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const maximum = pageSize(query, 'max-keys');
  const { encode, type } = keyEncoding(query);

  /** Objects by key, and groups by name. A group has no object. */
  const entries = new Map<string, StoredObject | undefined>();
  for (const object of storage.objects.values()) {
    const { key } = object;
    if (object.bucket !== bucket || !key.startsWith(prefix) || byBytes(key, after) <= 0) continue;

    const delimiterAt = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    if (delimiterAt < 0) entries.set(key, object);
    else entries.set(key.slice(0, delimiterAt + delimiter.length), undefined);
  }
  // `after` may be the name of a group on the previous page. The keys of that group sort after the name, so the loop made the group again.
  entries.delete(after);

  const page = [...entries].sort(([a], [b]) => byBytes(a, b)).slice(0, maximum);
  const groups = page.filter(([, object]) => object === undefined).map(([name]) => ({ Prefix: encode(name) }));
  const contents = page.flatMap(([key, object]) => (object === undefined ? [] : contentsOf(encode(key), object)));
  // With `max-keys=0`, S3 says that nothing follows. An empty page also has no last name after which a client could continue.
  const isTruncated = maximum > 0 && entries.size > page.length;

  return {
    encode,
    isTruncated,
    isGrouped: delimiter !== '',
    /** Key of the last object or name of the last group; empty on an empty page. */
    lastName: page.at(-1)?.[0] ?? '',
    groupCount: groups.length,
    contents,
    /** The elements that the answers of ListObjects and ListObjectsV2 have in common. */
    commonElements: {
      Name: bucket,
      Prefix: encode(prefix),
      Delimiter: delimiter === '' ? undefined : encode(delimiter),
      EncodingType: type,
      MaxKeys: maximum,
      IsTruncated: isTruncated,
      CommonPrefixes: groups,
    },
  };
}

const contentsOf = (Key: string, { lastModified, etag, parts }: StoredObject) => ({
  Key,
  LastModified: lastModified,
  ETag: `"${etag}"`,
  Size: sizeOf(parts),
  StorageClass: 'STANDARD',
});

const tokenOf = (name: string) => Buffer.from(name).toString('base64url');

function readToken(token: string): string {
  const name = Buffer.from(token, 'base64url').toString();
  if (name !== '' && tokenOf(name) === token) return name;
  throw invalidArgument('The continuation token is not one of an earlier answer.');
}

const invalidArgument = (message: string) => new ServiceError(400, 'InvalidArgument', message);
