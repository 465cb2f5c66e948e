import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { sign } from '../../src/signing/sign.js';
import { apiProfile, storageProfile } from '../../src/signing/signature-variants.js';
import { listParts } from '../../src/tools/list-parts.js';
import { encodeQuery } from '../../src/util/uri.js';
import { never, testCaller } from '../support/caller.js';
import { runs } from '../support/runs.js';
import { addUpload } from '../support/sandbox.js';

let sandbox: Sandbox;
const now = () => new Date('2026-11-20T12:00:00Z');
beforeAll(async () => {
  sandbox = await startSandbox({ now });
});
afterAll(() => sandbox.close());

test('for any key, the sandbox reads back the very key that was asked for', async () => {
  const caller = testCaller('', { cloud: sandbox.cloud, now });
  let count = 0;
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.constantFrom(
      '/',
      '//',
      '.',
      '..',
      '../',
      '%',
      '%2f',
      '%zz',
      '+',
      '?',
      '#',
      '&',
      ' ',
      '\u0001',
      '\r\n',
      '<&>"',
      '😀',
    ),
  );
  const keys = fc
    .array(piece, { minLength: 1, maxLength: 8 })
    .map((pieces) => pieces.join(''))
    .filter((key) => key !== '');
  await fc.assert(
    fc.asyncProperty(keys, async (key) => {
      count += 1;
      const upload = { bucket: 'keys', key, uploadId: `upload-${count}` };
      addUpload(sandbox, upload, []);
      const result = await caller.call(
        listParts,
        { bucket: 'keys', object: key, uploadId: upload.uploadId },
        { signal: never },
      );
      expect(result.ok, result.text).toBe(true);
      expect(result.ok && result.structured.answer?.object).toBe(key);
    }),
    { numRuns: runs(500) },
  );
  await caller.close();
});

describe('signature check', () => {
  const storage: Parameters<typeof sign>[0] = {
    method: 'GET',
    host: '',
    path: '/demo-bucket/backups/2026/database.dump',
    query: { uploadId: 'demo-upload-in-progress' },
    headers: {},
  };
  const devops: Parameters<typeof sign>[0] = {
    method: 'POST',
    host: '',
    path: '/_devops/v1/instances:restore',
    query: {},
    headers: {},
    body: '{}',
  };

  type Change = (headers: Record<string, string>) => void;
  const send = async (
    request: Parameters<typeof sign>[0],
    service: string,
    { change, date = now() }: { change?: Change; date?: Date } = {},
  ) => {
    const url = new URL(sandbox.cloud.endpoints.storage);
    const profile = request.method === 'GET' ? storageProfile : apiProfile;
    const context = { profile, credentials: sandbox.cloud.credentials, region: 'jp-east-1', service, date };
    const headers = { ...(await sign({ ...request, host: url.host }, context)).headers };
    change?.(headers);
    const search = encodeQuery(request.query);
    const { host: _, ...sendable } = headers;
    const response = await fetch(`${url.origin}${request.path}${search === '' ? '' : `?${search}`}`, {
      method: request.method,
      headers: sendable,
      body: request.body ?? null,
    });
    const body = await response.text();
    return { status: response.status, code: /<Code>(.*?)<|"code":"(.*?)"/.exec(body)?.slice(1).find(Boolean), body };
  };
  const minutes = (count: number) => new Date(now().getTime() + count * 60_000);

  test('a right signature is accepted', async () => {
    expect((await send(storage, 's3')).status).toBe(200);
    expect(await send(devops, 'devops')).toMatchObject({
      status: 400,
      code: 'Client.InvalidParameterIllegalInput.BackupId',
    });
  });

  test.each<[string, string, Change]>([
    ['no signature', 'AccessDenied', (headers) => delete headers.authorization],
    [
      'no algorithm',
      'AuthorizationHeaderMalformed',
      (headers) => Object.assign(headers, { authorization: 'Bearer x' }),
    ],
    ['another key', 'InvalidAccessKeyId', (headers) => replace(headers, /Credential=[^/]*/, 'Credential=OTHER')],
    ['a changed signature', 'SignatureDoesNotMatch', (headers) => otherSignature(headers)],
    ['another region in the scope', 'SignatureDoesNotMatch', (headers) => replace(headers, 'jp-east-1', 'jp-west-2')],
    ['another service in the scope', 'AuthorizationHeaderMalformed', (headers) => replace(headers, '/s3/', '/devops/')],
    ['the host not signed', 'AccessDenied', (headers) => replace(headers, 'SignedHeaders=host;', 'SignedHeaders=')],
    [
      'signed headers out of order',
      'AuthorizationHeaderMalformed',
      (headers) => replace(headers, /SignedHeaders=[^,]*/, 'SignedHeaders=x-ext-date;host;x-ext-content-sha256'),
    ],
    [
      'a header of the protocol that is not signed',
      'AccessDenied',
      (headers) => Object.assign(headers, { 'x-ext-security-token': 'x' }),
    ],
    ['no date', 'AccessDenied', (headers) => delete headers['x-ext-date']],
    [
      'another body hash than was signed',
      'SignatureDoesNotMatch',
      (headers) => Object.assign(headers, { 'x-ext-content-sha256': '0'.repeat(64) }),
    ],
  ])('%s is refused: %s', async (_what, code, change) => {
    expect((await send(storage, 's3', { change })).code).toBe(code);
  });

  test.each([
    [14, 200],
    [-14, 200],
    [16, 403],
    [-16, 403],
  ])('a clock %i minutes off gets %i', async (offset, status) => {
    expect((await send(storage, 's3', { date: minutes(offset) })).status).toBe(status);
  });

  test('a mismatch comes with the texts that were compared', async () => {
    const { body } = await send(storage, 's3', { change: (headers) => otherSignature(headers) });
    expect(body).toContain('<CanonicalRequest>GET');
    expect(body).toContain('<StringToSign>AWS4-HMAC-SHA256');
    expect(body).toMatch(/<CanonicalRequestBytes>47 45 54 0a [0-9a-f ]+<.*<StringToSignBytes>41 57 53 34 /);
  });
});

function replace(headers: Record<string, string>, pattern: string | RegExp, by: string): void {
  headers.authorization = (headers.authorization ?? '').replace(pattern, by);
}

function otherSignature(headers: Record<string, string>): void {
  const first = /Signature=(.)/.exec(headers.authorization ?? '')?.[1];
  replace(headers, /Signature=./, first === '0' ? 'Signature=1' : 'Signature=0');
}
