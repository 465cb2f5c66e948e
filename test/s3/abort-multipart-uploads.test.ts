import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CreateBucketCommand, ListMultipartUploadsCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { afterAll, expect, test } from 'vitest';
import * as z from 'zod';
import { openStore } from '../../src/changes/open-store.js';
import { startRelay } from './relay.js';
import { connect, s3, startUpload, store } from './store.js';

/** abort_multipart_uploads on a store, with a server that is killed while it aborts, and another one beside it. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-aborts-'));
afterAll(() => {
  s3.destroy();
  rmSync(folder, { recursive: true, force: true });
});

const planned = z.object({ changeId: z.string() });
/** The sandbox and Swift are tried in small. */
const count = store.name === 'radosgw' ? 1000 : 60;
/** Uploads that stay. `UPLOADS_KEPT=9000 BUCKETS=50` tries a large store, which takes minutes. */
const keptCount = Number(process.env.UPLOADS_KEPT ?? 20);
const buckets = Array.from({ length: Number(process.env.BUCKETS ?? 10) }, (_, index) => `aborts-${index}`);

async function fill() {
  for (const Bucket of buckets) await s3.send(new CreateBucketCommand({ Bucket }));
  const jobs = Array.from({ length: count + keptCount }, (_, index) => index);
  const work = async () => {
    for (let index = jobs.pop(); index !== undefined; index = jobs.pop()) {
      const [Bucket = '', Key] = [buckets[index % buckets.length], index < count ? `old/${index}` : `kept/${index}`];
      const UploadId = await startUpload(Bucket, Key);
      if (index % 10 === 0) await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: 'x' }));
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
}

async function* pagesOf(Bucket: string) {
  let markers = {};
  for (;;) {
    const page = await s3.send(new ListMultipartUploadsCommand({ Bucket, ...markers }));
    yield page;
    if (page.IsTruncated !== true) return;
    markers = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
  }
}

async function openKeys() {
  const keys: string[] = [];
  for (const Bucket of buckets) {
    for await (const { Uploads = [] } of pagesOf(Bucket)) keys.push(...Uploads.map(({ Key = '' }) => Key));
  }
  return keys;
}

test('of many uploads, each is aborted once, no other is, and the journal says how each ended, although a server is killed', async () => {
  await fill();
  const relay = await startRelay(store.endpoint);
  const journal = join(folder, 'journal.db');
  const env = { CLOUDOPS_STORAGE_URL: relay.origin, CLOUDOPS_JOURNAL: journal };
  const [first, second] = [await connect(env), await connect(env)];

  for (const [prefix, open] of Object.entries({ 'old/': count, 'kept/': keptCount })) {
    const { answer } = await first.call('list_multipart_uploads', { prefix });
    expect(answer).toMatchObject({ uploadCount: open });
  }

  const { structured, text } = await first.call('abort_multipart_uploads', { prefix: 'old/', includeActive: true });
  const { changeId } = planned.parse(structured);
  expect(text).toContain(`Abort ${count} unfinished uploads in ${buckets.length} buckets`);
  const aborts = () => relay.exchanges.filter(({ request }) => request.startsWith('DELETE '));
  const killed = new Promise<number>((resolve) => {
    relay.onAnswer = () => {
      if (aborts().length < count / 3) return;
      relay.onAnswer = () => undefined;
      first.kill();
      resolve(aborts().length);
    };
  });
  await Promise.race([
    first.call('confirm_change', { changeId, thing: `abort ${count}` }).catch(() => undefined),
    killed,
  ]);
  expect(await killed).toBeLessThan(count);

  // The other server notices within a minute, without anybody asking.
  let end = await second.call('get_change', { changeId });
  for (let tries = 0; tries < 60 && /is being carried out|outcome is not known yet/.test(end.text); tries += 1) {
    await delay(2000);
    end = await second.call('get_change', { changeId });
  }
  expect(end.text).toMatch(/uploads were aborted, and seen to be gone\./);
  const { done, gone } = z.object({ done: z.int(), gone: z.int() }).parse(end.answer);
  expect([done + gone, (await openKeys()).every((key) => key.startsWith('kept/'))]).toEqual([count, true]);
  expect(await openKeys()).toHaveLength(keptCount);

  const paths = aborts().map(({ request }) => request);
  const twice = paths.length - new Set(paths).size;
  process.stdout.write(
    `${store.name}: ${count} aborted, ${done} seen to be gone, ${gone} gone already, ${twice} sent twice\n`,
  );
  expect(new Set(paths).size).toBe(count);
  // Only what was under way at the moment of the kill may have been sent again.
  expect(twice).toBeLessThanOrEqual(8);

  const changes = await openStore(journal, () => new Date()).openChanges();
  const states: Record<string, number> = {};
  for await (const { tool, state } of changes.read({}))
    states[`${tool} ${state}`] = (states[`${tool} ${state}`] ?? 0) + 1;
  await changes.close();
  expect(states).toMatchObject({ 'abort_multipart_uploads accepted': 1 });
  const { 'abort_multipart_upload accepted': accepted = 0, 'abort_multipart_upload rejected': rejected = 0 } = states;
  expect([accepted + rejected, rejected <= 8]).toEqual([count, true]);
  await Promise.all([first.close(), second.close(), relay.close()]);
}, 900_000);
