/** An API's variant of Signature Version 4 (docs/API.md: Signing). */
export interface SigningProfile {
  readonly dateHeader: string;
  /** The header with the body's SHA-256. Only storage has one. */
  readonly contentHashHeader?: string;
  readonly tokenHeader: string;
  /** False for storage, which signs the path as it is sent. */
  readonly encodesPathTwice: boolean;
}

/** The object storage of the API reference. */
export const storageProfile: SigningProfile = {
  dateHeader: 'x-ext-date',
  contentHashHeader: 'x-ext-content-sha256',
  tokenHeader: 'x-ext-security-token',
  encodesPathTwice: false,
};

/** Any S3-compatible store. */
export const s3Profile: SigningProfile = {
  dateHeader: 'x-amz-date',
  contentHashHeader: 'x-amz-content-sha256',
  tokenHeader: 'x-amz-security-token',
  encodesPathTwice: false,
};

/** All other APIs. */
export const apiProfile: SigningProfile = {
  dateHeader: 'x-amz-date',
  tokenHeader: 'x-amz-security-token',
  encodesPathTwice: true,
};
