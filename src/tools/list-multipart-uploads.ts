import * as z from 'zod';
import { counted, humanDuration, sentences } from '../util/human.js';
import { isObject, withoutUndefined } from '../util/objects.js';
import { quote } from '../util/quote.js';
import { encodeSegment } from '../util/uri.js';
import { defineOperation, type Lenient, type Page } from './define-operation.js';
import { objectStorageRegions } from './schema/enumerations.js';
import { objectKey, pathName, region, text, withConditions } from './schema/fields.js';
import { like } from './schema/outputs.js';
import { countNotShown, firstThatFit, notShown } from './upload/lists.js';
import { xmlRecord } from './upload/xml-record.js';

const upload = () => z.object({ object: z.string(), uploadId: z.string(), initiated: z.string().optional() });
const shownUpload = () => like(upload(), 'object, uploadId, initiated');

/** One page as S3-compatible services give it. */
const page = () =>
  z.object({
    bucket: z.string().optional(),
    encodingType: z.string().optional(),
    isTruncated: z.boolean(),
    nextKeyMarker: z.string().optional(),
    nextUploadIdMarker: z.string().optional(),
    uploads: z.array(upload()),
  });

type PageRecord = Lenient<z.output<ReturnType<typeof page>>>;
type Upload = Lenient<z.output<ReturnType<typeof upload>>>;

/** Groups that are shown, and characters of JSON that single uploads may take: about 700 tokens. */
const shownGroups = 10;
const shownCharacters = 1600;

/** ListMultipartUploads, an operation of S3. It is not in the reference. */
export const listMultipartUploads = defineOperation({
  name: 'list_multipart_uploads',
  api: 'ListMultipartUploads',
  title: 'List the multipart uploads of a bucket',
  description:
    'Finds multipart uploads that were started in a bucket and neither completed nor aborted, with the object and uploadId ' +
    'that list_parts needs: how many, the oldest, how many by key prefix, and the first ones. It reads the whole list. It is an ' +
    "operation of S3 and not in the platform's API reference. Have ready: bucket.",
  effect: 'read',
  service: 'storage',
  method: 'GET',
  answer: 'xml',
  extension: 's3',
  regions: objectStorageRegions,
  example: { bucket: 'demo-bucket' },
  defaults: [],
  undocumented: ['The whole operation: it is that of S3-compatible services, which differ in what they answer.'],
  elsewhere: ['Aborting or completing an upload: use an S3 client or the console.'],

  input: () =>
    withConditions(
      z.strictObject({
        bucket: pathName().describe('Bucket name.'),
        prefix: text(1024).describe('Only uploads of objects whose key begins so.').optional(),
        keyMarker: objectKey().describe('Only uploads after this object key.').optional(),
        uploadIdMarker: text().describe('With keyMarker: also uploads of that object after this upload ID.').optional(),
        region: region().describe('Region of the bucket; the configured one when absent.').optional(),
      }),
      ({ keyMarker, uploadIdMarker }, report) => {
        if (uploadIdMarker !== undefined && keyMarker === undefined)
          report('uploadIdMarker', 'has no meaning without keyMarker');
      },
    ),

  output: () =>
    z.object({
      bucket: z.string(),
      prefix: z.string().optional(),
      uploadCount: z.int(),
      oldest: shownUpload().optional(),
      byPrefix: z.array(like(z.object({ prefix: z.string(), uploads: z.int() }), 'prefix, uploads')).optional(),
      uploads: z.array(shownUpload()).describe('the first, by object key'),
      notShown: notShown(),
      checkedAt: z.string().optional(),
    }),

  request: ({ bucket, prefix, keyMarker, uploadIdMarker, region }) => ({
    path: `/${encodeSegment(bucket)}`,
    query: {
      uploads: true,
      ...(prefix !== undefined && { prefix }),
      ...(keyMarker !== undefined && { 'key-marker': keyMarker }),
      ...(uploadIdMarker !== undefined && { 'upload-id-marker': uploadIdMarker }),
    },
    region,
  }),

  extract(body) {
    const result = xmlRecord(isObject(body) ? body.ListMultipartUploadsResult : undefined, {
      lists: { Upload: 'uploads' },
      values: ['IsTruncated'],
      structures: ['Initiator', 'Owner', 'Upload'],
      names: { Key: 'object', 'Encoding-Type': 'encodingType' },
    });
    if (result === undefined) return undefined;
    const { uploads = [], ...rest } = result;
    // Keys are encoded only where the service says so: nobody asked it to.
    if (rest.encodingType !== 'url' || !Array.isArray(uploads)) return { ...rest, uploads };
    return { ...rest, uploads: uploads.map((one) => ({ ...one, object: decoded(one.object) })) };
  },

  pages: {
    page,
    count: ({ uploads = [] }) => uploads.length,
    next(given, pages) {
      const last = pages.at(-1)?.record ?? {};
      if (last.isTruncated !== true) return { kind: 'end' };
      const marker = markerAfter(last);
      if (marker === undefined)
        return {
          kind: 'inconsistent',
          problem: `page ${pages.length} says that more follow, but names neither marker nor upload`,
        };
      const earlier = pages.slice(0, -1).map(({ record }) => markerAfter(record));
      const isKnown = [{ key: given.keyMarker, id: given.uploadIdMarker }, ...earlier].some(
        (one) => one?.key === marker.key && one.id === marker.id,
      );
      if (isKnown)
        return { kind: 'inconsistent', problem: `page ${pages.length} leads back to where an earlier one began` };
      const { uploadIdMarker: _, ...rest } = given;
      return {
        kind: 'next',
        input: { ...rest, keyMarker: marker.key, ...(marker.id !== undefined && { uploadIdMarker: marker.id }) },
      };
    },
    combine(given, pages) {
      const uploads = distinct(pages);
      const groups = byPrefix(uploads, given.prefix ?? '');
      const shown = firstThatFit(uploads, shownCharacters);
      const [oldest] = uploads
        .filter(({ initiated }) => !Number.isNaN(Date.parse(initiated ?? '')))
        .sort((a, b) => Date.parse(a.initiated ?? '') - Date.parse(b.initiated ?? ''));
      return withoutUndefined({
        bucket: given.bucket,
        prefix: given.prefix,
        uploadCount: uploads.length,
        oldest,
        byPrefix: groups.length > 1 ? groups.slice(0, shownGroups) : undefined,
        uploads: shown,
        ...countNotShown({ byPrefix: groups.length - shownGroups, uploads: uploads.length - shown.length }),
        checkedAt: pages.at(-1)?.answeredAt,
      });
    },
  },

  summarize({ uploadCount = 0, oldest, uploads = [], checkedAt }, { bucket, prefix }) {
    const where = `bucket ${quote(bucket)}${prefix === undefined ? '' : ` with keys that begin with ${quote(prefix)}`}`;
    if (uploadCount === 0) return `No multipart upload is open in ${where}.`;
    const age = (Date.parse(checkedAt ?? '') - Date.parse(oldest?.initiated ?? '')) / 1000;
    return sentences(
      `${counted(uploadCount, 'multipart upload')} ${uploadCount === 1 ? 'is' : 'are'} open in ${where}.`,
      !Number.isNaN(age) &&
        `The oldest was started ${humanDuration(Math.max(0, age))} ago, for object ${quote(oldest?.object ?? '')}.`,
      uploads.length < uploadCount && `The first ${uploads.length} are listed; a prefix narrows the list.`,
    ).join(' ');
  },
  next: ({ uploadCount }) =>
    uploadCount === 0
      ? 'If you expected one, check bucket, prefix and region.'
      : 'To see how far an upload is, call list_parts with its object and uploadId.',
});

/** Where the next page begins. Servers are known that name no marker although more follows: then it is the last upload. */
function markerAfter({ nextKeyMarker, nextUploadIdMarker, uploads = [] }: PageRecord) {
  const last = uploads.at(-1);
  if (nextKeyMarker !== undefined && nextKeyMarker !== '')
    return { key: nextKeyMarker, id: nextUploadIdMarker === '' ? undefined : nextUploadIdMarker };
  return last?.object === undefined ? undefined : { key: last.object, id: last.uploadId };
}

/** Every upload once, also where pages overlap. */
function distinct(pages: readonly Page<PageRecord>[]): Upload[] {
  const found = new Map<string, Upload>();
  for (const { object, uploadId, initiated } of pages.flatMap(({ record }) => record.uploads ?? []))
    if (object !== undefined && uploadId !== undefined)
      found.set(JSON.stringify([object, uploadId]), withoutUndefined({ object, uploadId, initiated }));
  return [...found.values()];
}

/** How many uploads there are by the next folder of their keys, most first. */
function byPrefix(uploads: readonly Upload[], prefix: string) {
  const counts = new Map<string, number>();
  for (const { object = '' } of uploads) {
    const end = object.indexOf('/', prefix.length);
    const group = end < 0 ? prefix : object.slice(0, end + 1);
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  return [...counts].map(([group, count]) => ({ prefix: group, uploads: count })).sort((a, b) => b.uploads - a.uploads);
}

function decoded(key: unknown): unknown {
  try {
    return typeof key === 'string' ? decodeURIComponent(key) : key;
  } catch {
    return key;
  }
}
