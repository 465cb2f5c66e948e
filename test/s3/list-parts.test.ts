import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as HttpClient } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { s3Profile } from '../../src/signing/profiles.js';
import { sign } from '../../src/signing/sign.js';
import { encodeSegment } from '../../src/util/uri.js';
import { cleanEnv, serverPath } from '../support/server-process.js';

/**
 * list_parts, called by an MCP client over stdio, against an object store that another client has written to: two real ones
 * and the sandbox.
 * Where the stores differ, the test says how.
 */

/** What the service says, apart from what the server adds. */
const answered = z.object({ answer: z.record(z.string(), z.unknown()).default({}) });

const setting = (name: string) => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run this suite with npm run test:s3`);
  return value;
};
const store = {
  name: setting('S3_SERVER'),
  endpoint: setting('S3_ENDPOINT'),
  region: setting('S3_REGION'),
  accessKeyId: setting('S3_ACCESS_KEY'),
  secretAccessKey: setting('S3_SECRET_KEY'),
};
const isCeph = store.name === 'radosgw';
const isSwift = store.name === 'swift';
const isSandbox = store.name === 'sandbox';
const bucket = 'parts-of-uploads';

const s3 = new S3Client({ ...store, forcePathStyle: true, credentials: store });

const start = async (key: string) =>
  (await s3.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: key }))).UploadId ?? '';
const put = async (key: string, uploadId: string, partNumber: number, body: string) =>
  (
    await s3.send(
      new UploadPartCommand({ Bucket: bucket, Key: key, UploadId: uploadId, PartNumber: partNumber, Body: body }),
    )
  ).ETag ?? '';

interface Result {
  readonly isError: boolean;
  readonly text: string;
  readonly record: Record<string, unknown>;
}

/** A client of a server with some settings changed. */
async function connect(env: Record<string, string> = {}) {
  const client = new Client({ name: 'test', version: '1' });
  const settings = {
    CLOUDOPS_STORAGE_URL: store.endpoint,
    CLOUDOPS_STORAGE_HEADERS: 'amz',
    CLOUDOPS_REGION: store.region,
    CLOUDOPS_ACCESS_KEY_ID: store.accessKeyId,
    CLOUDOPS_SECRET_ACCESS_KEY: store.secretAccessKey,
  };
  const { NODE_OPTIONS: _, ...inherited } = cleanEnv();
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [serverPath],
      env: { ...inherited, ...settings, ...env },
      stderr: 'ignore',
    }),
  );
  return {
    close: () => client.close(),
    list: async (args: Record<string, unknown>): Promise<Result> => {
      const result = await client.callTool({ name: 'list_parts', arguments: { bucket, ...args } });
      const [block] = result.content;
      return {
        isError: result.isError ?? false,
        text: block?.type === 'text' ? block.text : '',
        record: answered.parse(result.structuredContent ?? {}).answer,
      };
    },
  };
}

const numbers = ({ record }: Result) => (record.parts as { partNumber: number }[]).map(({ partNumber }) => partNumber);

let server: Awaited<ReturnType<typeof connect>>;
beforeAll(async () => {
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  server = await connect();
});
afterAll(async () => {
  await server.close();
  s3.destroy();
});

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
    const { record, text } = await server.list({ object: key, uploadId });
    expect(record).toMatchObject({
      view: 'summary',
      object: key,
      partCount: 1203,
      missingCount: 100,
    });
    expect(record.missing).toMatchObject({ 0: { from: 7, to: 7 }, length: 12 });
    expect(text).toContain('has 1203 parts');
  });

  test('page by page it is complete and in order', async () => {
    const seen: number[] = [];
    let marker = 0;
    for (let pages = 0; pages < 20; pages += 1) {
      const result = await server.list({ object: key, uploadId, maxParts: 250, partNumberMarker: marker });
      seen.push(...numbers(result));
      if (result.record.isTruncated !== true) break;
      marker = Number(result.record.nextPartNumberMarker);
    }
    expect(seen).toEqual(manyNumbers);
  });

  test.each([1, 2])('maxParts %i gives that many', async (maxParts) => {
    const result = await server.list({ object: key, uploadId, maxParts });
    expect(numbers(result)).toEqual(manyNumbers.slice(0, maxParts));
    expect(result.record).toMatchObject({ isTruncated: true, nextPartNumberMarker: manyNumbers[maxParts - 1] });
  });

  test.each([1000, 5000])(
    'maxParts %i ends where the answer would be too long, and goes on from there',
    async (maxParts) => {
      const first = await server.list({ object: key, uploadId, maxParts });
      const marker = Number(first.record.nextPartNumberMarker);
      expect(first.record.isTruncated).toBe(true);
      expect(numbers(first).at(-1)).toBe(marker);
      const second = await server.list({ object: key, uploadId, maxParts, partNumberMarker: marker });
      expect([...numbers(first), ...numbers(second)]).toEqual(
        manyNumbers.slice(0, numbers(first).length + numbers(second).length),
      );
    },
  );

  test('a marker between two parts starts at the next one', async () => {
    const result = await server.list({ object: key, uploadId, maxParts: 2, partNumberMarker: 7 });
    expect(numbers(result)).toEqual([8, 9]);
  });

  test('a marker past the end gives none', async () => {
    const result = await server.list({ object: key, uploadId, partNumberMarker: 9999 });
    expect(numbers(result)).toEqual([]);
    expect(result.record.isTruncated).toBe(false);
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
    const { record, isError, text } = await server.list({ object: key, uploadId, maxParts: 5 });
    expect(isError, text).toBe(false);
    expect(record).toMatchObject({ object: key, uploadId, bucket, parts: [] });
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
    expect(text).toContain('mayHaveHappened: no');
    expect(text).toMatch(next);
  };
  const unknownUpload = isCeph ? 'NoSuchKey' : 'NoSuchUpload';
  const uploadGone = /next: The upload was completed or aborted, or bucket, object or uploadId is mistyped/;

  test('an upload ID that does not exist', async () => {
    expectRefusal(await server.list({ object: key, uploadId: 'unknown' }), unknownUpload, uploadGone);
  });

  test('the upload ID of another key', async () => {
    expectRefusal(await server.list({ object: 'other.bin', uploadId }), unknownUpload, uploadGone);
  });

  test('an aborted upload', async () => {
    const aborted = await start('aborted.bin');
    await s3.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: 'aborted.bin', UploadId: aborted }));
    expectRefusal(await server.list({ object: 'aborted.bin', uploadId: aborted }), unknownUpload, uploadGone);
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
    const result = await server.list({ object: 'completed.bin', uploadId: completed });
    if (isSwift) expect(result.record).toMatchObject({ partCount: 1 });
    else expectRefusal(result, unknownUpload, uploadGone);
  });

  test('an unknown bucket', async () => {
    expectRefusal(
      await server.list({ bucket: 'no-such-bucket', object: key, uploadId }),
      'NoSuchBucket',
      /next: Check the bucket name/,
    );
  });

  test('a wrong secret', async () => {
    const wrong = await connect({ CLOUDOPS_SECRET_ACCESS_KEY: 'not-the-secret' });
    expectRefusal(
      await wrong.list({ object: key, uploadId }),
      'SignatureDoesNotMatch',
      /next: Check CLOUDOPS_SECRET_ACCESS_KEY/,
    );
    await wrong.close();
  });

  test('an unknown access key, which Swift takes for a wrong signature', async () => {
    const wrong = await connect({ CLOUDOPS_ACCESS_KEY_ID: 'NOBODY' });
    const code = isSwift ? 'SignatureDoesNotMatch' : 'InvalidAccessKeyId';
    expectRefusal(await wrong.list({ object: key, uploadId }), code, /next: Check CLOUDOPS_/);
    await wrong.close();
  });

  test('a wrong region, which Ceph and the sandbox do not mind', async () => {
    const result = await server.list({ object: key, uploadId, region: 'eu-nowhere-1' });
    if (isCeph || isSandbox) expect(result.record).toMatchObject({ partCount: 1 });
    else expectRefusal(result, 'AuthorizationHeaderMalformed', /next: Check the region/);
  });

  test.each(['+20', '-20'])(
    "a clock %s minutes off is refused once, then signed for the service's time",
    async (minutes) => {
      const offset = Number(minutes) * 60_000;
      const skewed = await connect({
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(skewScript(offset))}`,
      });
      const { record, text } = await skewed.list({ object: key, uploadId });
      expect(record, text).toMatchObject({
        partCount: 1,
        attempts: [{ result: '403', waitedMs: 0 }, { result: '200' }],
      });
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
