import { Sha256 } from '@aws-crypto/sha256-js';
import {
  ALGORITHM_IDENTIFIER,
  createScope,
  getCanonicalHeaders,
  getPayloadHash,
  getSigningKey,
  SignatureV4Base,
} from '@smithy/signature-v4';
import type { HttpRequest } from '@smithy/types';
import type { Query } from '../util/uri.js';
import type { SigningProfile } from './signature-variants.js';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** The path is encoded as it is sent, and the query is not yet encoded. */
interface UnsignedRequest {
  readonly method: string;
  /** Host and port, without the scheme's default port. */
  readonly host: string;
  readonly path: string;
  readonly query: Query;
  /** Lower-case names. All headers are signed. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface SigningContext {
  readonly profile: SigningProfile;
  readonly credentials: Credentials;
  readonly region: string;
  readonly service: string;
  readonly date: Date;
}

/** The signed texts are for debugging. Their only secret is the session token. */
interface Signed {
  readonly headers: Readonly<Record<string, string>>;
  readonly canonicalRequest: string;
  readonly stringToSign: string;
}

/** Signs a request with Signature Version 4. Each attempt needs a new signature, because it covers the time. */
export function sign(request: UnsignedRequest, context: SigningContext): Promise<Signed> {
  return new RequestSigner(context).signRequest(request, context);
}

/** The library's own signer has fixed header names, and does not return the signed texts. */
class RequestSigner extends SignatureV4Base {
  constructor({ profile, credentials, region, service }: SigningContext) {
    super({ credentials, region, service, sha256: Sha256, uriEscapePath: profile.encodesPathTwice });
  }

  async signRequest(
    request: UnsignedRequest,
    { profile, credentials, region, service, date }: SigningContext,
  ): Promise<Signed> {
    const { longDate, shortDate } = this.formatDate(date);
    const headers: Record<string, string> = { ...request.headers, host: request.host, [profile.dateHeader]: longDate };
    // `libraryRequest` refers to `headers`, so later headers are signed too.
    const libraryRequest = httpRequest(request, headers);
    const payloadHash = await getPayloadHash(libraryRequest, Sha256);
    if (profile.contentHashHeader !== undefined) headers[profile.contentHashHeader] = payloadHash;
    if (credentials.sessionToken !== undefined) headers[profile.tokenHeader] = credentials.sessionToken;

    const canonicalHeaders = getCanonicalHeaders(libraryRequest);
    const canonicalRequest = this.createCanonicalRequest(libraryRequest, canonicalHeaders, payloadHash);
    const scope = createScope(shortDate, region, service);
    const stringToSign = await this.createStringToSign(longDate, scope, canonicalRequest, ALGORITHM_IDENTIFIER);

    const hmac = new Sha256(await getSigningKey(Sha256, credentials, shortDate, region, service));
    hmac.update(stringToSign);
    const signature = Buffer.from(await hmac.digest()).toString('hex');

    headers.authorization =
      `${ALGORITHM_IDENTIFIER} Credential=${credentials.accessKeyId}/${scope}, ` +
      `SignedHeaders=${this.getCanonicalHeaderList(canonicalHeaders)}, Signature=${signature}`;
    return { headers, canonicalRequest, stringToSign };
  }
}

function httpRequest(
  { method, host, path, query, body }: UnsignedRequest,
  headers: Record<string, string>,
): HttpRequest {
  const parameters = Object.entries(query).map(([name, value]): [string, string | string[]] => {
    if (value === true) return [name, ''];
    return [name, typeof value === 'string' ? value : [...value]];
  });
  const request = { method, protocol: 'https:', hostname: host, path, query: Object.fromEntries(parameters), headers };
  return body === undefined ? request : { ...request, body };
}
