import { createHash, createHmac } from 'node:crypto';
import { Sha256 } from '@aws-crypto/sha256-js';
import {
  ALGORITHM_IDENTIFIER,
  createScope,
  getCanonicalHeaders,
  getPayloadHash,
  getSigningKey,
  SignatureV4Base,
} from '@smithy/signature-v4';
import { encodeSegment, type Query } from '../util/uri.js';
import type { SigningProfile, Version4Profile } from './signature-variants.js';

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
  /** Lower-case names. Version 4 signs all headers. */
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
  /** If signing changes the body. */
  readonly body?: string;
  readonly canonicalRequest: string;
  readonly stringToSign: string;
}

/** Signs a request. Each attempt needs a new signature, because it covers the time. */
export async function sign(request: UnsignedRequest, context: SigningContext): Promise<Signed> {
  const { profile } = context;
  switch (profile.kind) {
    case 'v2':
      return signForm(request, context);
    case 'v3':
      return signDate(request, context);
    case 'v4':
      return new RequestSigner(context, profile).signRequest(request);
  }
}

/** The library's own signer has fixed header names, and does not return the signed texts. */
class RequestSigner extends SignatureV4Base {
  readonly context: SigningContext;
  readonly profile: Version4Profile;

  constructor(context: SigningContext, profile: Version4Profile) {
    super({ ...context, sha256: Sha256, uriEscapePath: profile.encodesPathTwice });
    this.context = context;
    this.profile = profile;
  }

  async signRequest({ method, host, path, query, headers: given, body }: UnsignedRequest): Promise<Signed> {
    const { profile } = this;
    const { credentials, region, service, date } = this.context;
    const { longDate, shortDate } = this.formatDate(date);
    const headers: Record<string, string> = { ...given, host, [profile.dateHeader]: longDate };
    const parameters = Object.entries(query).map(([name, value]): [string, string | string[]] => {
      if (value === true) return [name, ''];
      return [name, typeof value === 'string' ? value : [...value]];
    });
    // `libraryRequest` refers to `headers`, so later headers are signed too.
    const libraryRequest = {
      method,
      protocol: 'https:',
      hostname: host,
      path,
      query: Object.fromEntries(parameters),
      headers,
      ...(body !== undefined && { body }),
    };
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

type Pairs = readonly (readonly [name: string, value: string])[];

/** Version 2 adds parameters to a form. @throws Error if an argument has the name of such a parameter */
function signForm(
  { method, host, path, headers, body = '' }: UnsignedRequest,
  { credentials, date }: SigningContext,
): Signed {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const given: Pairs = [...new URLSearchParams(body)];
  const token: Pairs = sessionToken === undefined ? [] : [['SecurityToken', sessionToken]];
  const added: Pairs = [
    ['AccessKeyId', accessKeyId],
    ['SignatureVersion', '2'],
    ['SignatureMethod', hmacAlgorithm],
    ['Timestamp', date.toISOString().replace(/\.\d+Z$/, 'Z')],
    ...token,
  ];
  if (given.some(([name]) => name === 'Signature' || added.some(([fixed]) => fixed === name)))
    throw new Error('an argument has the name of a parameter of the signature');

  const parameters = [...given, ...added].sort(([a], [b]) => (a < b ? -1 : 1));
  const stringToSign = [method, host, path, encodePairs(parameters)].join('\n');
  const signature = hmacOf(stringToSign, secretAccessKey);
  return {
    headers: { ...headers, host },
    body: `${body}&${encodePairs([...added, ['Signature', signature]])}`,
    // As with version 4, the log gets no values of the body.
    canonicalRequest: [method, host, path, ...parameters.map(([name]) => name)].join('\n'),
    stringToSign: createHash('sha256').update(stringToSign).digest('hex'),
  };
}

const encodePairs = (pairs: Pairs): string =>
  pairs.map(([name, value]) => `${encodeSegment(name)}=${encodeSegment(value)}`).join('&');

/** Version 3 signs the date, and nothing else. */
function signDate({ host, headers }: UnsignedRequest, { credentials, date }: SigningContext): Signed {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const text = date.toUTCString();
  const signature = hmacOf(text, secretAccessKey);
  const signed = {
    ...headers,
    host,
    date: text,
    ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
    'x-amzn-authorization': `AWS3-HTTPS AWSAccessKeyId=${accessKeyId},Algorithm=${hmacAlgorithm},Signature=${signature}`,
  };
  return { headers: signed, canonicalRequest: text, stringToSign: text };
}

const hmacAlgorithm = 'HmacSHA256';
const hmacOf = (text: string, key: string): string => createHmac('sha256', key).update(text).digest('base64');
