import * as z from 'zod';
import { counted, humanDuration, sentences } from '../util/human.js';
import { isObject, withoutUndefined } from '../util/objects.js';
import { quote } from '../util/quote.js';
import { encodeSegment } from '../util/uri.js';
import { defineOperation, type Lenient, type PageStart } from './define-operation.js';
import { objectStorageRegions } from './schema/enumerations.js';
import { objectKey, pathName, region, text, withConditions } from './schema/fields.js';
import { like } from './schema/outputs.js';
import { decodedKey, longestKey } from './upload/keys.js';
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
/** No more uploads than this fit into so many characters. */
const maximumFirst = 100;
/** Beyond so many, groups are not told. */
const maximumGroups = 10_000;

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
  elsewhere: ['Completing an upload: use the client that uploads, or any S3 client.'],

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

  exact: ['object', 'prefix', 'uploadId'],

  request: ({ bucket, prefix, keyMarker, uploadIdMarker, region }, after) => ({
    path: `/${encodeSegment(bucket)}`,
    query: {
      uploads: true,
      ...(prefix !== undefined && { prefix }),
      ...(after ?? {
        ...(keyMarker !== undefined && { 'key-marker': keyMarker }),
        ...(uploadIdMarker !== undefined && { 'upload-id-marker': uploadIdMarker }),
      }),
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
    if (!Array.isArray(uploads)) return { ...rest, uploads };
    const { encodingType } = rest;
    return { ...rest, uploads: uploads.map((one) => ({ ...one, object: decodedKey(one.object, encodingType) })) };
  },

  pages: {
    page,
    count: ({ uploads = [] }) => uploads.length,
    start: (): UploadsSoFar => ({ uploadCount: 0, groups: new Map(), first: [], onLastPage: new Set() }),
    add(state, { record, number, answeredAt }, { prefix = '' }) {
      const reached = { ...count(state, record, prefix), answeredAt };
      if (record.isTruncated !== true) return { kind: 'end', state: reached };
      const after = markerAfter(record);
      if (after !== undefined) return { kind: 'next', state: reached, after };
      return {
        kind: 'inconsistent',
        problem: `page ${number} says that more follow, but names neither marker nor upload`,
      };
    },
    result({ uploadCount, oldest, groups, first, answeredAt }, { bucket, prefix }) {
      const byPrefix = [...groups]
        .map(([prefix, uploads]) => ({ prefix, uploads }))
        .sort((a, b) => b.uploads - a.uploads);
      const uploads = firstThatFit(first, shownCharacters);
      const isGrouped = groups.size > 1 && groups.size <= maximumGroups;
      return withoutUndefined({
        bucket,
        prefix,
        uploadCount,
        oldest,
        byPrefix: isGrouped ? byPrefix.slice(0, shownGroups) : undefined,
        uploads,
        ...countNotShown({
          byPrefix: isGrouped ? groups.size - shownGroups : 0,
          uploads: uploadCount - uploads.length,
        }),
        checkedAt: answeredAt,
      });
    },
  },

  summarize({ uploadCount = 0, oldest, uploads = [], checkedAt }, { bucket, prefix }) {
    const where = `bucket ${quote(bucket)}${prefix === undefined ? '' : ` with keys that begin with ${quote(prefix, longestKey)}`}`;
    if (uploadCount === 0) return `No multipart upload is open in ${where}.`;
    const age = (Date.parse(checkedAt ?? '') - Date.parse(oldest?.initiated ?? '')) / 1000;
    return sentences(
      `${counted(uploadCount, 'multipart upload')} ${uploadCount === 1 ? 'is' : 'are'} open in ${where}.`,
      !Number.isNaN(age) &&
        `The oldest was started ${humanDuration(Math.max(0, age))} ago, for object ${quote(oldest?.object ?? '', longestKey)}.`,
      uploads.length < uploadCount && `The first ${uploads.length} are listed; a prefix narrows the list.`,
    ).join(' ');
  },
  next: ({ uploadCount }) =>
    uploadCount === 0
      ? 'If you expected one, check bucket, prefix and region.'
      : 'To see how far an upload is, call list_parts with its object and uploadId.',
});

/** Where the next page begins. Servers are known that name no marker although more follows: then it is the last upload. */
function markerAfter({ nextKeyMarker, nextUploadIdMarker, uploads = [] }: PageRecord): PageStart | undefined {
  const last = uploads.at(-1);
  const [key, id] = nextKeyMarker ? [nextKeyMarker, nextUploadIdMarker] : [last?.object, last?.uploadId];
  return key === undefined ? undefined : { 'key-marker': key, ...(id && { 'upload-id-marker': id }) };
}

/** What is kept of the pages that were read: its size does not depend on their number. */
interface UploadsSoFar {
  readonly uploadCount: number;
  readonly oldest?: Upload | undefined;
  /** How many uploads there are by the next folder of their keys, as far as the folders can be kept. */
  readonly groups: Map<string, number>;
  /** As many as could be shown. */
  readonly first: Upload[];
  /** Pages may overlap. */
  readonly onLastPage: ReadonlySet<string>;
  readonly answeredAt?: string | undefined;
}

/** Adds the uploads of a page, each of which counts once. */
function count(state: UploadsSoFar, { uploads = [] }: PageRecord, prefix: string): UploadsSoFar {
  const { groups, first, onLastPage } = state;
  const onThisPage = new Set<string>();
  let { uploadCount, oldest } = state;
  for (const { object, uploadId, initiated } of uploads) {
    const id = JSON.stringify([object, uploadId]);
    if (object === undefined || uploadId === undefined || onThisPage.has(id)) continue;
    onThisPage.add(id);
    if (onLastPage.has(id)) continue;
    const upload = withoutUndefined({ object, uploadId, initiated });
    uploadCount += 1;
    if (first.length < maximumFirst) first.push(upload);
    if (startOf(upload) < startOf(oldest)) oldest = upload;
    const group = groupOf(object, prefix);
    if (groups.size <= maximumGroups) groups.set(group, (groups.get(group) ?? 0) + 1);
  }
  return { uploadCount, oldest, groups, first, onLastPage: onThisPage };
}

/** The time at which an upload was started, in milliseconds since 1970. One without a time counts as the newest. */
function startOf(upload: Upload | undefined): number {
  const time = Date.parse(upload?.initiated ?? '');
  return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time;
}

function groupOf(object: string, prefix: string): string {
  const end = object.indexOf('/', prefix.length);
  return end < 0 ? prefix : object.slice(0, end + 1);
}
