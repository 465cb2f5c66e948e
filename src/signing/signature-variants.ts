/**
 * An API's variant of Signature Version 4 (docs/API.md: Signing). The reference does not define path encoding and token
 * headers, so they follow similar services.
 */
export interface SigningProfile {
  readonly dateHeader: string;
  /** The header with the body's SHA-256. Only storage has one. */
  readonly contentHashHeader?: string;
  readonly tokenHeader: string;
  /** Storage signs the path as it is sent. The other APIs normalise the path and encode it a second time. */
  readonly encodesPathTwice: boolean;
}

/** Storage of the reference: `x-ext-*`. */
export const storageProfile: SigningProfile = {
  dateHeader: 'x-ext-date',
  contentHashHeader: 'x-ext-content-sha256',
  tokenHeader: 'x-ext-security-token',
  encodesPathTwice: false,
};

/** Any S3-compatible store: `x-amz-*`. */
export const s3Profile: SigningProfile = {
  dateHeader: 'x-amz-date',
  contentHashHeader: 'x-amz-content-sha256',
  tokenHeader: 'x-amz-security-token',
  encodesPathTwice: false,
};

/** The catalog and DevOps APIs. */
export const apiProfile: SigningProfile = {
  dateHeader: 'x-amz-date',
  tokenHeader: 'x-amz-security-token',
  encodesPathTwice: true,
};
