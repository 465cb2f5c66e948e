import * as z from 'zod';

/** This file has the records of object storage, as they are written to the state. All times are ISO 8601 in UTC. */

const headers = z.record(z.string(), z.string());

const lifecycleRule = z.object({
  id: z.string(),
  prefix: z.string(),
  status: z.string(),
  /** Days after which objects expire. */
  days: z.number().optional(),
  /** Days after which unfinished multipart uploads are aborted. */
  abortAfterDays: z.number().optional(),
});

export const bucket = z.object({
  created: z.string(),
  region: z.string().optional(),
  lifecycle: z.array(lifecycleRule).optional(),
});

export const upload = z.object({
  bucket: z.string(),
  key: z.string(),
  uploadId: z.string(),
  initiated: z.string(),
  /** Headers of the client for the later object, such as `content-type`. Answers that return the object repeat them. */
  headers,
  /** The checksum algorithm that the client chose for all parts, if it chose one. */
  algorithm: z.string().optional(),
});

export const part = z.object({
  partNumber: z.number(),
  /** Size in bytes. */
  size: z.number(),
  etag: z.string(),
  lastModified: z.string(),
  /** Name of the file with the bytes. Parts of the demo uploads have no file; their bytes are zeros. */
  file: z.string().optional(),
  /** Checksums in base64 by the name of their header. */
  checksums: headers,
});

export const storedObject = z.object({
  bucket: z.string(),
  key: z.string(),
  /** ID of the multipart upload that created the object, if one did. */
  uploadId: z.string().optional(),
  etag: z.string(),
  lastModified: z.string(),
  /** Headers of the client, such as `content-type`. Answers that return the object repeat them. */
  headers,
  parts: z.array(part),
  /** Checksum headers of the whole object. */
  checksums: headers,
});

export type Bucket = z.output<typeof bucket>;
export type Upload = z.output<typeof upload>;
export type Part = z.output<typeof part>;
export type StoredObject = z.output<typeof storedObject>;
export type UploadName = Pick<Upload, 'bucket' | 'key' | 'uploadId'>;
export type ObjectName = Pick<Upload, 'bucket' | 'key'>;

/** The key of an object's record in its table. */
export const tableKeyOf = ({ bucket, key }: ObjectName) => `${bucket}/${key}`;
export const sizeOf = (parts: readonly Part[]) => parts.reduce((total, { size }) => total + size, 0);
