import { createHmac } from 'node:crypto';
import aws4 from 'aws4';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sign } from '../../src/signing/sign.js';
import { apiProfile, s3Profile, storageProfile } from '../../src/signing/signature-variants.js';
import { encodeQuery, encodeSegment, type Query } from '../../src/util/uri.js';
import { runs } from '../support/runs.js';
import vectors from './vectors/x-ext.json' with { type: 'json' };

const signatureOf = (headers: Readonly<Record<string, string>>) => headers.authorization?.replace(/.*Signature=/, '');

const parseDate = (text: string) => new Date(text.replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6Z'));

describe('x-ext vectors (test/signing/vectors)', () => {
  test.each(vectors)('$name: $what', async ({ input, canonicalRequest, stringToSign, signature }) => {
    const { host, path, query, date, region, accessKeyId, secretAccessKey } = input;
    const signed = await sign(
      { method: 'GET', host, path, query: Object.fromEntries(Object.entries(query)), headers: {} },
      {
        profile: storageProfile,
        credentials: {
          accessKeyId,
          secretAccessKey,
          ...('sessionToken' in input && { sessionToken: input.sessionToken }),
        },
        region,
        service: 's3',
        date: parseDate(date),
      },
    );
    expect(signed.canonicalRequest.split('\n')).toEqual(canonicalRequest);
    expect(signed.stringToSign.split('\n')).toEqual(stringToSign);
    expect(signatureOf(signed.headers)).toBe(signature);
  });
});

/** Inputs and signatures: S3 API reference, "Signature calculations … examples". */
describe('published S3 examples', () => {
  test.each([
    [
      'GET object',
      '/test.txt',
      {},
      { range: 'bytes=0-9' },
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ],
    [
      'GET bucket lifecycle',
      '/',
      { lifecycle: '' },
      {},
      'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    ],
    [
      'list objects',
      '/',
      { 'max-keys': '2', prefix: 'J' },
      {},
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    ],
  ])('%s', async (_name, path, query, headers, signature) => {
    const signed = await sign(
      { method: 'GET', host: 'examplebucket.s3.amazonaws.com', path, query, headers },
      {
        profile: s3Profile,
        credentials: {
          accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
          secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
        },
        region: 'us-east-1',
        service: 's3',
        date: parseDate('20130524T000000Z'),
      },
    );
    expect(signatureOf(signed.headers)).toBe(signature);
  });
});

/** Text as keys and names have it: unicode, spaces, dots, slashes and everything that has a meaning in a URL. */
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 6 }),
      fc.constantFrom(
        '/',
        '//',
        '.',
        '..',
        './',
        '../',
        '%',
        '%2F',
        '+',
        '?',
        '#',
        '&',
        '=',
        ' ',
        ':',
        "it's(1)!*",
        '~',
        '\n',
      ),
    ),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  .map((pieces) => pieces.join(''))
  .filter((text) => text !== '' && text.isWellFormed());

const credentials = { accessKeyId: 'AKIDTEST', secretAccessKey: 'test/secret+key' };
const date = parseDate('20261120T123456Z');

async function bothSign(service: string, path: string, query: Query, body?: string) {
  const profile = service === 's3' ? s3Profile : apiProfile;
  const contentType = { 'content-type': 'application/json' };
  const ours = await sign(
    {
      method: body === undefined ? 'GET' : 'POST',
      host: 'api.example.com:8443',
      path,
      query,
      headers: body === undefined ? {} : contentType,
      ...(body !== undefined && { body }),
    },
    { profile, credentials, region: 'jp-east-1', service, date },
  );
  const { authorization: _, ...headers } = ours.headers;
  const search = encodeQuery(query);
  const request = {
    service,
    region: 'jp-east-1',
    method: body === undefined ? 'GET' : 'POST',
    path: search === '' ? path : `${path}?${search}`,
    headers: { ...headers },
    ...(body !== undefined && { body }),
    extraHeadersToIgnore: { 'content-length': true },
  };
  const theirs = aws4.sign(request, credentials).headers as Record<string, string>;
  return { ours: signatureOf(ours.headers), theirs: theirs.Authorization?.replace(/.*Signature=/, '') };
}

test('500 random storage requests: aws4 computes the same signature (path encoded once, nothing normalised)', async () => {
  await fc.assert(
    fc.asyncProperty(anyText, anyText, async (key, uploadId) => {
      const path = `/bucket/${key.split('/').map(encodeSegment).join('/')}`;
      const { ours, theirs } = await bothSign('s3', path, { uploadId, 'max-parts': '7' });
      expect(ours).toBe(theirs);
    }),
    { numRuns: runs(500) },
  );
});

test('500 random catalog and DevOps requests: aws4 computes the same signature (path encoded twice, colons too)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('catalog', 'devops'), anyText, anyText, async (service, name, body) => {
      const path = `/base/v1/resource-groups/${encodeSegment(name)}/kube/clusters/c:upgrade`;
      const { ours, theirs } = await bothSign(
        service,
        path,
        { name: [name, 'a', name] },
        JSON.stringify({ version: body }),
      );
      expect(ours).toBe(theirs);
    }),
    { numRuns: runs(500) },
  );
});

describe('what is sent', () => {
  const temporary = { ...credentials, sessionToken: 'temporary' };
  const scope = 'Credential=AKIDTEST/20261120/r/s/aws4_request';
  const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

  test.each([
    ['storage', storageProfile, 'x-ext-date', 'x-ext-security-token', { 'x-ext-content-sha256': emptyHash }],
    ['S3-compatible storage', s3Profile, 'x-amz-date', 'x-amz-security-token', { 'x-amz-content-sha256': emptyHash }],
    ['catalog and DevOps', apiProfile, 'x-amz-date', 'x-amz-security-token', {}],
  ])('%s: these headers and no others, all of them signed', async (_what, profile, dateHeader, tokenHeader, hash) => {
    const { headers } = await sign(
      { method: 'GET', host: 'h:8443', path: '/', query: {}, headers: { accept: 'x/y' } },
      { profile, credentials: temporary, region: 'r', service: 's', date },
    );
    const { authorization = '', ...others } = headers;
    const sent = {
      accept: 'x/y',
      host: 'h:8443',
      [dateHeader]: '20261120T123456Z',
      [tokenHeader]: 'temporary',
      ...hash,
    };
    expect(others).toEqual(sent);
    const names = Object.keys(sent).toSorted().join(';');
    const [, before, value] = /^(.*), Signature=(.*)$/.exec(authorization) ?? [];
    expect(before).toBe(`AWS4-HMAC-SHA256 ${scope}, SignedHeaders=${names}`);
    expect(value).toMatch(/^[0-9a-f]{64}$/);
  });

  test('a part of a query without a value is signed with an empty one', async () => {
    const { canonicalRequest } = await sign(
      { method: 'GET', host: 'h', path: '/b', query: { uploads: true }, headers: {} },
      { profile: s3Profile, credentials, region: 'r', service: 's3', date },
    );
    expect(canonicalRequest.split('\n')[2]).toBe('uploads=');
  });
});

describe('the older versions', () => {
  const request = { method: 'POST', host: 'c.example', path: '/api/', query: {}, headers: {} };
  const context = { credentials: { accessKeyId: 'AK', secretAccessKey: 'secret', sessionToken: 'tok/en=' } };
  const signWith = (kind: 'v2' | 'v3', body: string) =>
    sign({ ...request, body }, { ...context, profile: { kind }, region: 'r', service: 's', date: new Date(0) });

  const hmacOf = (text: string) => createHmac('sha256', 'secret').update(text).digest('base64');

  test('version 2 signs the method, the host, the path, and the parameters in order', async () => {
    const { headers, body } = await signWith('v2', 'Name=a%20b&Action=Run');
    const signed = [
      ['POST', 'c.example', '/api/'],
      ['AccessKeyId=AK', 'Action=Run', 'Name=a%20b', 'SecurityToken=tok%2Fen%3D', 'SignatureMethod=HmacSHA256'],
      ['SignatureVersion=2', 'Timestamp=1970-01-01T00%3A00%3A00Z'],
    ];
    const [lines = [], ...parameters] = signed;
    const signature = hmacOf([...lines, parameters.flat().join('&')].join('\n'));
    expect(headers).toEqual({ host: 'c.example' });
    expect(body?.startsWith('Name=a%20b&Action=Run&')).toBe(true);
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
      Name: 'a b',
      Action: 'Run',
      AccessKeyId: 'AK',
      SignatureVersion: '2',
      SignatureMethod: 'HmacSHA256',
      Timestamp: '1970-01-01T00:00:00Z',
      SecurityToken: 'tok/en=',
      Signature: signature,
    });
  });

  test('version 3 signs the date', async () => {
    const text = 'Thu, 01 Jan 1970 00:00:00 GMT';
    const authorization = `AWS3-HTTPS AWSAccessKeyId=AK,Algorithm=HmacSHA256,Signature=${hmacOf(text)}`;
    expect(await signWith('v3', '')).toEqual({
      headers: {
        host: 'c.example',
        date: text,
        'x-amz-security-token': 'tok/en=',
        'x-amzn-authorization': authorization,
      },
      canonicalRequest: text,
      stringToSign: text,
    });
  });

  test.each(['v2', 'v3'] as const)('without a session token, %s sends none', async (kind) => {
    const { accessKeyId, secretAccessKey } = context.credentials;
    const signed = await sign(
      { ...request, body: 'Action=Run' },
      {
        credentials: { accessKeyId, secretAccessKey },
        profile: { kind },
        region: 'r',
        service: 's',
        date: new Date(0),
      },
    );
    expect(JSON.stringify(signed)).not.toMatch(/security-?token/i);
  });

  test('version 2 gives the log no key, token or value', async () => {
    const { canonicalRequest, stringToSign } = await signWith('v2', 'Action=Run&Password=hunter2');
    expect(canonicalRequest).toBe(
      'POST\nc.example\n/api/\nAccessKeyId\nAction\nPassword\nSecurityToken\nSignatureMethod\nSignatureVersion\nTimestamp',
    );
    expect(stringToSign).toMatch(/^[0-9a-f]{64}$/);
  });

  test.each(['Signature', 'Timestamp', 'AccessKeyId', 'SecurityToken'])(
    'version 2 refuses an argument %s, which would replace a parameter of the signature',
    async (name) => {
      await expect(signWith('v2', `Action=Run&${name}=x`)).rejects.toThrow('a parameter of the signature');
    },
  );
});
