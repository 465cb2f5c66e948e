/**
 * An API's variant of Signature Version 4 (docs/API.md: Signing). Encoding and the headers of tokens follow similar services.
 */
export interface SigningProfile {
  readonly dateHeader: string;
  /** Storage carries the body's SHA-256 in a header; the other APIs do not. */
  readonly contentHashHeader?: string;
  readonly tokenHeader: string;
  /** Storage signs the path as it is on the wire; the others normalise it and encode it once more. */
  readonly encodesPathTwice: boolean;
}

/** Storage as in the reference: `x-ext-*`. */
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

/** Catalog and DevOps. */
export const apiProfile: SigningProfile = {
  dateHeader: 'x-amz-date',
  tokenHeader: 'x-amz-security-token',
  encodesPathTwice: true,
};
