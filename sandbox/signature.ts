import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { posix } from 'node:path';
import { type ApiRequest, ServiceError, splitOnce } from './http.js';

export interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** As signatures name the services. */
export const signingServices = { storage: 's3', catalog: 'catalog', devops: 'devops' };

/** The body is that of APIs other than storage, whose signature covers it directly. */
export type SignedRequest = Pick<ApiRequest, 'service' | 'method' | 'url' | 'headers' | 'body'>;

const authorization =
  /^AWS4-HMAC-SHA256 +Credential=([^/,\s]+)\/(\d{8})\/([^/,\s]+)\/([^/,\s]+)\/aws4_request, *SignedHeaders=([a-z0-9;._-]+), *Signature=([0-9a-f]{64})$/;
const toleranceMs = 15 * 60 * 1000;

/**
 * Checks Signature Version 4 with code of its own, so that the client's signer and this one can disagree (reference,
 * section 5; encoding and tolerance as seen on similar services). Undefined if the signature is right. What storage
 * is sent has yet to be compared with the header that the signature covers. A mismatch has the texts that were signed in
 * its details, as text and as bytes.
 */
export function checkSignature(request: SignedRequest, keys: Keys, now: Date): ServiceError | undefined {
  const { headers } = request;
  const isStorage = request.service === 'storage';
  const refuse = (status: number, code: string, message: string, details = {}) =>
    isStorage || ['RequestTimeTooSkewed', 'NotImplemented'].includes(code)
      ? new ServiceError(status, code, message, details)
      : new ServiceError(401, `Client.AuthFailure.${code}`, message, details);
  if (headers.authorization === undefined && /[?&](X-Amz-)?Signature=/i.test(request.url))
    return refuse(501, 'NotImplemented', 'Presigned URLs are not offered: sign with the Authorization header.');
  if (headers.authorization === undefined) return refuse(403, 'AccessDenied', 'The request is not signed.');
  const parsed = authorization.exec(headers.authorization);
  if (parsed === null) return refuse(400, 'AuthorizationHeaderMalformed', 'The Authorization header is malformed.');
  const [, accessKeyId = '', day = '', region = '', service = '', signedHeaders = '', signature = ''] = parsed;
  const own = signingServices[request.service];
  if (service !== own)
    return refuse(400, 'AuthorizationHeaderMalformed', `The scope names the service ${service}; this is ${own}.`);
  if (accessKeyId !== keys.accessKeyId) return refuse(403, 'InvalidAccessKeyId', 'The access key does not exist.');

  const dialect = isStorage && headers['x-ext-date'] !== undefined ? 'ext' : 'amz';
  const date = headers[`x-${dialect}-date`] ?? '';
  const time = parseDate(date);
  if (Number.isNaN(time) || !date.startsWith(day))
    return refuse(403, 'AccessDenied', 'The date header is missing, malformed or not that of the credential scope.');
  if (Math.abs(time - now.getTime()) > toleranceMs)
    return refuse(403, 'RequestTimeTooSkewed', 'The request was signed more than 15 minutes from the current time.');

  const names = signedHeaders.split(';');
  const hashHeader = `x-${dialect}-content-sha256`;
  const required = ['host', `x-${dialect}-date`, ...(isStorage ? [hashHeader] : [])];
  const signable = Object.keys(headers).filter((name) => /^x-(ext|amz)-/.test(name));
  const missing = [...required, ...signable].filter((name) => !names.includes(name));
  if (missing.length > 0) return refuse(403, 'AccessDenied', `These headers must be signed: ${missing.join(', ')}.`);
  if (names.some((name, index) => index > 0 && name <= (names[index - 1] ?? '')))
    return refuse(400, 'AuthorizationHeaderMalformed', 'SignedHeaders must be sorted.');

  const [path = '', query = ''] = splitOnce(request.url, '?');
  const canonicalRequest = [
    request.method,
    isStorage ? encodedOnce(path) : encodedTwice(path),
    canonicalQuery(query),
    ...names.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    signedHeaders,
    isStorage ? headers[hashHeader] : sha256(request.body),
  ].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const stringToSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonicalRequest)].join('\n');
  let expected: Buffer = Buffer.from(`AWS4${keys.secretAccessKey}`);
  for (const part of [day, region, service, 'aws4_request', stringToSign])
    expected = createHmac('sha256', expected).update(part).digest();
  if (timingSafeEqual(expected, Buffer.from(signature, 'hex'))) return undefined;
  const message = 'The signature does not match the one calculated here. Compare the texts that were signed.';
  return refuse(403, 'SignatureDoesNotMatch', message, {
    CanonicalRequest: canonicalRequest,
    CanonicalRequestBytes: bytes(canonicalRequest),
    StringToSign: stringToSign,
    StringToSignBytes: bytes(stringToSign),
  });
}

/** Node gives each byte of a header as one character. */
const sha256 = (data: Buffer | string) => hash('sha256', typeof data === 'string' ? Buffer.from(data, 'latin1') : data);

const bytes = (text: string) => Buffer.from(text, 'latin1').toString('hex').replace(/..\B/g, '$& ');

/** Milliseconds; NaN if it is no date. */
const parseDate = (value: string) =>
  Date.parse(value.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

const encode = (text: string) =>
  text.replace(/[^A-Za-z0-9._~-]/g, (byte) => `%${Buffer.from(byte, 'latin1').toString('hex').toUpperCase()}`);

const decode = (text: string) =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** The path as meant, encoded once, nothing normalised. */
const encodedOnce = (path: string) => path.replace(/[^/]+/g, (segment) => encode(decode(segment)));

/** The path as on the wire, dot segments and empty ones resolved, encoded once more. */
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
