import { encode } from 'gpt-tokenizer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../sandbox/sandbox.js';
import { listMultipartUploads } from '../../src/tools/list-multipart-uploads.js';
import { findUploads } from '../../src/tools/upload/find-uploads.js';
import { never, testCaller } from '../support/caller.js';
import { openPolicy } from '../support/operations.js';
import { problems } from '../support/rules.js';
import { answeredBy, scriptedClient, unanswered } from '../support/scripted-client.js';

/** list_multipart_uploads without a bucket: the uploads of all buckets, within the limits of one call. */

const now = new Date('2026-11-29T12:00:00Z');
const daysAgo = (days: number) => new Date(now.getTime() - days * 24 * 3600_000).toISOString();
const policy = { ...openPolicy, extensions: ['s3'] };

async function sandboxWith(fill: (sandbox: Awaited<ReturnType<typeof startSandbox>>['storage']) => void, style = {}) {
  const sandbox = await startSandbox({ now: () => now });
  const { storage, cloud } = sandbox;
  storage.buckets.clear();
  storage.uploads.clear();
  fill(storage);
  const caller = testCaller('', { cloud: { ...cloud, ...style }, now: () => now, policy });
  onTestFinished(async () => {
    await caller.close();
    await sandbox.close();
  });
  return { ...caller, sandbox };
}

const created = '2026-01-01T00:00:00Z';

test('10,000 uploads in 1,000 buckets take 800 tokens at most: oldest first, and the buckets with most', async () => {
  const { call } = await sandboxWith(({ buckets, uploads }) => {
    for (let index = 0; index < 1000; index += 1) buckets.set(`team-${String(index).padStart(4, '0')}`, { created });
    const names = [...buckets.keys()];
    for (let index = 0; index < 10_000; index += 1) {
      const bucket = names[index % 7 === 0 ? 5 : index % 1000] ?? '';
      const uploadId = `2~${Buffer.from(`upload number ${index}`).toString('base64url')}`;
      const initiated = daysAgo(index / 25);
      uploads.set(uploadId, { bucket, key: `backups/database-${index}.dump`, uploadId, initiated, headers: {} });
    }
  });
  const progress: [number, number][] = [];
  const result = await call(
    listMultipartUploads,
    {},
    { signal: never, watch: { onPage: (reads, entries) => progress.push([reads, entries]) } },
  );
  expect(result).toMatchObject({
    ok: true,
    structured: {
      answer: {
        bucketCount: 1000,
        uploadCount: 10_000,
        buckets: expect.arrayContaining([expect.objectContaining({ bucket: 'team-0005', uploadCount: 1438 })]),
        uploads: expect.arrayContaining([expect.objectContaining({ object: 'backups/database-9999.dump' })]),
      },
    },
  });
  expect(result.text).toMatch(
    /^10000 multipart uploads are open in 1000 buckets\. The oldest, of "backups\/database-9999/,
  );
  expect(progress.at(-1)).toEqual([1001, 11_000]);
  const tokens = encode(result.text).length;
  process.stdout.write(`tokens of 10,000 uploads in 1,000 buckets: ${tokens}\n`);
  expect(tokens).toBeLessThanOrEqual(800);
});

test('sizes are those of the parts, and the bucket with most bytes comes first', async () => {
  const { call, sandbox } = await sandboxWith(({ buckets, uploads, partsOf }) => {
    for (const [index, bucket] of ['alpha', 'beta', 'empty'].entries()) {
      buckets.set(bucket, { created });
      if (bucket === 'empty') continue;
      for (const days of [3, 30]) {
        const uploadId = `${bucket}-${days}`;
        uploads.set(uploadId, { bucket, key: 'k', uploadId, initiated: daysAgo(days), headers: {} });
        const part = { etag: '0'.repeat(32), lastModified: daysAgo(days), checksums: {} };
        partsOf(uploadId).set('1', { ...part, partNumber: 1, size: 1024 ** 2 * (index + 1) });
      }
    }
  });
  expect(await call(listMultipartUploads, { withSizes: true })).toMatchObject({
    text: expect.stringContaining('4 multipart uploads are open in 3 buckets. Together they have 6.0 MiB.'),
    structured: {
      answer: {
        totalBytes: 6 * 1024 ** 2,
        buckets: [
          { bucket: 'beta', uploadCount: 2, totalBytes: 4 * 1024 ** 2, oldestHours: 720 },
          { bucket: 'alpha', uploadCount: 2, totalBytes: 2 * 1024 ** 2, oldestHours: 720 },
        ],
        uploads: [
          { bucket: 'alpha', uploadId: 'alpha-30', size: 1024 ** 2 },
          { bucket: 'beta', uploadId: 'beta-30', size: 2 * 1024 ** 2 },
          { uploadId: 'alpha-3' },
          { uploadId: 'beta-3' },
        ],
      },
    },
  });
  expect(sandbox.describe().match(/list_parts/g)).toHaveLength(4);
  const ofOne = await call(listMultipartUploads, { bucket: 'beta', withSizes: true, olderThanHours: 100 });
  expect(ofOne.text).toMatch(/^1 multipart upload in bucket "beta" was started more than 100 hours ago, of 2/);
});

test('with the bucket in the host, each bucket is asked at its own host', async () => {
  const hosts: string[] = [];
  const script = scriptedStore({ first: 1, second: 1 });
  const caller = testCaller('https://store.example', {
    policy,
    cloud: { storageStyle: 'virtual', storageHeaders: 'amz' },
    openClient: (endpoint, options) => {
      hosts.push(endpoint.origin);
      return script.openClient(endpoint, options);
    },
  });
  await caller.call(listMultipartUploads, {});
  await caller.close();
  expect(hosts).toEqual(['https://store.example', 'https://first.store.example', 'https://second.store.example']);
});

const lost = 'lost';

/** A store with so many uploads in each bucket, or a code with which it refuses, or no answer. */
function scriptedStore(buckets: Readonly<Record<string, number | string>>) {
  const date = { date: now.toUTCString() };
  return scriptedClient(async ({ path, query }) => {
    const name = decodeURIComponent(path.slice(1)) || (query?.uploads === undefined ? '' : 'first');
    const content = buckets[name];
    if (content === lost) return unanswered(true);
    if (typeof content === 'string')
      return answeredBy(403, { kind: 'xml', value: { Error: { Code: content } } }, 1, date);
    if (content === undefined) {
      const Bucket = Object.keys(buckets).map((Name) => ({ Name }));
      return answeredBy(200, { kind: 'xml', value: { ListAllMyBucketsResult: { Buckets: { Bucket } } } }, 1, date);
    }
    const Upload = Array.from({ length: content }, (_, index) => ({
      Key: `${name}-${index}`,
      UploadId: `u${index}`,
      Initiated: daysAgo(2),
    }));
    const result = { ListMultipartUploadsResult: { IsTruncated: 'false', Upload } };
    return answeredBy(200, { kind: 'xml', value: result }, 1, date);
  });
}

async function callOn(buckets: Readonly<Record<string, number | string>>, args: object = {}) {
  const script = scriptedStore(buckets);
  const caller = testCaller('http://127.0.0.1:1', { now: () => now, policy, openClient: script.openClient });
  const result = await caller.call(listMultipartUploads, args);
  await caller.close();
  return { result, paths: script.requests.map(({ path }) => path) };
}

test('buckets that may not be read are counted with the reason, and odd names are not asked for', async () => {
  const buckets = { a: 1, b: 'AccessDenied', c: 'AccessDenied', d: 'PermanentRedirect', '..': 1, 'x/y': 1 };
  const { result, paths } = await callOn(buckets);
  expect(result).toMatchObject({
    ok: true,
    text: expect.stringContaining(
      'Buckets that could not be read: 2 such as ".." (InvalidArguments), 2 such as "b" (AccessDenied), "d" (PermanentRedirect).',
    ),
    structured: { answer: { bucketCount: 1, uploadCount: 1 } },
  });
  expect(paths).toEqual(['/', '/a', '/b', '/c', '/d']);
});

test('what one call cannot read is read by the next one: nothing twice, nothing left out', async () => {
  const buckets = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`b${100 + index}`, 1000]));
  let sum = 0;
  let bucketMarker: unknown;
  for (let calls = 1; calls <= 10; calls += 1) {
    const { result } = await callOn(buckets, bucketMarker === undefined ? {} : { bucketMarker });
    const answer = result.ok ? (result.structured.answer ?? {}) : {};
    sum += Number(answer.uploadCount);
    bucketMarker = answer.nextBucketMarker;
    if (bucketMarker === undefined) break;
    expect(result.text).toMatch(/^At least \d+ multipart uploads are open in the first \d+ buckets: the list goes on/);
    expect(result.text).toContain(`call again with bucketMarker "${bucketMarker}"`);
    expect(result.text).toContain('Only a part was read, as much as one call reads.');
  }
  expect([sum, bucketMarker]).toEqual([60_000, undefined]);
});

test('if a store stops answering, the call ends with what it has, and says where to go on', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `b${10 + index}`);
  const { result, paths } = await callOn(Object.fromEntries(names.map((name) => [name, name === 'b19' ? lost : 1])));
  expect(result).toMatchObject({
    ok: true,
    structured: {
      answer: { bucketCount: 9, uploadCount: 9, isTruncated: true, nextBucketMarker: 'b18' },
      warnings: [
        'Only a part was read, because a request had no answer (ConnectionLost). Counts and sums are of this part.',
      ],
    },
  });
  // The reads of its batch had begun already.
  expect(paths).toHaveLength(17);
});

describe('after a call that a limit stopped, the next one begins with what was not read, or only in part', () => {
  const end = { whole: { uploadCount: 1 }, part: { uploadCount: 1, isTruncated: true } };
  test.each([
    ['a limit between two buckets', ['whole', 'whole', 'stopped'], 'b'],
    ['a limit within a bucket', ['whole', 'part', 'stopped'], 'a'],
    ['a limit within two at a time', ['whole', 'part', 'part', 'stopped'], 'a'],
    ['a bucket that alone is too large, so that it is named', ['part', 'stopped'], 'a'],
    ['nothing read', ['stopped', 'stopped'], undefined],
    ['nothing stopped', ['whole', 'part'], undefined],
  ] as const)('%s', (_when, kinds, marker) => {
    const names = ['a', 'b', 'c', 'd'].slice(0, kinds.length);
    const reads = findUploads({});
    reads.next([]);
    reads.next([{ kind: 'read', record: { buckets: names.map((bucket) => ({ bucket })) } }]);
    reads.next(kinds.map((kind) => (kind === 'stopped' ? { kind } : { kind: 'read', record: end[kind] })));
    const { value } = reads.next([]);
    expect(typeof value === 'function' && value(false).nextBucketMarker).toBe(marker);
  });
});

test('if the list of buckets fails, the call fails', async () => {
  const { result } = await callOn({ '': 'AccessDenied' });
  expect(result).toMatchObject({ ok: false, failure: { serviceSays: { code: 'AccessDenied' } } });
});

test('rules', () => {
  const wrong = { keyMarker: 'k', uploadId: 'u' };
  expect(problems(listMultipartUploads, wrong)).toEqual([
    'uploadId: "u" needs bucket, and goes without withSizes',
    'keyMarker: "k" needs bucket, and goes without withSizes',
  ]);
  expect(problems(listMultipartUploads, { bucket: 'b', bucketMarker: 'a' })).toEqual([
    'bucketMarker: "a" has no meaning with bucket',
  ]);
});
