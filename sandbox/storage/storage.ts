import { ServiceError } from '../http.js';
import { once, seededUploads } from '../seeds.js';
import type { State } from '../state.js';
import {
  apply,
  type Change,
  type Contents,
  filesOf,
  type ObjectName,
  objectName,
  type Part,
  parseChange,
  type StoredObject,
  type Upload,
  type UploadName,
} from './contents.js';
import { createFiles, type Files } from './files.js';

/** Object storage: buckets, multipart uploads and what they become (reference, sections 2.2 and 4.1; all else as S3 does it). */
export interface Storage {
  readonly contents: Contents;
  readonly files: Files;
  /** The ID of the next upload. */
  nextUploadId(): string;
  /** Makes a change and keeps it. What it makes useless is deleted only then. */
  commit(change: Change): Promise<void>;
  /** These throw a `ServiceError` if there is none. */
  checkBucket(bucket: string): void;
  findUpload(name: ObjectName, query: ReadonlyMap<string, string>): Upload;
  findObject(name: ObjectName): StoredObject;
  /** Puts an upload there that is gone with the process, for tests. */
  addUpload(upload: UploadName & { readonly parts: readonly Part[] }): void;
  /** Deletes what a process that was ended has left in the folder. */
  tidy(): Promise<void>;
}

export interface StorageOptions {
  readonly now: () => Date;
  readonly started: Date;
  readonly uploadId: (count: number) => string;
  readonly state: State;
  /** Changes made before this start. */
  readonly saved: readonly unknown[];
}

export function openStorage({ now, started, uploadId, state, saved }: StorageOptions): Storage {
  const contents: Contents = {
    buckets: new Map(),
    uploads: new Map(),
    completed: new Map(),
    objects: new Map(),
    created: 0,
  };
  const files = createFiles(state);
  const add = (upload: Upload) => {
    contents.buckets.set(upload.bucket, { created: started.toISOString() });
    contents.uploads.set(upload.uploadId, upload);
  };
  for (const upload of seededUploads(started)) add(upload);
  for (const change of saved.map(parseChange)) if (change !== undefined) apply(contents, change);

  const checkBucket = (bucket: string) => {
    if (!contents.buckets.has(bucket))
      throw new ServiceError(404, 'NoSuchBucket', 'The specified bucket does not exist.', { BucketName: bucket });
  };
  return {
    contents,
    files,
    nextUploadId: () => uploadId(contents.created),
    async commit(change) {
      const dropped = apply(contents, change);
      await state.append({ storage: change });
      await files.remove(dropped);
    },
    checkBucket,
    findUpload({ bucket, key }, query) {
      checkBucket(bucket);
      const UploadId = query.get('uploadId') ?? '';
      const upload = contents.uploads.get(UploadId);
      if (upload?.bucket === bucket && upload.key === key) return upload;
      throw new ServiceError(404, 'NoSuchUpload', 'The specified multipart upload does not exist.', { UploadId });
    },
    findObject(name) {
      checkBucket(name.bucket);
      const object = contents.objects.get(objectName(name));
      if (object !== undefined) return object;
      throw new ServiceError(404, 'NoSuchKey', 'The specified key does not exist.', { Key: name.key });
    },
    addUpload: (upload) =>
      add({ ...upload, initiated: now().toISOString(), headers: {}, parts: once(() => upload.parts) }),
    async tidy() {
      const uploads = [...contents.uploads.values()].flatMap(({ parts }) => filesOf(parts().values()));
      const objects = [...contents.objects.values()].flatMap(({ parts }) => filesOf(parts));
      await files.keepOnly(new Set([...uploads, ...objects]));
    },
  };
}
