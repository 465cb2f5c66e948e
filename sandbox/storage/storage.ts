import { ServiceError } from '../http.js';
import { derive, type Seeds, type State, Table } from '../state.js';
import { createFiles } from './files.js';
import type { Bucket, ObjectName, Part, StoredObject, Upload } from './records.js';
import * as records from './records.js';

/** Records that exist before the first change. */
export interface StorageSeeds {
  readonly buckets: Seeds<Bucket>;
  /** Uploads by ID. */
  readonly uploads: Seeds<Upload>;
  /** Parts by number. */
  partsOf(uploadId: string): Seeds<Part>;
}

export type Storage = ReturnType<typeof openStorage>;

/**
 * The object storage that a state holds: buckets, multipart uploads and objects (docs/API.md: ListParts; all else
 * as on S3). Its functions throw a `ServiceError` for a name that does not exist.
 */
export function openStorage(state: State, seeds: StorageSeeds) {
  const buckets = new Table('buckets', records.bucket, state, seeds.buckets);
  const uploads = new Table('uploads', records.upload, state, seeds.uploads);
  const objects = new Table('objects', records.storedObject, state);
  const files = createFiles(state);

  const findBucket = (name: string) => {
    const bucket = buckets.get(name);
    if (bucket !== undefined) return bucket;
    throw new ServiceError(404, 'NoSuchBucket', 'The specified bucket does not exist.', { BucketName: name });
  };
  const tables = new Map<string, Table<Part>>();
  const partsOf = (uploadId: string) => {
    const table =
      tables.get(uploadId) ?? new Table(`parts of ${uploadId}`, records.part, state, seeds.partsOf(uploadId));
    tables.set(uploadId, table);
    return table;
  };
  return {
    buckets,
    /** Uploads by ID. */
    uploads,
    /** Objects by `objectName`. */
    objects,
    files,
    findBucket,
    nextUploadId: () => derive(state, 'upload', state.count()).toString('base64url'),
    /** The parts of an upload by number. Loaded on first use, because there may be 10,000. */
    partsOf,
    /** Finds the upload of a path and the query's `uploadId`. */
    findUpload({ bucket, key }: ObjectName, query: ReadonlyMap<string, string>) {
      findBucket(bucket);
      const UploadId = query.get('uploadId') ?? '';
      const upload = uploads.get(UploadId);
      if (upload?.bucket === bucket && upload.key === key) return upload;
      throw new ServiceError(404, 'NoSuchUpload', 'The specified multipart upload does not exist.', { UploadId });
    },
    findObject(name: ObjectName) {
      findBucket(name.bucket);
      const object = objects.get(records.objectName(name));
      if (object !== undefined) return object;
      throw new ServiceError(404, 'NoSuchKey', 'The specified key does not exist.', { Key: name.key });
    },
    /** Ends an upload. Returns its parts. */
    endUpload(uploadId: string) {
      const parts = partsOf(uploadId);
      const ended = [...parts.values()];
      uploads.delete(uploadId);
      for (const number of parts.keys()) parts.delete(number);
      tables.delete(uploadId);
      return ended;
    },
    /** Stores an object. Returns the parts of the object that it replaces. */
    storeObject(object: StoredObject) {
      const previous = objects.get(records.objectName(object));
      objects.set(records.objectName(object), object);
      return previous?.parts ?? [];
    },
    /** Deletes an object if it exists. Returns its parts. */
    deleteObject(name: ObjectName) {
      const previous = objects.get(records.objectName(name));
      objects.delete(records.objectName(name));
      return previous?.parts ?? [];
    },
    /** Deletes files that a killed process left behind. */
    async tidy(): Promise<void> {
      const unfinished = [...uploads.keys()].flatMap((uploadId) => [...partsOf(uploadId).values()]);
      await files.keepOnly([...unfinished, ...[...objects.values()].flatMap(({ parts }) => parts)]);
    },
  };
}
