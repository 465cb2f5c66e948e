/** How the requests of an API are signed (docs/API.md: Signing). */
export type SigningProfile =
  | Version4Profile
  /**
   * Signature Version 2, for forms. Weaker than version 4: it covers no header, and its key is the secret key itself, for all days,
   * regions and services.
   */
  | { readonly kind: 'v2' }
  /**
   * Signature Version 3 over HTTPS. Much weaker: it covers only the date, so who sees one request can send any other with its headers,
   * until the date is too old.
   */
  | { readonly kind: 'v3' };

export interface Version4Profile {
  readonly kind: 'v4';
  readonly dateHeader: string;
  /** The header with the body's SHA-256. Only storage has one. */
  readonly contentHashHeader?: string;
  readonly tokenHeader: string;
  /** False for storage, which signs the path as it is sent. */
  readonly encodesPathTwice: boolean;
}

const profileOfStorage = (vendor: 'ext' | 'amz'): Version4Profile => ({
  kind: 'v4',
  dateHeader: `x-${vendor}-date`,
  contentHashHeader: `x-${vendor}-content-sha256`,
  tokenHeader: `x-${vendor}-security-token`,
  encodesPathTwice: false,
});

/** The object storage of the API reference. */
export const storageProfile = profileOfStorage('ext');

/** Any S3-compatible store. */
export const s3Profile = profileOfStorage('amz');

export const apiProfile: Version4Profile = {
  kind: 'v4',
  dateHeader: 'x-amz-date',
  tokenHeader: 'x-amz-security-token',
  encodesPathTwice: true,
};
