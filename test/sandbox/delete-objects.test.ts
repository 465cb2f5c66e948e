import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { sendSigned } from './send-signed.js';

/** DeleteObjects, as S3 documents it. */

const there = ['a', 'b/c', ' & <d>"\'\u{1f600}\t', 'kept'];

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
});
afterAll(() => sandbox.close());
beforeEach(() => {
  for (const bucket of ['bucket', 'other']) {
    sandbox.storage.buckets.set(bucket, { created: '2026-11-21T12:00:00.000Z' });
    for (const key of there)
      sandbox.storage.storeObject({ bucket, key, etag: '0', lastModified: '', headers: {}, parts: [], checksums: {} });
  }
});

/** Keys that a bucket still has. */
const left = (bucket = 'bucket') => there.filter((key) => sandbox.storage.objects.has(`${bucket}/${key}`));

const md5 = (body: string) => ({ 'Content-MD5': createHash('md5').update(body).digest('base64') });

async function send(body: string, headers: Record<string, string> = md5(body), bucket = 'bucket') {
  const answer = await sendSigned(sandbox, { method: 'POST', path: `/${bucket}?delete`, headers, body });
  const deleted = [...answer.body.matchAll(/<Deleted><Key>(.*?)<\/Key><\/Deleted>/g)].map(([, key]) => key);
  return { ...answer, deleted };
}

const object = (key: string, more = '') => `<Object><Key>${key}</Key>${more}</Object>`;
const deletion = (objects: string, more = '') =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${objects}${more}</Delete>`;

describe('deletes nothing', () => {
  test.each<[string, string, number, string]>([
    ['without a key', deletion(''), 400, 'MalformedXML'],
    ['with an empty key', deletion(object('a') + object('')), 400, 'MalformedXML'],
    ['with an object without a key', deletion(`${object('a')}<Object></Object>`), 400, 'MalformedXML'],
    ['with two keys in an object', deletion(object('a', '<Key>kept</Key>')), 400, 'MalformedXML'],
    ['with a key outside of an object', deletion(object('a'), '<Key>kept</Key>'), 400, 'MalformedXML'],
    ['with more than 1,000 keys', deletion(object('a').repeat(1001)), 400, 'MalformedXML'],
    ['with another document', '<Remove><Object><Key>a</Key></Object></Remove>', 400, 'MalformedXML'],
    ['with half a document', deletion(object('a')).slice(0, -5), 400, 'MalformedXML'],
    ['with elements of no meaning', deletion(object('a'), '<Force>true</Force>'), 400, 'MalformedXML'],
    ['with a version', deletion(object('a') + object('kept', '<VersionId>1</VersionId>')), 501, 'NotImplemented'],
    ['with a condition', deletion(object('a', '<ETag>"1"</ETag>')), 501, 'NotImplemented'],
  ])('%s', async (_what, body, status, code) => {
    expect(await send(body)).toMatchObject({ status, code });
    expect(left()).toEqual(there);
  });

  test.each<[string, Record<string, string>, string]>([
    ['without a digest', {}, 'InvalidRequest'],
    ['with the MD5 of something else', md5('else'), 'BadDigest'],
    ['with the CRC32 of something else', { 'x-amz-checksum-crc32': 'AAAAAA==' }, 'BadDigest'],
  ])('%s', async (_what, headers, code) => {
    expect(await send(deletion(object('a')), headers)).toMatchObject({ status: 400, code });
    expect(left()).toEqual(there);
  });
});
