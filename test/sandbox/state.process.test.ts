import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListBucketsCommand,
  ListPartsCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { build } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { seededBackupId } from '../../sandbox/devops.js';
import { type Sandbox, type SandboxOptions, seededUpload, startSandbox } from '../../sandbox/sandbox.js';
import { sendSigned } from './send-signed.js';

const folder = mkdtempSync(join(tmpdir(), 'sandbox-state-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => {
  files += 1;
  return join(folder, `state-${files}.jsonl`);
};

const now = () => new Date('2026-11-20T12:00:00Z');
/** Signs with the sandbox's clock. */
const clientOf = (sandbox: Sandbox) =>
  connect(sandbox.cloud.endpoints.storage, sandbox.cloud.credentials, now().getTime() - Date.now());
const connect = (endpoint: string, keys: Sandbox['cloud']['credentials'], systemClockOffset = 0) =>
  new S3Client({
    endpoint,
    region: 'jp-east-1',
    credentials: { ...keys },
    forcePathStyle: true,
    maxAttempts: 1,
    systemClockOffset,
  });

const Bucket = 'state';
const create = async (s3: S3Client, Key: string) => {
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }));
  return { Bucket, Key, UploadId };
};
type Created = Awaited<ReturnType<typeof create>>;
const upload = async (s3: S3Client, to: Created, Body: Buffer, PartNumber = 1) => {
  const { ETag } = await s3.send(new UploadPartCommand({ ...to, PartNumber, Body }));
  return { PartNumber, ETag };
};
const complete = (s3: S3Client, to: Created, part: Awaited<ReturnType<typeof upload>>) =>
  s3.send(new CompleteMultipartUploadCommand({ ...to, MultipartUpload: { Parts: [part] } }));
const read = async (s3: S3Client, Key: string) => {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
};

/** Status of a request to the catalog or DevOps API. */
async function post(sandbox: Sandbox, service: string, path: string, body: unknown) {
  const date = now()
    .toISOString()
    .replace(/[-:]|\.\d+/g, '');
  const sent = { method: 'POST', path, service, headers: { 'X-Amz-Date': date }, body: JSON.stringify(body) };
  return (await sendSigned(sandbox, sent)).status;
}

/** Runs a sandbox and closes it in any case. */
async function withSandbox<T>(options: Partial<SandboxOptions>, use: (s3: S3Client, sandbox: Sandbox) => Promise<T>) {
  const sandbox = await startSandbox({ now, ...options });
  const s3 = clientOf(sandbox);
  try {
    return await use(s3, sandbox);
  } finally {
    s3.destroy();
    await sandbox.close();
  }
}

describe('a restart', () => {
  test('finds everything: keys, uploads, replaced parts, objects, and what was done to uploads of the start', async () => {
    const stateFile = newFile();
    const before = await withSandbox({ stateFile }, async (s3, sandbox) => {
      await s3.send(new CreateBucketCommand({ Bucket }));
      const open = await create(s3, 'open');
      await upload(s3, open, Buffer.from('old'));
      const kept = await upload(s3, open, Buffer.from('kept'));
      const done = await create(s3, 'done');
      await complete(s3, done, await upload(s3, done, Buffer.from('done')));
      const seeded = { Bucket: seededUpload.bucket, Key: seededUpload.key, UploadId: seededUpload.uploadId };
      await upload(s3, seeded, Buffer.from('five'), 5);
      return { open, kept, seeded, keys: sandbox.cloud.credentials };
    });
    writeFileSync(join(`${stateFile}.parts`, 'left-behind'), 'a body that was never answered');

    await withSandbox({ stateFile }, async (s3, sandbox) => {
      expect(sandbox.cloud.credentials).toEqual(before.keys);
      const { Parts } = await s3.send(new ListPartsCommand(before.open));
      expect(Parts).toMatchObject([{ PartNumber: 1, ETag: before.kept.ETag, Size: 4 }]);
      expect((await read(s3, 'done')).toString()).toBe('done');
      const { Parts: seededParts = [] } = await s3.send(new ListPartsCommand(before.seeded));
      expect(seededParts.find(({ PartNumber }) => PartNumber === 5)).toMatchObject({ Size: 4 });
      expect((await create(s3, 'next')).UploadId).not.toBe(before.open.UploadId);
      // The bodies of the open upload, the object and the added part 5.
      expect(readdirSync(`${stateFile}.parts`)).toHaveLength(3);
    });
  });

  test('finds what was changed in the catalog and in DevOps, but no secret that came with it', async () => {
    const stateFile = newFile();
    const restore = { backupId: seededBackupId, instanceId: 'restored' };
    const externalCloudConfig = { serviceAccountKey: '{"private_key":"not-to-be-kept"}' };
    const adminCluster = { name: 'kept-admin' };
    const changes = (sandbox: Sandbox) => [
      post(sandbox, 'devops', '/_devops/v1/instances:restore', restore),
      post(sandbox, 'catalog', '/_catalog/v1/resource-groups/kept/kube:provision', {
        externalCloudConfig,
        adminCluster,
      }),
    ];
    await withSandbox({ stateFile }, async (_, sandbox) => {
      expect(await Promise.all(changes(sandbox))).toEqual([200, 200]);
    });
    await withSandbox({ stateFile }, async (_, sandbox) => {
      expect(await Promise.all(changes(sandbox))).toEqual([409, 409]);
      expect(await sandbox.describe()).toMatch(
        /- "kept": provisioning[\s\S]*- "kept-admin": [\s\S]*- "restored": RESTORING/,
      );
      const state = await (await fetch(`${sandbox.cloud.endpoints.storage}/_sandbox/state`)).text();
      expect(state + readFileSync(stateFile, 'utf8')).not.toContain('not-to-be-kept');
    });
  });

  test('drops a line that was not finished, as it was not answered', async () => {
    const stateFile = newFile();
    await withSandbox({ stateFile }, (s3) => s3.send(new CreateBucketCommand({ Bucket })));
    appendFileSync(stateFile, '[["buckets","la');
    await withSandbox({ stateFile }, (s3) => s3.send(new CreateBucketCommand({ Bucket: 'second' })));
    await withSandbox({ stateFile }, async (s3) => {
      const { Buckets = [] } = await s3.send(new ListBucketsCommand({}));
      expect(Buckets.map(({ Name }) => Name)).toEqual(['demo-bucket', Bucket, 'second'].sort());
    });
  });
});

describe('a file is left as it is', () => {
  test.each([
    ['that is something else', 'notes of mine', /not the state of a sandbox/],
    ['of another version', '{"sandbox":0}\n', /not the state of a sandbox/],
    [
      'that is damaged',
      '{"sandbox":2,"seed":"s","started":"2026-01-01T00:00:00.000Z"}\n{"sto\n',
      /Line 2 of .* damaged/,
    ],
    [
      'with a record of another kind',
      '{"sandbox":2,"seed":"s","started":"2026-01-01T00:00:00.000Z"}\n[["uploads","u",{"key":1}]]\n',
      /has uploads that cannot be read/,
    ],
  ])('%s', async (_what, content, problem) => {
    const stateFile = newFile();
    writeFileSync(stateFile, content);
    await expect(startSandbox({ now, stateFile })).rejects.toThrow(problem);
    expect(readFileSync(stateFile, 'utf8')).toBe(content);
    expect(existsSync(`${stateFile}.lock`)).toBe(false);
  });

  test('that another process uses, but not one that is gone', async () => {
    const stateFile = newFile();
    writeFileSync(`${stateFile}.lock`, String(process.ppid));
    await expect(startSandbox({ now, stateFile })).rejects.toThrow(`Process ${process.ppid} uses this state`);
    const child = spawn(process.execPath, ['--version']);
    await once(child, 'exit');
    writeFileSync(`${stateFile}.lock`, String(child.pid));
    await withSandbox({ stateFile }, async () => undefined);
    expect(existsSync(`${stateFile}.lock`)).toBe(false);
  });

  test('that was begun with another seed', async () => {
    const stateFile = newFile();
    await withSandbox({ stateFile, seed: 'a' }, async () => undefined);
    await expect(startSandbox({ now, stateFile, seed: 'b' })).rejects.toThrow('another seed');
    await withSandbox({ stateFile, seed: 'a' }, async () => undefined);
  });
});

test('keys, upload IDs and request IDs follow from the seed', async () => {
  const run = (seed?: string) =>
    withSandbox({ seed }, async (s3, { cloud }) => {
      await s3.send(new CreateBucketCommand({ Bucket }));
      const { UploadId, $metadata } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'k' }));
      return [cloud.credentials, UploadId, $metadata.requestId];
    });
  const first = await run('seed');
  expect(await run('seed')).toEqual(first);
  expect((await run('other'))[1]).not.toBe(first[1]);
  expect((await run())[0]).not.toEqual((await run())[0]);
});

test('without a file, nothing is left once the sandbox is closed', async () => {
  const temporary = mkdtempSync(join(folder, 'tmp-'));
  vi.stubEnv('TMPDIR', temporary);
  await withSandbox({}, async (s3) => {
    await s3.send(new CreateBucketCommand({ Bucket }));
    await upload(s3, await create(s3, 'k'), Buffer.from('x'));
    expect(readdirSync(temporary)).toHaveLength(1);
  });
  expect(readdirSync(temporary)).toEqual([]);
  vi.unstubAllEnvs();
});

describe('a sandbox that is killed', () => {
  /** Answers about one key. */
  interface Known {
    readonly to: Created;
    readonly body: Buffer;
    etag?: string | undefined;
    completed?: boolean;
  }

  /** The sandbox as a small program, which starts fast. */
  const program = join(folder, 'program.mjs');
  beforeAll(async () => {
    await build({ input: 'sandbox/sandbox.ts', platform: 'node', output: { file: join(folder, 'sandbox.mjs') } });
    writeFileSync(
      program,
      `import { startSandbox } from './sandbox.mjs';
      const { cloud } = await startSandbox({ now: () => new Date(), stateFile: process.argv[2] });
      console.log(JSON.stringify(cloud));`,
    );
  });

  async function start(stateFile: string): Promise<{ child: ChildProcess; s3: S3Client }> {
    const child = spawn(process.execPath, [program, stateFile], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(createInterface(child.stdout), 'line');
    const { endpoints, credentials } = JSON.parse(line);
    return { child, s3: connect(endpoints.storage, credentials) };
  }

  /** Creates, uploads and completes, one key after the other, until the sandbox is gone. */
  async function work(s3: S3Client, name: string, known: Known[], onAnswer: () => void): Promise<void> {
    for (let count = 0; ; count += 1) {
      const body = randomBytes(randomInt(1, 100_000));
      const to = await create(s3, `${name}-${count}`);
      const entry: Known = { to, body };
      known.push(entry);
      onAnswer();
      const part = await upload(s3, to, body);
      entry.etag = part.ETag;
      onAnswer();
      await complete(s3, to, part);
      entry.completed = true;
      onAnswer();
    }
  }

  const check = async (s3: S3Client, { to, body, etag, completed }: Known) => {
    const object = await read(s3, to.Key).catch(() => undefined);
    if (object !== undefined) return expect(body.equals(object)).toBe(true);
    expect(completed, `${to.Key} was completed`).toBeUndefined();
    const { Parts = [] } = await s3.send(new ListPartsCommand(to));
    if (etag !== undefined) expect(Parts[0]?.ETag).toBe(etag);
  };

  /** Runs four clients until some answers have come, and kills the sandbox a moment later. */
  async function round(stateFile: string, name: string, known: Known[]): Promise<void> {
    const { child, s3 } = await start(stateFile);
    const ended = once(child, 'exit');
    await s3.send(new CreateBucketCommand({ Bucket })).catch(() => undefined);
    let left = randomInt(1, 40);
    const onAnswer = () => {
      left -= 1;
      if (left === 0) setTimeout(() => child.kill('SIGKILL'), randomInt(0, 10));
    };
    const workers = [1, 2, 3, 4].map((worker) => work(s3, `${name}-${worker}`, known, onAnswer).catch(() => undefined));
    await Promise.all([ended, ...workers]);
    s3.destroy();
  }

  test.each([1, 2, 3])('at any moment has lost nothing that it answered (%i)', async (series) => {
    const stateFile = newFile();
    const known: Known[] = [];
    for (let count = 0; count < 8; count += 1) await round(stateFile, `${series}-${count}`, known);
    const { child, s3 } = await start(stateFile);
    try {
      expect(known.some(({ completed }) => completed)).toBe(true);
      await Promise.all(known.map((entry) => check(s3, entry)));
    } finally {
      s3.destroy();
      child.kill();
      await once(child, 'exit');
    }
  });
});
