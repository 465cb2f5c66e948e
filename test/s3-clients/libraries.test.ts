import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { CreateBucketCommand, GetObjectCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import * as minio from 'minio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, seededUpload, startSandbox } from '../../sandbox/sandbox.js';

/** The AWS SDK for JavaScript with lib-storage, and minio-js, at their default settings, with the sandbox. */

const folder = mkdtempSync(join(tmpdir(), 's3-libraries-'));
const Key = 'Backups/日本 + ü/data.bin';
const mebibyte = 1024 * 1024;
const large = randomBytes(18 * mebibyte + 1);

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
});
afterAll(async () => {
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('AWS SDK', () => {
  const Bucket = 'sdk';
  let client: S3Client;
  beforeAll(async () => {
    const { credentials, endpoints } = sandbox.cloud;
    client = new S3Client({ endpoint: endpoints.storage, region: 'jp-east-1', credentials, forcePathStyle: true });
    await client.send(new CreateBucketCommand({ Bucket }));
  });
  afterAll(() => client.destroy());
  const read = async (Range?: string) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, ...(Range && { Range }) }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  };
  const uploads = async () => (await client.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? [];

  test.each(['CRC32', 'SHA1', 'SHA256'] as const)(
    'lib-storage brings up a stream in parallel parts with %s',
    async (ChecksumAlgorithm) => {
      const params = { Bucket, Key, Body: Readable.from(split(large)), ChecksumAlgorithm };
      const { [`Checksum${ChecksumAlgorithm}` as const]: checksum } = await new Upload({
        client,
        params,
        queueSize: 4,
      }).done();
      expect(checksum).toMatch(/-4$/);
      expect((await read()).equals(large)).toBe(true);
      expect((await read('bytes=6000000-6999999')).equals(large.subarray(6_000_000, 7_000_000))).toBe(true);
      expect((await read('bytes=-5')).equals(large.subarray(-5))).toBe(true);
    },
  );

  test('an upload that is aborted leaves nothing', async () => {
    const upload = new Upload({
      client,
      params: { Bucket, Key: 'aborted', Body: Readable.from(split(large)) },
      queueSize: 1,
    });
    upload.on('httpUploadProgress', () => void upload.abort());
    await expect(upload.done()).rejects.toThrow('aborted');
    // It is aborted behind the scenes.
    await expect.poll(uploads).toEqual([]);
  });

  test('checksums that nothing here can check are refused', async () => {
    const params = { Bucket, Key: 'refused', Body: large, ChecksumAlgorithm: 'CRC64NVME' as const };
    await expect(new Upload({ client, params }).done()).rejects.toThrow('does not offer the checksum CRC64NVME');
    expect(await uploads()).toEqual([]);
  });
});

describe('minio-js', () => {
  const bucket = 'minio';
  let client: minio.Client;
  beforeAll(async () => {
    const { hostname, port } = new URL(sandbox.cloud.endpoints.storage);
    const { accessKeyId: accessKey, secretAccessKey: secretKey } = sandbox.cloud.credentials;
    client = new minio.Client({
      endPoint: hostname,
      port: Number(port),
      useSSL: false,
      accessKey,
      secretKey,
      partSize: 5 * mebibyte,
    });
    await client.makeBucket(bucket, 'jp-west-2');
  });

  test('brings a file up in parts, over another, and down again, whole and in pieces', async () => {
    const [path, back] = [join(folder, 'large'), join(folder, 'back')];
    writeFileSync(path, large);
    await client.putObject(bucket, Key, 'old');
    await client.fPutObject(bucket, Key, path);
    await client.fGetObject(bucket, Key, back);
    expect(readFileSync(back).equals(large)).toBe(true);
    const piece = await buffer(await client.getPartialObject(bucket, Key, 6_000_000, 100));
    expect(piece.equals(large.subarray(6_000_000, 6_000_100))).toBe(true);
    await client.removeObject(bucket, Key);
    await expect(client.statObject(bucket, Key)).rejects.toThrow('Not Found');
  });

  test('lists a folder page by page, and removes all of it at once', async () => {
    const names = ['folder/a', 'folder/b & <c>', 'folder/d/e'];
    for (const name of [...names, 'other']) await client.putObject(bucket, name, 'x');
    const list = async (recursive: boolean) => {
      const seen: string[] = [];
      for await (const { name, prefix } of client.listObjectsV2(bucket, 'folder/', recursive))
        seen.push(name ?? prefix);
      return seen;
    };
    expect((await list(false)).sort()).toEqual(['folder/a', 'folder/b & <c>', 'folder/d/']);
    expect(await list(true)).toEqual(names);
    await client.removeObjects(bucket, names);
    expect(await list(true)).toEqual([]);
    await client.statObject(bucket, 'other');
  });

  test('lists uploads that are not completed, and aborts one', async () => {
    const seen: string[] = [];
    for await (const { key } of client.listIncompleteUploads(seededUpload.bucket, '', true)) seen.push(key);
    expect(seen).toContain(seededUpload.key);
    await client.removeIncompleteUpload(seededUpload.bucket, seededUpload.key);
    const [held = ''] = (await sandbox.describe()).split('## Last requests');
    expect(held).not.toContain(seededUpload.uploadId);
  });
});

/** A stream's pieces, of odd sizes. */
function* split(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += 777_777) yield bytes.subarray(at, at + 777_777);
}
