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
import { createFiles } from './files.js';

export type Storage = ReturnType<typeof openStorage>;

export interface StorageOptions {
  readonly now: () => Date;
  readonly state: State;
  /** When the sandbox started for the first time. */
  readonly started: Date;
  /** The ID of the upload created after so many others. */
  readonly uploadId: (count: number) => string;
}

/**
 * Object storage as its state left it: buckets, multipart uploads and what they become (reference, sections 2.2 and 4.1;
 * all else as S3 does it). What is not there is a `ServiceError`.
 */
export function openStorage({ now, state, started, uploadId }: StorageOptions) {
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
  for (const change of state.saved('storage').map(parseChange)) if (change !== undefined) apply(contents, change);

  const checkBucket = (bucket: string) => {
    if (!contents.buckets.has(bucket))
      throw new ServiceError(404, 'NoSuchBucket', 'The specified bucket does not exist.', { BucketName: bucket });
  };
  return {
    contents,
    files,
    checkBucket,
    nextUploadId: () => uploadId(contents.created),
    /** Makes a change and keeps it. What it makes useless is deleted only then. */
    async commit(change: Change): Promise<void> {
      const dropped = apply(contents, change);
      await state.append({ storage: change });
      await files.remove(dropped);
    },
    /** The upload that a path and the `uploadId` of a query name. */
    findUpload({ bucket, key }: ObjectName, query: ReadonlyMap<string, string>): Upload {
      checkBucket(bucket);
      const UploadId = query.get('uploadId') ?? '';
      const upload = contents.uploads.get(UploadId);
      if (upload?.bucket === bucket && upload.key === key) return upload;
      throw new ServiceError(404, 'NoSuchUpload', 'The specified multipart upload does not exist.', { UploadId });
    },
    findObject(name: ObjectName): StoredObject {
      checkBucket(name.bucket);
      const object = contents.objects.get(objectName(name));
      if (object !== undefined) return object;
      throw new ServiceError(404, 'NoSuchKey', 'The specified key does not exist.', { Key: name.key });
    },
    /** Puts an upload there that is gone with the process, for tests. */
    addUpload: (upload: UploadName & { readonly parts: readonly Part[] }) =>
      add({ ...upload, initiated: now().toISOString(), headers: {}, parts: once(() => upload.parts) }),
    /** Deletes what a process that was ended has left in the folder. */
    async tidy(): Promise<void> {
      const uploads = [...contents.uploads.values()].flatMap(({ parts }) => filesOf(parts().values()));
      const objects = [...contents.objects.values()].flatMap(({ parts }) => filesOf(parts));
      await files.keepOnly(new Set([...uploads, ...objects]));
    },
  };
}
