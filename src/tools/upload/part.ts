/** One part that an upload has stored. */
export interface UploadPart {
  readonly partNumber: number;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970; NaN if the service gave no readable time. */
  readonly uploadedAt: number;
  readonly etag?: string | undefined;
}

export const bytesOf = (parts: readonly UploadPart[]) => parts.reduce((sum, { size }) => sum + size, 0);
