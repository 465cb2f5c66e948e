import {
  ListObjectsCommand,
  type ListObjectsCommandInput,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { runs } from '../support/runs.js';

/** ListObjects and ListObjectsV2, as S3 documents them, read by the SDK. */

const Bucket = 'listed';
const keys = ['a', 'a b/+ü', 'b/1', 'b/2', 'b/c/3', 'c', 'd/4', 'e', '\u{ff61}', '\u{1f600}'];
const LastModified = new Date('2026-11-21T12:00:00.000Z');

let sandbox: Sandbox;
let s3: S3Client;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
  const { credentials, endpoints } = sandbox.cloud;
  const region = 'jp-east-1';
  s3 = new S3Client({ endpoint: endpoints.storage, region, credentials, forcePathStyle: true, maxAttempts: 1 });
  fill(Bucket, keys);
  fill('other', ['a', 'z']);
  sandbox.storage.buckets.set('empty', { created: LastModified.toISOString() });
});
afterAll(async () => {
  s3.destroy();
  await sandbox.close();
});

/** A bucket with objects of 5 bytes in two parts, the last key first. */
function fill(bucket: string, names: readonly string[]): void {
  const lastModified = LastModified.toISOString();
  sandbox.storage.buckets.set(bucket, { created: lastModified });
  const part = { etag: '0', lastModified, checksums: {} };
  const parts = [
    { ...part, partNumber: 1, size: 2 },
    { ...part, partNumber: 2, size: 3 },
  ];
  for (const key of [...names].reverse())
    sandbox.storage.storeObject({ bucket, key, etag: 'etag', lastModified, headers: {}, parts, checksums: {} });
}

interface Named {
  readonly Contents?: readonly { readonly Key?: string | undefined }[] | undefined;
  readonly CommonPrefixes?: readonly { readonly Prefix?: string | undefined }[] | undefined;
}
/** Keys and groups of a page. */
const named = ({ Contents = [], CommonPrefixes = [] }: Named) => ({
  keys: Contents.map(({ Key }) => Key),
  groups: CommonPrefixes.map(({ Prefix }) => Prefix),
});
const first = (more: Partial<ListObjectsCommandInput> = {}) => s3.send(new ListObjectsCommand({ Bucket, ...more }));
const second = (more: Partial<ListObjectsV2CommandInput> = {}) =>
  s3.send(new ListObjectsV2Command({ Bucket, ...more }));

describe.each([
  ['ListObjects', first],
  ['ListObjectsV2', second],
] as const)('%s', (_version, list) => {
  test.each<[string, Pick<ListObjectsCommandInput, 'Prefix' | 'Delimiter'>, string[], string[]]>([
    ['all in the order of their bytes', {}, keys, []],
    ['those with a prefix', { Prefix: 'b/' }, ['b/1', 'b/2', 'b/c/3'], []],
    ['none with a prefix that no key has', { Prefix: 'no' }, [], []],
    ['groups up to a delimiter', { Delimiter: '/' }, ['a', 'c', 'e', ...keys.slice(-2)], ['a b/', 'b/', 'd/']],
    ['groups behind a prefix', { Prefix: 'b/', Delimiter: '/' }, ['b/1', 'b/2'], ['b/c/']],
    ['a group that a prefix begins', { Prefix: 'b', Delimiter: '/' }, [], ['b/']],
    ['groups by a longer delimiter', { Delimiter: '/c/' }, keys.filter((key) => key !== 'b/c/3'), ['b/c/']],
  ])('has %s', async (_what, sent, expected, groups) => {
    const page = await list(sent);
    expect(named(page)).toEqual({ keys: expected, groups });
    expect(page).toMatchObject({ Name: Bucket, Prefix: sent.Prefix ?? '', MaxKeys: 1000, IsTruncated: false });
    expect(page.Delimiter).toBe(sent.Delimiter);
  });
});

describe('pages of ListObjects', () => {
  test('say with groups where to go on, and count a group as one', async () => {
    const page = await first({ MaxKeys: 3, Delimiter: '/' });
    expect(named(page)).toEqual({ keys: ['a'], groups: ['a b/', 'b/'] });
    expect(page.NextMarker).toBe('b/');
    const rest = await first({ Marker: page.NextMarker, Delimiter: '/' });
    expect(named(rest)).toEqual({ keys: ['c', 'e', ...keys.slice(-2)], groups: ['d/'] });
  });
});

describe('pages of ListObjectsV2', () => {
  test('of any size have every key and group once', async () => {
    const paths = fc.array(fc.stringMatching(/^[ab/]{1,5}$/), { minLength: 1, maxLength: 12 });
    let count = 0;
    const property = fc.asyncProperty(paths, fc.integer({ min: 1, max: 4 }), async (names, pageSize) => {
      count += 1;
      fill(`random-${count}`, names);
      const seen: (string | undefined)[] = [];
      const sent = { Bucket: `random-${count}`, Delimiter: '/' };
      for await (const page of paginateListObjectsV2({ client: s3, pageSize }, sent)) {
        const { keys, groups } = named(page);
        expect(page.KeyCount).toBe(keys.length + groups.length);
        seen.push(...[...keys, ...groups].sort());
      }
      expect(seen).toEqual([...new Set(names.map((name) => name.replace(/\/.*/, '/')))].sort());
    });
    await fc.assert(property, { numRuns: runs(200) });
  });
});
