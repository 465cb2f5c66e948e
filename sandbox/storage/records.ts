import * as z from 'zod';

/** What object storage holds. Times are ISO 8601, UTC. */

const headers = z.record(z.string(), z.string());

export const bucket = z.object({ created: z.string(), region: z.string().optional() });

export const upload = z.object({
  bucket: z.string(),
  key: z.string(),
  uploadId: z.string(),
  initiated: z.string(),
  /** Headers that the object will be served with. */
  headers,
  /** Of the checksum that the client asked for. */
  algorithm: z.string().optional(),
});

export const part = z.object({
  partNumber: z.number(),
  /** Bytes. */
  size: z.number(),
  etag: z.string(),
  lastModified: z.string(),
  /** Name of the file that holds it; a part without one is zeros. */
  file: z.string().optional(),
  /** Base64, by their headers. */
  checksums: headers,
});

export const storedObject = z.object({
  bucket: z.string(),
  key: z.string(),
  /** Of the upload that it was. */
  uploadId: z.string().optional(),
  etag: z.string(),
  lastModified: z.string(),
  /** Headers that it is served with. */
  headers,
  parts: z.array(part),
  /** Headers about checksums. */
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
