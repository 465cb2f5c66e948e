import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { posix } from 'node:path';
import { type ApiRequest, type CheckNextSignature, ServiceError, splitOnce } from './http.js';

export interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The name of each API in the credential scope of its signatures. */
export const signingServices = { storage: 's3', catalog: 'catalog', devops: 'devops' };

/** A request whose signature is checked. For object storage, `body` is empty: storage/bodies.ts compares the body with its signed hash later. */
type SignedRequest = Pick<ApiRequest, 'service' | 'method' | 'url' | 'headers' | 'body'>;

const authorization =
  /^AWS4-HMAC-SHA256 +Credential=([^/,\s]+)\/(\d{8})\/([^/,\s]+)\/([^/,\s]+)\/aws4_request, *SignedHeaders=([a-z0-9;._-]+), *Signature=([0-9a-f]{64})$/;
const toleranceMs = 15 * 60 * 1000;

/** Returns the error for a missing or wrong signature (docs/API.md: Signing). Shares no code with the client's signer, so that mistakes show up. */
export function checkSignature(request: SignedRequest, keys: Keys, now: Date): ServiceError | undefined {
  const problem = findProblem(request, keys, now);
  if (problem === undefined || request.service === 'storage') return problem;
  // The other APIs answer most of these errors with the status 401 and a code of their own.
  const { code, message, details } = problem;
  const isShared = ['RequestTimeTooSkewed', 'NotImplemented'].includes(code);
  return isShared ? problem : new ServiceError(401, `Client.AuthFailure.${code}`, message, details);
}

/**
 * Returns what is wrong with the signature of a request, as the error that object storage answers with, or undefined if the signature is
 * valid. If the signature does not match, the details have the texts that the client should have signed.
 */
function findProblem(request: SignedRequest, keys: Keys, now: Date): ServiceError | undefined {
  const { headers, service, url } = request;
  if (headers.authorization === undefined && /[?&](X-Amz-)?Signature=/i.test(url))
    return authError(501, 'NotImplemented', 'Presigned URLs are not offered: sign with the Authorization header.');
  if (headers.authorization === undefined) return authError(403, 'AccessDenied', 'The request is not signed.');
  const parsed = parseAuthorization(headers.authorization);
  if (parsed === undefined)
    return authError(400, 'AuthorizationHeaderMalformed', 'The Authorization header is malformed.');

  const { accessKeyId, day, scopeService, scope, signedHeaders, signature } = parsed;
  const thisService = signingServices[service];
  if (scopeService !== thisService) {
    const message = `The scope names the service ${scopeService}; this is ${thisService}.`;
    return authError(400, 'AuthorizationHeaderMalformed', message);
  }
  if (accessKeyId !== keys.accessKeyId) return authError(403, 'InvalidAccessKeyId', 'The access key does not exist.');

  const headerPrefix = headerPrefixOf(request);
  const date = headers[`${headerPrefix}-date`] ?? '';
  const signedNames = signedHeaders.split(';');
  const problem = checkDate(date, day, now) ?? checkSignedNames(request, signedNames, headerPrefix);
  if (problem !== undefined) return problem;

  const canonicalRequest = canonicalRequestOf(request, signedNames, headerPrefix);
  const stringToSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonicalRequest)].join('\n');
  const expected = hmac(signingKey(keys, scope), stringToSign);
  // Does not throw, because both have 32 bytes: `parseAuthorization` accepts only 64 hex digits.
  if (timingSafeEqual(expected, Buffer.from(signature, 'hex'))) return undefined;

  const message = 'The signature does not match the one calculated here. Compare the texts that were signed.';
  return authError(403, 'SignatureDoesNotMatch', message, {
    CanonicalRequest: canonicalRequest,
    CanonicalRequestBytes: hexBytes(canonicalRequest),
    StringToSign: stringToSign,
    StringToSignBytes: hexBytes(stringToSign),
  });
}

/**
 * Returns the check of the chunk signatures, for a request whose signature `checkSignature` has accepted. Each chunk signature covers the
 * previous one, and the first covers the signature in the headers.
 */
export function chunkSignatures(request: SignedRequest, keys: Keys): CheckNextSignature {
  const { headers } = request;
  const parsed = parseAuthorization(headers.authorization ?? '');
  const date = headers[`${headerPrefixOf(request)}-date`];
  // Never happens, because `checkSignature` refuses such a request.
  if (parsed === undefined || date === undefined) throw new Error('the headers are not signed');
  const { scope, signature } = parsed;
  const key = signingKey(keys, scope);
  let previousSignature = signature;

  return (kind, digest, signatureOfChunk) => {
    // For chunks, but not for trailers, the protocol has a line with the hash of chunk headers, which are always empty.
    const emptyHash = kind === 'PAYLOAD' ? [sha256('')] : [];
    const stringToSign = [`AWS4-HMAC-SHA256-${kind}`, date, scope, previousSignature, ...emptyHash, digest].join('\n');
    const expected = hmac(key, stringToSign);
    previousSignature = expected.toString('hex');

    const received = Buffer.from(signatureOfChunk, 'hex');
    if (received.length === expected.length && timingSafeEqual(expected, received)) return;
    const message = 'The signature of a chunk or of the trailers does not match the one calculated here.';
    throw authError(403, 'SignatureDoesNotMatch', message, { StringToSign: stringToSign });
  };
}

function parseAuthorization(text: string) {
  const parsed = authorization.exec(text);
  if (parsed === null) return undefined;
  const [, accessKeyId = '', day = '', region = '', scopeService = '', signedHeaders = '', signature = ''] = parsed;
  const scope = [day, region, scopeService, 'aws4_request'].join('/');
  return { accessKeyId, day, scopeService, scope, signedHeaders, signature };
}

/** The prefix of the headers that belong to the signature: `x-ext`, which docs/API.md uses for storage, or `x-amz` as in S3. */
const headerPrefixOf = ({ service, headers }: SignedRequest) =>
  service === 'storage' && headers['x-ext-date'] !== undefined ? 'x-ext' : 'x-amz';

const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();

const signingKey = ({ secretAccessKey }: Keys, scope: string) =>
  scope.split('/').reduce<Buffer>(hmac, Buffer.from(`AWS4${secretAccessKey}`));

const authError = (...refusal: ConstructorParameters<typeof ServiceError>) => new ServiceError(...refusal);

function checkDate(date: string, day: string, now: Date): ServiceError | undefined {
  const time = parseDate(date);
  if (Number.isNaN(time) || !date.startsWith(day))
    return authError(403, 'AccessDenied', 'The date header is missing, malformed or not that of the credential scope.');
  if (Math.abs(time - now.getTime()) <= toleranceMs) return undefined;
  return authError(403, 'RequestTimeTooSkewed', 'The request was signed more than 15 minutes from the current time.');
}

function checkSignedNames({ service, headers }: SignedRequest, signedNames: readonly string[], headerPrefix: string) {
  const required = [
    'host',
    `${headerPrefix}-date`,
    ...(service === 'storage' ? [`${headerPrefix}-content-sha256`] : []),
  ];
  const sentHeaders = Object.keys(headers).filter((name) => /^x-(ext|amz)-/.test(name));
  const missing = [...required, ...sentHeaders].filter((name) => !signedNames.includes(name));
  if (missing.length > 0) return authError(403, 'AccessDenied', `These headers must be signed: ${missing.join(', ')}.`);
  if (signedNames.some((name, index) => index > 0 && name <= (signedNames[index - 1] ?? '')))
    return authError(400, 'AuthorizationHeaderMalformed', 'SignedHeaders must be sorted.');
  return undefined;
}

/** The canonical request of Signature Version 4: each line as the client must have signed it. */
function canonicalRequestOf(
  { service, method, url, headers, body }: SignedRequest,
  signedNames: readonly string[],
  headerPrefix: string,
) {
  const isStorage = service === 'storage';
  const [path, query] = splitOnce(url, '?');
  return [
    method,
    isStorage ? encodedOnce(path) : encodedTwice(path),
    canonicalQuery(query),
    ...signedNames.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    signedNames.join(';'),
    isStorage ? headers[`${headerPrefix}-content-sha256`] : sha256(body),
  ].join('\n');
}

/** Returns a SHA-256 in hex. A text is hashed as Latin-1, because Node makes each byte of a header one character. */
const sha256 = (data: Buffer | string) => hash('sha256', typeof data === 'string' ? Buffer.from(data, 'latin1') : data);

const hexBytes = (text: string) => Buffer.from(text, 'latin1').toString('hex').replace(/..\B/g, '$& ');

/** Parses a date such as `20261120T120000Z` to milliseconds since 1970. NaN if it is malformed. */
const parseDate = (value: string) =>
  Date.parse(value.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

const encode = (text: string) =>
  text.replace(/[^A-Za-z0-9._~-]/g, (byte) => `%${Buffer.from(byte, 'latin1').toString('hex').toUpperCase()}`);

const decode = (text: string) =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** The path of object storage in the signature: percent-encoded once, even if the client encoded fewer or more characters. */
const encodedOnce = (path: string) => path.replace(/[^/]+/g, (segment) => encode(decode(segment)));

/** The path of the other APIs in the signature: the encoded path of the URL, encoded once more, without `.`, `..` and empty segments. */
const encodedTwice = (path: string) =>
  posix.normalize(path).replace(/[^/]+/g, (segment) => encode(Buffer.from(segment).toString('latin1')));

const canonicalQuery = (query: string) =>
  query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => splitOnce(pair, '=').map((text) => encode(decode(text))))
    .sort(([a = '', b = ''], [c = '', d = '']) => (a === c ? Number(b > d) - Number(b < d) : a > c ? 1 : -1))
    .map((pair) => pair.join('='))
    .join('&');
