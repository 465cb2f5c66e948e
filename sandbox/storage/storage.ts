import { ServiceError } from '../http.js';
import { derive, type Seeds, type State, Table } from '../state.js';
import { createFiles } from './files.js';
import type { Bucket, ObjectName, Part, StoredObject, Upload } from './records.js';
import * as records from './records.js';

/** The records of object storage in a new sandbox. */
export interface StorageSeeds {
  readonly buckets: Seeds<Bucket>;
  /** Uploads by upload ID. */
  readonly uploads: Seeds<Upload>;
  /** The parts of an upload by part number. */
  partsOf(uploadId: string): Seeds<Part>;
}

export type Storage = ReturnType<typeof openStorage>;

/** Loads buckets, uploads and objects, with the functions that operations use on them. `find…` throws the error of S3 if there is no such record. */
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

  const partTables = new Map<string, Table<Part>>();
  const partsOf = (uploadId: string) => {
    const table =
      partTables.get(uploadId) ?? new Table(`parts of ${uploadId}`, records.part, state, seeds.partsOf(uploadId));
    partTables.set(uploadId, table);
    return table;
  };

  return {
    buckets,
    /** Uploads by upload ID. */
    uploads,
    /** Objects by `tableKeyOf`. */
    objects,
    files,
    findBucket,
    /** Creates an ID for a new upload. It is unique because each new upload is a change, which increases the count. */
    nextUploadId: () => derive(state, 'upload', state.changeCount()).toString('base64url'),
    /** The parts of an upload by part number. Loaded on first use, because an upload may have 10,000 parts. */
    partsOf,
    /** Finds the upload with the query's `uploadId`. The bucket and the key in the path must be those of the upload. */
    findUpload({ bucket, key }: ObjectName, query: ReadonlyMap<string, string>) {
      findBucket(bucket);
      const UploadId = query.get('uploadId') ?? '';
      const upload = uploads.get(UploadId);
      if (upload?.bucket === bucket && upload.key === key) return upload;
      throw new ServiceError(404, 'NoSuchUpload', 'The specified multipart upload does not exist.', { UploadId });
    },
    findObject(name: ObjectName) {
      findBucket(name.bucket);
      const object = objects.get(records.tableKeyOf(name));
      if (object !== undefined) return object;
      throw new ServiceError(404, 'NoSuchKey', 'The specified key does not exist.', { Key: name.key });
    },
    /** Deletes the records of an upload and its parts. Returns the parts, so that the caller can delete the files that no object uses. */
    endUpload(uploadId: string) {
      const parts = partsOf(uploadId);
      const endedParts = [...parts.values()];
      uploads.delete(uploadId);
      // One by one, because a `Table` writes each `delete` to the state, but not a `clear`.
      for (const number of [...parts.keys()]) parts.delete(number);
      // Frees the memory of the table, which is not needed again, because `findUpload` no longer finds the upload.
      partTables.delete(uploadId);
      return endedParts;
    },
    /** Stores an object. Returns the parts of the object that it replaces, so that the caller can delete their files. */
    storeObject(object: StoredObject) {
      const previous = objects.get(records.tableKeyOf(object));
      objects.set(records.tableKeyOf(object), object);
      return previous?.parts ?? [];
    },
    /** Deletes the record of an object, if it exists. Returns the object's parts, so that the caller can delete their files. */
    deleteObject(name: ObjectName) {
      const previous = objects.get(records.tableKeyOf(name));
      objects.delete(records.tableKeyOf(name));
      return previous?.parts ?? [];
    },
    /** Deletes the files that belong to no record, which a killed process may have left. */
    async tidy(): Promise<void> {
      const partsOfUploads = [...uploads.keys()].flatMap((uploadId) => [...partsOf(uploadId).values()]);
      const partsOfObjects = [...objects.values()].flatMap(({ parts }) => parts);
      await files.keepOnly([...partsOfUploads, ...partsOfObjects]);
    },
  };
}
