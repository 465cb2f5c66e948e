import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListPartsCommand,
  PutObjectCommand,
  paginateListParts,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import aws4 from 'aws4';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Sandbox,
  seededEmptyUpload,
  seededLargeUpload,
  seededUpload,
  startSandbox,
} from '../../sandbox/sandbox.js';
import { sendSigned } from './send-signed.js';

/** Object storage, used by the SDK that most S3 clients are made with, at its default settings. */

const Bucket = 'sdk-bucket';
const mebibyte = 1024 * 1024;
let sandbox: Sandbox;
let s3: S3Client;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
  const { credentials, endpoints } = sandbox.cloud;
  s3 = new S3Client({
    endpoint: endpoints.storage,
    region: 'jp-east-1',
    credentials,
    forcePathStyle: true,
    maxAttempts: 1,
  });
  await s3.send(new CreateBucketCommand({ Bucket }));
});
afterAll(async () => {
  s3.destroy();
  await sandbox.close();
});

const create = async (Key: string, more: { ContentType?: string; Metadata?: Record<string, string> } = {}) => {
  const { UploadId = '' } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key, ...more }));
  return { Bucket, Key, UploadId };
};
type Created = Awaited<ReturnType<typeof create>>;
const upload = async (to: Created, PartNumber: number, Body: Buffer | string) => {
  const { ETag } = await s3.send(new UploadPartCommand({ ...to, PartNumber, Body }));
  return { PartNumber, ETag };
};
const complete = (to: Created, Parts: { PartNumber: number; ETag: string | undefined }[]) =>
  s3.send(new CompleteMultipartUploadCommand({ ...to, MultipartUpload: { Parts } }));
const md5 = (data: Buffer | string) => createHash('md5').update(data).digest();
const failure = async (sent: Promise<unknown>): Promise<string> =>
  sent.then(
    () => 'none',
    (error) => error.name,
  );

describe('a multipart upload', () => {
  test('becomes the object that its parts make in any order, one of them twice, with the headers it was created with', async () => {
    const [first, second] = [randomBytes(5 * mebibyte), randomBytes(1000)];
    const to = await create('a//b/./x 😀\n.bin', { ContentType: 'text/plain', Metadata: { colour: 'blue' } });
    const later = await upload(to, 7, second);
    await upload(to, 2, randomBytes(10));
    const parts = [await upload(to, 2, first), later];
    const { Parts = [] } = await s3.send(new ListPartsCommand(to));
    expect(Parts.map(({ PartNumber, Size }) => [PartNumber, Size])).toEqual([
      [2, first.length],
      [7, second.length],
    ]);
    const completed = await complete(to, parts);
    const ETag = `"${md5(Buffer.concat([md5(first), md5(second)])).toString('hex')}-2"`;
    expect(completed).toMatchObject({ Bucket, Key: to.Key, ETag });

    const { Key } = to;
    const got = await s3.send(new GetObjectCommand({ Bucket, Key }));
    expect(
      Buffer.compare(Buffer.from((await got.Body?.transformToByteArray()) ?? []), Buffer.concat([first, second])),
    ).toBe(0);
    const shared = {
      ETag,
      ContentType: 'text/plain',
      Metadata: { colour: 'blue' },
      ContentLength: 5 * mebibyte + 1000,
    };
    expect(got).toMatchObject(shared);
    expect(await s3.send(new HeadObjectCommand({ Bucket, Key }))).toMatchObject(shared);
    expect(await failure(s3.send(new ListPartsCommand(to)))).toBe('NoSuchUpload');
  });

  test('is completed once, and a client whose answer was lost gets it again', async () => {
    const to = await create('repeated.bin');
    const part = await upload(to, 1, 'x');
    const { ETag } = await complete(to, [part]);
    expect((await complete(to, [part])).ETag).toBe(ETag);
    expect(await failure(complete(to, [{ ...part, ETag: '"0"' }]))).toBe('NoSuchUpload');
  });

  test('can be overwritten while it is read: the reader gets the old bytes to the end', async () => {
    // The second part is not yet open when it is replaced.
    const [old, latest] = [[randomBytes(16 * mebibyte), randomBytes(1000)] as const, randomBytes(10)];
    const to = await create('overwritten.bin');
    await complete(to, [await upload(to, 1, old[0]), await upload(to, 2, old[1])]);
    const { Key } = to;
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
    await s3.send(new PutObjectCommand({ Bucket, Key, Body: latest }));
    const read = Buffer.from((await Body?.transformToByteArray()) ?? []);
    expect(read.equals(Buffer.concat(old))).toBe(true);
    const again = await s3.send(new GetObjectCommand({ Bucket, Key }));
    expect(Buffer.from((await again.Body?.transformToByteArray()) ?? []).equals(latest)).toBe(true);
  });

  test.each<[string, string, (to: Created) => Promise<unknown>]>([
    ['no part', 'MalformedXML', (to) => complete(to, [])],
    ['a part that was not uploaded', 'InvalidPart', (to) => complete(to, [{ PartNumber: 3, ETag: '"x"' }])],
    [
      'parts out of order',
      'InvalidPartOrder',
      async (to) => complete(to, [await upload(to, 2, 'b'), await upload(to, 1, 'a')]),
    ],
    [
      'a part under 5 MiB that is not the last',
      'EntityTooSmall',
      async (to) => complete(to, [await upload(to, 1, 'a'), await upload(to, 2, 'b')]),
    ],
    ['part number 0', 'InvalidArgument', (to) => upload(to, 0, 'x')],
    ['part number 10001', 'InvalidArgument', (to) => upload(to, 10_001, 'x')],
    ['another key', 'NoSuchUpload', (to) => upload({ ...to, Key: 'other' }, 1, 'x')],
    ['another bucket', 'NoSuchBucket', (to) => upload({ ...to, Bucket: 'no-such-bucket' }, 1, 'x')],
    [
      'a checksum of something else',
      'BadDigest',
      (to) => s3.send(new UploadPartCommand({ ...to, PartNumber: 1, Body: 'x', ChecksumCRC32: 'AAAAAA==' })),
    ],
  ])('is not completed or changed by %s: %s', async (_what, code, act) => {
    const to = await create('refused.bin');
    expect(await failure(act(to))).toBe(code);
    expect(await failure(s3.send(new ListPartsCommand(to)))).toBe('none');
  });
});

describe('lists', () => {
  test('parts, 1,000 a page at most, to their end', async () => {
    const { bucket, key, uploadId } = seededLargeUpload;
    const names = { Bucket: bucket, Key: key, UploadId: uploadId };
    const seen: number[] = [];
    for await (const { Parts = [], MaxParts } of paginateListParts({ client: s3 }, { ...names, MaxParts: 5000 })) {
      expect(Parts).toHaveLength(1000);
      expect(MaxParts ?? 1000).toBe(1000);
      seen.push(...Parts.flatMap(({ PartNumber }) => PartNumber ?? []));
    }
    expect(seen).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 1));
  });

  test('what is there from the start looks like uploads that people are busy with', async () => {
    const list = ({ bucket, key, uploadId }: typeof seededUpload) =>
      s3.send(new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: uploadId }));
    const { Parts = [] } = await list(seededUpload);
    expect(Parts.map(({ PartNumber }) => PartNumber)).toEqual([1, 2, 3, 4, 6, 7, 8, 9, 10, 13, 14, 15]);
    const times = Parts.map(({ LastModified }) => LastModified?.getTime() ?? 0);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(Math.max(...times)).toBeLessThan(Date.now());
    expect((await list(seededEmptyUpload)).Parts ?? []).toEqual([]);
  });
});

describe('buckets and objects', () => {
  test.each([
    [Bucket, 'BucketAlreadyOwnedByYou'],
    ['Capital', 'InvalidBucketName'],
    ['under_score', 'InvalidBucketName'],
    ['192.168.1.1', 'InvalidBucketName'],
    ['a..b', 'InvalidBucketName'],
    ['xn--abc', 'InvalidBucketName'],
    ['abc-s3alias', 'InvalidBucketName'],
  ])('a bucket %s is not created: %s', async (name, code) => {
    expect(await failure(s3.send(new CreateBucketCommand({ Bucket: name })))).toBe(code);
  });
});

describe('bodies', () => {
  const put = async (body: string, headers: Record<string, string>, signed = body) => {
    const { code, status } = await sendSigned(sandbox, {
      method: 'PUT',
      path: `/${Bucket}/raw`,
      headers,
      body,
      signed,
    });
    return code ?? String(status);
  };
  test('over 5 GiB: EntityTooLarge, before anything of it is sent', async () => {
    const { host, hostname, port } = new URL(sandbox.cloud.endpoints.storage);
    const path = `/${Bucket}/large`;
    const declared = { 'Content-Length': String(5 * 1024 ** 3 + 1), ...declare('UNSIGNED-PAYLOAD') };
    const unsigned = { method: 'PUT', host, path, headers: declared, service: 's3', region: 'r' };
    const { headers } = aws4.sign(unsigned, sandbox.cloud.credentials);
    const outgoing = request({ hostname, port, path, method: 'PUT', headers: headers as Record<string, string> });
    outgoing.flushHeaders();
    const [response] = await once(outgoing, 'response');
    expect(await text(response)).toContain('<Code>EntityTooLarge<');
    outgoing.destroy();
  });

  const declare = (value: string, more = {}) => ({ 'X-Amz-Content-Sha256': value, ...more });
  const trailer = { 'x-amz-trailer': 'x-amz-checksum-crc32' };
  const streaming = declare('STREAMING-UNSIGNED-PAYLOAD-TRAILER', trailer);
  const end = (checksum: string) => `0\r\nx-amz-checksum-crc32:${checksum}\r\n\r\n`;

  test.each<[string, string, string, Record<string, string>, string?]>([
    ['as it was signed', '200', 'abc', {}],
    ['another than was signed', 'XAmzContentSHA256Mismatch', 'abd', {}, 'abc'],
    ['unsigned', '200', 'abc', declare('UNSIGNED-PAYLOAD')],
    ['with a hash that is none', 'InvalidArgument', 'abc', declare('abc')],
    ['in chunks', '200', `1\r\na\r\n2\r\nbc\r\n${end('NSRBwg==')}`, streaming],
    ['in chunks, with a wrong checksum', 'BadDigest', `3\r\nabd\r\n${end('NSRBwg==')}`, streaming],
    ['in chunks, without the checksum', 'BadDigest', '3\r\nabc\r\n0\r\n\r\n', streaming],
    ['in chunks that end early', 'IncompleteBody', '3\r\nab', streaming],
    ['in chunks of no size', 'IncompleteBody', 'x\r\nab\r\n', streaming],
    ['in chunks longer than they say', 'IncompleteBody', `2\r\nabc\r\n${end('NSRBwg==')}`, streaming],
    [
      'in chunks that are not all',
      'IncompleteBody',
      `3\r\nabc\r\n${end('NSRBwg==')}`,
      { ...streaming, 'x-amz-decoded-content-length': '4' },
    ],
    ['with a wrong MD5', 'BadDigest', 'abc', { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }],
  ])('%s: %s', async (_what, outcome, sent, declared, signed) => {
    expect(await put(sent, declared, signed)).toBe(outcome);
  });
});
