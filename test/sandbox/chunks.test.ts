import { createHash, createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import aws4 from 'aws4';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { chunkSignatures } from '../../sandbox/signature.js';

/** Bodies whose chunks are signed, as restic and minio-go send them over plain HTTP. */

const sha256 = (data: string) => createHash('sha256').update(data).digest('hex');

describe('the examples of the S3 documentation', () => {
  const keys = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };
  const follow = (seed: string) => {
    const scope = `${keys.accessKeyId}/20130524/us-east-1/s3/aws4_request`;
    const authorization = `AWS4-HMAC-SHA256 Credential=${scope},SignedHeaders=host,Signature=${seed}`;
    const headers = { authorization, 'x-amz-date': '20130524T000000Z' };
    return chunkSignatures({ service: 'storage', method: 'PUT', url: '/', headers, body: Buffer.alloc(0) }, keys);
  };
  const [first, second, last] = ['a'.repeat(65_536), 'a'.repeat(1024), ''].map(sha256) as [string, string, string];

  test('without trailers', () => {
    const check = follow('4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9');
    check('PAYLOAD', first, 'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648');
    check('PAYLOAD', second, '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497');
    check('PAYLOAD', last, 'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9');
  });

  test('with a trailer', () => {
    const check = follow('106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e');
    check('PAYLOAD', first, 'b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2');
    check('PAYLOAD', second, '1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7');
    check('PAYLOAD', last, '2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992');
    const trailer = sha256('x-amz-checksum-crc32c:sOO8/Q==\n');
    check('TRAILER', trailer, 'd81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435');
  });
});

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
  sandbox.storage.buckets.set('bucket', { created: '2026-11-21T12:00:00.000Z' });
});
afterAll(() => sandbox.close());
afterEach(() => sandbox.storage.objects.clear());

const payload = ['first chunk, ', 'second chunk'];
const whole = payload.join('');
const plain = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD';
const checksum = Buffer.alloc(4);
checksum.writeUInt32BE(crc32(whole));
const crc = `x-amz-checksum-crc32:${checksum.toString('base64')}`;

interface Sent {
  readonly form?: string;
  /** Chunks that are signed; the last, which is empty, is added. */
  readonly chunks?: readonly string[];
  /** Line of a trailer. */
  readonly trailer?: string;
  readonly length?: number | null;
  /** Changes the body after it was signed. */
  readonly alter?: (body: string) => string;
}

/** PUTs a body whose chunks are signed by this file's own signer. Resolves with the code of the answer. */
async function put({ form, chunks = payload, trailer, length = whole.length, alter = (body) => body }: Sent) {
  const { credentials, endpoints } = sandbox.cloud;
  const declared = {
    'X-Amz-Content-Sha256': form ?? (trailer === undefined ? plain : `${plain}-TRAILER`),
    ...(trailer !== undefined && { 'x-amz-trailer': 'x-amz-checksum-crc32' }),
    ...(length !== null && { 'x-amz-decoded-content-length': String(length) }),
  };
  const path = '/bucket/key';
  const request = { method: 'PUT', host: new URL(endpoints.storage).host, path, service: 's3', region: 'r' };
  // fetch writes these two itself.
  const {
    Host: _,
    'Content-Length': __,
    ...headers
  } = aws4.sign({ ...request, headers: { ...declared } }, credentials).headers as Record<string, string>;
  const date = headers['X-Amz-Date'] ?? '';
  const scope = [date.slice(0, 8), 'r', 's3', 'aws4_request'];
  const key = scope.reduce<Buffer | string>(
    (secret, text) => createHmac('sha256', secret).update(text).digest(),
    `AWS4${credentials.secretAccessKey}`,
  );
  let [previous = ''] = /[0-9a-f]{64}$/.exec(headers.Authorization ?? '') ?? [];
  const sign = (kind: string, ...digests: string[]) => {
    const text = [`AWS4-HMAC-SHA256-${kind}`, date, scope.join('/'), previous, ...digests].join('\n');
    previous = createHmac('sha256', key).update(text).digest('hex');
    return previous;
  };
  const signed = [...chunks, ''].map((chunk) => {
    const signature = sign('PAYLOAD', sha256(''), sha256(chunk));
    return `${chunk.length.toString(16)};chunk-signature=${signature}\r\n${chunk}${chunk === '' ? '' : '\r\n'}`;
  });
  const end = trailer && `${trailer}\r\nx-amz-trailer-signature:${sign('TRAILER', sha256(`${trailer}\n`))}\r\n`;
  const body = alter(`${signed.join('')}${end ?? ''}\r\n`);
  const response = await fetch(endpoints.storage + path, { method: 'PUT', headers, body });
  return /<Code>(.*?)</.exec(await response.text())?.[1] ?? String(response.status);
}

const stored = () => [...sandbox.storage.objects.values()].map(({ etag }) => etag);
const zeros = '0'.repeat(64);

test.each<[string, string, Sent]>([
  ['a byte that was altered', 'SignatureDoesNotMatch', { alter: (body) => body.replace('second', 'Second') }],
  ['another signature', 'SignatureDoesNotMatch', { alter: (body) => body.replace(/=[0-9a-f]{64}/, `=${zeros}`) }],
  [
    'another signature of the last chunk',
    'SignatureDoesNotMatch',
    { alter: (body) => body.replace(/\r\n0;chunk-signature=[0-9a-f]{64}/, `\r\n0;chunk-signature=${zeros}`) },
  ],
  [
    'chunks in another order',
    'SignatureDoesNotMatch',
    { alter: (body) => body.replace(/^(d;.*\r\n.*\r\n)(c;.*\r\n.*\r\n)/, '$2$1') },
  ],
  ['a chunk that is left out', 'SignatureDoesNotMatch', { alter: (body) => body.replace(/c;.*\r\n.*\r\n/, '') }],
  ['a chunk without a signature', 'IncompleteBody', { alter: (body) => body.replace(/;chunk-signature=.{64}/, '') }],
  ['a cut between chunks', 'IncompleteBody', { alter: (body) => body.replace(/0;chunk-signature[\s\S]*/, '') }],
  ['a cut within a chunk', 'IncompleteBody', { alter: (body) => body.slice(0, 100) }],
  [
    'a chunk that is longer than it says',
    'IncompleteBody',
    { alter: (body) => body.replace('chunk, \r', 'chunk, !\r') },
  ],
  ['fewer bytes than announced', 'IncompleteBody', { length: whole.length + 1 }],
  ['more bytes than announced', 'IncompleteBody', { length: whole.length - 1 }],
  ['no announced length', 'MissingContentLength', { length: null }],
  ['a signed checksum of something else', 'BadDigest', { trailer: 'x-amz-checksum-crc32:AAAAAA==' }],
  ['a trailer that was altered', 'SignatureDoesNotMatch', { trailer: crc, alter: (body) => body.replace(crc, 'a:b') }],
  [
    'a trailer without a signature',
    'SignatureDoesNotMatch',
    { trailer: crc, alter: (body) => body.replace(/x-amz-trailer-signature.*\r\n/, '') },
  ],
  ['an added trailer', 'SignatureDoesNotMatch', { alter: (body) => body.replace(/\r\n$/, `${crc}\r\n\r\n`) }],
  [
    'an announced trailer that is missing',
    'BadDigest',
    { trailer: crc, alter: (body) => body.replace(/x-amz-[\s\S]*/, '\r\n') },
  ],
  ['another algorithm', 'NotImplemented', { form: 'STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD' }],
])('nothing is kept of a body with %s: %s', async (_what, code, sent) => {
  expect(await put(sent)).toBe(code);
  expect(stored()).toEqual([]);
});
