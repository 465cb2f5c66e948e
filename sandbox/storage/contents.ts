import { createHash } from 'node:crypto';
import * as z from 'zod';
import { compositeChecksum } from './checksums.js';

/** What object storage holds, and the changes that lead there. Changes are JSON values, kept and made again at a start. */

const headers = z.record(z.string(), z.string());
const part = z.object({
  partNumber: z.number(),
  /** Bytes. */
  size: z.number(),
  etag: z.string(),
  /** ISO 8601, UTC. */
  lastModified: z.string(),
  /** Name of the file that holds it; a part without one is zeros. */
  file: z.string().optional(),
  /** Base64, of the algorithm that its upload or object has. */
  checksum: z.string().optional(),
});

const storedObject = z.object({
  bucket: z.string(),
  key: z.string(),
  etag: z.string(),
  lastModified: z.string(),
  /** Headers that it is served with. */
  headers,
  parts: z.array(part),
  checksum: z.object({ algorithm: z.string(), value: z.string() }).optional(),
});

const created = z.object({
  op: z.literal('create'),
  bucket: z.string(),
  key: z.string(),
  uploadId: z.string(),
  /** ISO 8601, UTC. */
  initiated: z.string(),
  /** Headers that the object will be served with. */
  headers,
  /** Of the checksum that the client asked for. */
  algorithm: z.string().optional(),
});

const bucket = z.object({
  op: z.literal('bucket'),
  bucket: z.string(),
  created: z.string().optional(),
  region: z.string().optional(),
});

const completed = z.object({
  op: z.literal('complete'),
  uploadId: z.string(),
  partNumbers: z.array(z.number()),
  lastModified: z.string(),
});

const change = z.discriminatedUnion('op', [
  bucket,
  created,
  z.object({ op: z.literal('part'), uploadId: z.string(), part }),
  z.object({ op: z.literal('abort'), uploadId: z.string() }),
  completed,
  z.object({ op: z.literal('object'), object: storedObject }),
  z.object({ op: z.literal('delete'), bucket: z.string(), key: z.string() }),
]);

export type Change = z.output<typeof change>;
export type Part = z.output<typeof part>;
export type StoredObject = z.output<typeof storedObject>;

export type Upload = Omit<z.output<typeof created>, 'op'> & {
  /** By number. Made when they are first asked for, as some have thousands from the start. */
  readonly parts: () => Map<number, Part>;
};
export type UploadName = Pick<Upload, 'bucket' | 'key' | 'uploadId'>;
export type ObjectName = Pick<Upload, 'bucket' | 'key'>;

export interface Contents {
  readonly buckets: Map<string, Pick<z.output<typeof bucket>, 'created' | 'region'>>;
  /** By ID. */
  readonly uploads: Map<string, Upload>;
  /** What uploads became, by their ID: a client whose answer was lost completes again. */
  readonly completed: Map<string, StoredObject>;
  /** By `objectName`. */
  readonly objects: Map<string, StoredObject>;
  /** How many uploads were ever created. */
  created: number;
}

export const objectName = ({ bucket, key }: ObjectName) => `${bucket}/${key}`;

/** A change that was read back; undefined if it is none. */
export const parseChange = (value: unknown): Change | undefined => change.safeParse(value).data;

/** Makes a change. Returns the files that nothing refers to any more. */
export function apply(contents: Contents, change: Change): string[] {
  switch (change.op) {
    case 'bucket':
      contents.buckets.set(change.bucket, change);
      return [];
    case 'object':
      return store(contents, change.object);
    case 'delete': {
      const previous = contents.objects.get(objectName(change));
      contents.objects.delete(objectName(change));
      return filesOf(previous?.parts ?? []);
    }
    case 'create': {
      const { op: _, ...upload } = change;
      const parts = new Map<number, Part>();
      contents.uploads.set(upload.uploadId, { ...upload, parts: () => parts });
      contents.created += 1;
      return [];
    }
  }
  const upload = contents.uploads.get(change.uploadId);
  if (upload === undefined) return [];
  const parts = upload.parts();
  if (change.op === 'part') {
    const previous = parts.get(change.part.partNumber);
    parts.set(change.part.partNumber, change.part);
    return filesOf(previous === undefined ? [] : [previous]);
  }
  contents.uploads.delete(change.uploadId);
  if (change.op === 'abort') return filesOf(parts.values());
  const object = completedObject(upload, change);
  contents.completed.set(change.uploadId, object);
  for (const number of change.partNumbers) parts.delete(number);
  return [...filesOf(parts.values()), ...store(contents, object)];
}

function store({ objects }: Contents, object: StoredObject): string[] {
  const previous = objects.get(objectName(object));
  objects.set(objectName(object), object);
  return filesOf(previous?.parts ?? []);
}

export const filesOf = (parts: Iterable<Part>): string[] => [...parts].flatMap(({ file }) => file ?? []);

/** The object that some of an upload's parts make. */
export function completedObject(
  { bucket, key, headers, algorithm, parts: all }: Upload,
  { partNumbers, lastModified }: Omit<z.output<typeof completed>, 'op' | 'uploadId'>,
): StoredObject {
  const parts = partNumbers.flatMap((number) => all().get(number) ?? []);
  const digests = Buffer.from(parts.map(({ etag }) => etag).join(''), 'hex');
  const etag = `${createHash('md5').update(digests).digest('hex')}-${parts.length}`;
  const checksums = parts.map(({ checksum = '' }) => checksum);
  const checksum = algorithm && { algorithm, value: compositeChecksum(algorithm, checksums) };
  return { bucket, key, headers, etag, lastModified, parts, ...(checksum && { checksum }) };
}
