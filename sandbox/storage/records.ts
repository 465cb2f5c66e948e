import * as z from 'zod';

/** Records of object storage. Times are ISO 8601, UTC. */

const headers = z.record(z.string(), z.string());

const lifecycleRule = z.object({ id: z.string(), prefix: z.string(), status: z.string(), days: z.number() });

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
  /** Headers for answers that return the object. */
  headers,
  /** Checksum algorithm that the client asked for. */
  algorithm: z.string().optional(),
});

export const part = z.object({
  partNumber: z.number(),
  /** Size in bytes. */
  size: z.number(),
  etag: z.string(),
  lastModified: z.string(),
  /** Name of the file with the bytes. A part without a file consists of zeros. */
  file: z.string().optional(),
  /** Checksums in base64, by header name. */
  checksums: headers,
});

export const storedObject = z.object({
  bucket: z.string(),
  key: z.string(),
  /** ID of the multipart upload that created the object. */
  uploadId: z.string().optional(),
  etag: z.string(),
  lastModified: z.string(),
  /** Headers for answers that return the object. */
  headers,
  parts: z.array(part),
  /** Checksum headers. */
  checksums: headers,
});

export type Bucket = z.output<typeof bucket>;
export type Upload = z.output<typeof upload>;
export type Part = z.output<typeof part>;
export type StoredObject = z.output<typeof storedObject>;
export type UploadName = Pick<Upload, 'bucket' | 'key' | 'uploadId'>;
export type ObjectName = Pick<Upload, 'bucket' | 'key'>;

export const objectName = ({ bucket, key }: ObjectName) => `${bucket}/${key}`;
export const sizeOf = (parts: readonly Part[]) => parts.reduce((total, { size }) => total + size, 0);
