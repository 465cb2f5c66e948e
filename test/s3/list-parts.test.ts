import { AbortMultipartUploadCommand, CompleteMultipartUploadCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { Client as HttpClient } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { sign } from '../../src/signing/sign.js';
import { s3Profile } from '../../src/signing/signature-variants.js';
import { encodeSegment } from '../../src/util/uri.js';
import { connect, type Result, s3, startUpload, store, useServer } from './store.js';

/**
 * list_parts, called by an MCP client over stdio, against an object store that another client has written to: two real ones
 * and the sandbox.
 * Where the stores differ, the test says how.
 */

const isCeph = store.name === 'radosgw';
const isSwift = store.name === 'swift';
const isSandbox = store.name === 'sandbox';
const bucket = 'parts-of-uploads';

const start = (key: string) => startUpload(bucket, key);
const put = async (key: string, uploadId: string, partNumber: number, body: string) =>
  (
    await s3.send(
      new UploadPartCommand({ Bucket: bucket, Key: key, UploadId: uploadId, PartNumber: partNumber, Body: body }),
    )
  ).ETag ?? '';

/** Calls list_parts on this bucket. */
const listOn =
  ({ call }: Server) =>
  (args: Record<string, unknown>) =>
    call('list_parts', { bucket, ...args });
type Server = ReturnType<typeof useServer>;

const numbers = ({ answer }: Result) => (answer.parts as { partNumber: number }[]).map(({ partNumber }) => partNumber);

const server = useServer(bucket);
const list = listOn(server);

/** 1,203 numbers from 1 to 1,303 with gaps, in no order. */
const manyNumbers = Array.from({ length: 1303 }, (_, index) => index + 1).filter((number) => number % 13 !== 7);
const shuffled = [...manyNumbers].sort((a, b) => ((a * 7919) % 1303) - ((b * 7919) % 1303));

describe('an upload of 1,203 parts, out of order and with gaps', () => {
  const key = 'many parts.bin';
  let uploadId = '';
  beforeAll(async () => {
    expect(manyNumbers).toHaveLength(1203);
    uploadId = await start(key);
    const queue = [...shuffled];
    const workers = Array.from({ length: 16 }, async () => {
      for (let number = queue.pop(); number !== undefined; number = queue.pop())
        await put(key, uploadId, number, `part ${number}`);
    });
    await Promise.all(workers);
  });

  test('is summarised completely, and the reading ends', async () => {
    const { answer, text } = await list({ object: key, uploadId });
    expect(answer).toMatchObject({ view: 'summary', object: key, partCount: 1203, missingCount: 100 });
    expect(answer.missing).toMatchObject({ 0: { from: 7, to: 7 }, length: 12 });
    expect(text).toContain('has 1203 parts');
  });

  test('page by page it is complete and in order', async () => {
    const seen: number[] = [];
    let marker = 0;
    for (let pages = 0; pages < 20; pages += 1) {
      const result = await list({ object: key, uploadId, maxParts: 250, partNumberMarker: marker });
      seen.push(...numbers(result));
      if (result.answer.isTruncated !== true) break;
      marker = Number(result.answer.nextPartNumberMarker);
    }
    expect(seen).toEqual(manyNumbers);
  });

  test.each([1, 2])('maxParts %i gives that many', async (maxParts) => {
    const result = await list({ object: key, uploadId, maxParts });
    expect(numbers(result)).toEqual(manyNumbers.slice(0, maxParts));
    expect(result.answer).toMatchObject({ isTruncated: true, nextPartNumberMarker: manyNumbers[maxParts - 1] });
  });

  test.each([1000, 5000])(
    'maxParts %i ends where the answer would be too long, and goes on from there',
    async (maxParts) => {
      const first = await list({ object: key, uploadId, maxParts });
      const marker = Number(first.answer.nextPartNumberMarker);
      expect(first.answer.isTruncated).toBe(true);
      expect(numbers(first).at(-1)).toBe(marker);
      const second = await list({ object: key, uploadId, maxParts, partNumberMarker: marker });
      expect([...numbers(first), ...numbers(second)]).toEqual(
        manyNumbers.slice(0, numbers(first).length + numbers(second).length),
      );
    },
  );

  test('a marker between two parts starts at the next one', async () => {
    const result = await list({ object: key, uploadId, maxParts: 2, partNumberMarker: 7 });
    expect(numbers(result)).toEqual([8, 9]);
  });

  test('a marker past the end gives none', async () => {
    const result = await list({ object: key, uploadId, partNumberMarker: 9999 });
    expect(numbers(result)).toEqual([]);
    expect(result.answer.isTruncated).toBe(false);
  });
});

describe('keys', () => {
  const keys = [
    'a b/c+d',
    'ü/日本',
    'caf\u00e9',
    'cafe\u0301',
    'a//b',
    './x',
    '../x',
    '.',
    '..',
    'x/../y',
    'a%20b',
    '%zz',
    'trailing/',
    '/leading',
    '*',
    "it's(1)!",
    'a=b&c?d#e',
    'new\nline',
    '😀',
    'k'.repeat(900),
    '1234',
    '"<&>"',
    'semi;colon:at@$,',
    '~-._',
  ];
  test.each(keys.map((key) => [key]))('%j is the very key that is listed', async (key) => {
    // The SDK of the store's own protocol folds dot segments too: the upload is made with a raw request.
    const uploadId = await startRaw(key);
    const { answer, isError, text } = await list({ object: key, uploadId, maxParts: 5 });
    expect(isError, text).toBe(false);
    expect(answer).toMatchObject({ object: key, uploadId, bucket, parts: [] });
  });
});

describe('what is refused', () => {
  const key = 'refused.bin';
  let uploadId = '';
  beforeAll(async () => {
    uploadId = await start(key);
    await put(key, uploadId, 1, 'x');
  });

  const expectRefusal = ({ isError, text }: Result, code: string, next: RegExp) => {
    expect(isError, text).toBe(true);
    expect(text.split('\n')[0]).toContain(code);
    expect(text).toMatch(/requestIds: x-/);
    expect(text).not.toContain('mayHaveHappened');
    expect(text).toMatch(next);
  };
  const unknownUpload = isCeph ? 'NoSuchKey' : 'NoSuchUpload';
  const uploadGone = /next: The upload was completed or aborted, or bucket, object or uploadId is mistyped/;

  test('an upload ID that does not exist', async () => {
    expectRefusal(await list({ object: key, uploadId: 'unknown' }), unknownUpload, uploadGone);
  });

  test('the upload ID of another key', async () => {
    expectRefusal(await list({ object: 'other.bin', uploadId }), unknownUpload, uploadGone);
  });

  test('an aborted upload', async () => {
    const aborted = await start('aborted.bin');
    await s3.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: 'aborted.bin', UploadId: aborted }));
    expectRefusal(await list({ object: 'aborted.bin', uploadId: aborted }), unknownUpload, uploadGone);
  });

  test('a completed upload, which Swift lists all the same', async () => {
    const completed = await start('completed.bin');
    const ETag = await put('completed.bin', completed, 1, 'x');
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
    await s3.send(
      new CompleteMultipartUploadCommand({
        Bucket: bucket,
        Key: 'completed.bin',
        UploadId: completed,
        MultipartUpload,
      }),
    );
    const result = await list({ object: 'completed.bin', uploadId: completed });
    if (isSwift) expect(result.answer).toMatchObject({ partCount: 1 });
    else expectRefusal(result, unknownUpload, uploadGone);
  });

  test('an unknown bucket', async () => {
    expectRefusal(
      await list({ bucket: 'no-such-bucket', object: key, uploadId }),
      'NoSuchBucket',
      /next: Ask the user whether the bucket name/,
    );
  });

  test('a wrong secret', async () => {
    const wrong = await connect({ CLOUDOPS_SECRET_ACCESS_KEY: 'not-the-secret' });
    expectRefusal(
      await listOn(wrong)({ object: key, uploadId }),
      'SignatureDoesNotMatch',
      /next: .* check CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_SECRET_ACCESS_KEY/,
    );
    await wrong.close();
  });

  test('an unknown access key, which Swift takes for a wrong signature', async () => {
    const wrong = await connect({ CLOUDOPS_ACCESS_KEY_ID: 'NOBODY' });
    const code = isSwift ? 'SignatureDoesNotMatch' : 'InvalidAccessKeyId';
    expectRefusal(await listOn(wrong)({ object: key, uploadId }), code, /next: .* check CLOUDOPS_/);
    await wrong.close();
  });

  test('a wrong region, which Ceph and the sandbox do not mind', async () => {
    const result = await list({ object: key, uploadId, region: 'eu-nowhere-1' });
    if (isCeph || isSandbox) expect(result.answer).toMatchObject({ partCount: 1 });
    else expectRefusal(result, 'AuthorizationHeaderMalformed', /next: The cloud names the region "us-east-1"/);
  });

  test.each(['+20', '-20'])(
    "a clock %s minutes off is refused once, then signed for the service's time",
    async (minutes) => {
      const offset = Number(minutes) * 60_000;
      const skewed = await connect({
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(skewScript(offset))}`,
      });
      const { answer, attempts, text } = await listOn(skewed)({ object: key, uploadId });
      expect(answer, text).toMatchObject({ partCount: 1 });
      expect(attempts).toEqual([{ result: '403', waitedMs: 0 }, { result: '200' }]);
      await skewed.close();
    },
  );
});

/** Moves the clock of a Node process. */
const skewScript = (offset: number) => `
  const Original = Date;
  const offset = ${offset};
  globalThis.Date = class extends Original {
    constructor(...args) { if (args.length === 0) super(Original.now() + offset); else super(...args); }
    static now() { return Original.now() + offset; }
  };`;

/** Starts an upload whose key may have dot segments, which HTTP clients resolve unless the path is sent as it is. */
async function startRaw(key: string): Promise<string> {
  const path = `/${bucket}/${key.split('/').map(encodeSegment).join('/')}`;
  const { headers } = await sign(
    { method: 'POST', host: new URL(store.endpoint).host, path, query: { uploads: '' }, headers: {} },
    { profile: s3Profile, credentials: store, region: store.region, service: 's3', date: new Date() },
  );
  const client = new HttpClient(store.endpoint);
  const response = await client.request({ method: 'POST', path: `${path}?uploads=`, headers });
  const body = await response.body.text();
  await client.close();
  const uploadId = /<UploadId>(.*?)<\/UploadId>/.exec(body)?.[1];
  if (uploadId === undefined) throw new Error(`no upload for ${JSON.stringify(key)}: ${response.statusCode} ${body}`);
  return uploadId;
}
