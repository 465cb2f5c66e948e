import { createHash } from 'node:crypto';
import { isObject } from './http.js';

/** What object storage holds, and the changes that lead there. Changes are JSON values, written down and done again at a start. */

export interface Part {
  readonly partNumber: number;
  /** Bytes. */
  readonly size: number;
  readonly etag: string;
  /** ISO 8601, UTC. */
  readonly lastModified: string;
  /** Name of the file that holds it; a part without one is zeros. */
  readonly file?: string;
}

/** Names a multipart upload. */
export interface UploadName {
  readonly bucket: string;
  readonly key: string;
  readonly uploadId: string;
}

export interface Upload extends UploadName {
  /** ISO 8601, UTC. */
  readonly initiated: string;
  /** Headers that the object will be served with. */
  readonly headers: Headers;
  /** By number. Made when they are first asked for, as some have thousands from the start. */
  readonly parts: () => Map<number, Part>;
}

export interface StoredObject {
  readonly bucket: string;
  readonly key: string;
  readonly etag: string;
  readonly lastModified: string;
  readonly headers: Headers;
  readonly parts: readonly Part[];
}

type Headers = Readonly<Record<string, string>>;

export type Change =
  | { readonly op: 'bucket'; readonly bucket: string }
  | ({ readonly op: 'create'; readonly initiated: string; readonly headers: Headers } & UploadName)
  | { readonly op: 'part'; readonly uploadId: string; readonly part: Part }
  | { readonly op: 'abort'; readonly uploadId: string }
  | {
      readonly op: 'complete';
      readonly uploadId: string;
      readonly partNumbers: readonly number[];
      readonly lastModified: string;
    }
  | { readonly op: 'object'; readonly object: StoredObject };

/** Uploads by ID, objects by `objectName`. */
export interface Contents {
  readonly buckets: Set<string>;
  readonly uploads: Map<string, Upload>;
  readonly objects: Map<string, StoredObject>;
  /** How many uploads were ever created. */
  created: number;
}

export const objectName = ({ bucket, key }: { bucket: string; key: string }) => `${bucket}/${key}`;

/** Makes a change. Returns the files that nothing refers to any more. */
export function apply(contents: Contents, change: Change): string[] {
  const { buckets, uploads, objects } = contents;
  const store = (object: StoredObject) => {
    const previous = objects.get(objectName(object));
    objects.set(objectName(object), object);
    return filesOf(previous?.parts ?? []);
  };
  if (change.op === 'bucket') {
    buckets.add(change.bucket);
    return [];
  }
  if (change.op === 'object') return store(change.object);
  if (change.op === 'create') {
    const { op: _, ...upload } = change;
    const parts = new Map<number, Part>();
    uploads.set(upload.uploadId, { ...upload, parts: () => parts });
    contents.created += 1;
    return [];
  }
  const upload = uploads.get(change.uploadId);
  if (upload === undefined) return [];
  const parts = upload.parts();
  if (change.op === 'part') {
    const previous = parts.get(change.part.partNumber);
    parts.set(change.part.partNumber, change.part);
    return filesOf(previous === undefined ? [] : [previous]);
  }
  uploads.delete(change.uploadId);
  if (change.op === 'abort') return filesOf(parts.values());
  const { bucket, key, headers } = upload;
  const { lastModified, partNumbers } = change;
  const chosen = partNumbers.flatMap((number) => parts.get(number) ?? []);
  for (const number of partNumbers) parts.delete(number);
  const replaced = store({ bucket, key, headers, etag: completedEtag(chosen), lastModified, parts: chosen });
  return [...filesOf(parts.values()), ...replaced];
}

export const filesOf = (parts: Iterable<Part>): string[] => [...parts].flatMap(({ file }) => file ?? []);

/** The MD5 of the parts' MD5s, and how many there were. */
const completedEtag = (parts: readonly Part[]) =>
  `${createHash('md5')
    .update(Buffer.from(parts.map(({ etag }) => etag).join(''), 'hex'))
    .digest('hex')}-${parts.length}`;

const fields: Readonly<Record<Change['op'], readonly string[]>> = {
  bucket: ['bucket'],
  create: ['bucket', 'key', 'uploadId', 'initiated', 'headers'],
  part: ['uploadId', 'part'],
  abort: ['uploadId'],
  complete: ['uploadId', 'partNumbers', 'lastModified'],
  object: ['object'],
};

/** Whether a value that was read back is a change. */
export const isChange = (value: unknown): value is Change =>
  isObject(value) &&
  Object.entries(fields).some(([op, names]) => op === value.op && names.every((name) => name in value));
