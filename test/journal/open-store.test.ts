import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore } from '../../src/journal/open-store.js';
import { intentAt } from '../support/journal.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-store-'));
  path = join(folder, 'journal.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));
const now = () => new Date('2026-11-20T12:00:00Z');

test('a path is a store in files: the journal, and plans in a folder beside it', async () => {
  const store = openStore(path, now);
  expect([store.name, store.path, store.openDatabase]).toEqual([path, path, undefined]);
  const journal = await store.openJournal();
  const plans = await store.openPlans();
  await store.migrate();
  expect(readdirSync(folder)).toEqual([]);
  const intent = intentAt(now().getTime());
  expect(await journal.begin(intent, { allowRepeat: false })).toEqual({ kind: 'begun' });
  const plan = { nonce: '1'.repeat(16), owner: 'a'.repeat(16), expiresAt: now().getTime(), sealed: 'sealed' };
  expect(await plans.add(plan, 1)).toBe(true);
  expect(readdirSync(folder).sort()).toEqual(['journal.jsonl', 'journal.jsonl.plans']);
  expect(await (await openStore(path, now).openJournal()).list({})).toEqual([intent]);
  expect(await (await openStore(path, now).openPlans()).list()).toMatchObject([{ nonce: plan.nonce }]);
  await Promise.all([journal.close(), plans.close()]);
});

test('a clock that was set is noticed by the uptime of the machine', async () => {
  const events: unknown[] = [];
  let time = now().getTime();
  const store = openStore(path, () => new Date(time), { log: (...event) => events.push(event) });
  const journal = await store.openJournal();
  await journal.findDuplicate('same');
  time += 3_600_000;
  await journal.findDuplicate('same');
  expect(events).toEqual([['warn', 'clock', { problem: 'the clock of this server was set forward by 3600 s' }]]);
});

test('an address is a store in a database, which is reached when something needs it', async () => {
  const store = openStore('postgres://user:secret@127.0.0.1:1/cloudops', now);
  expect([store.name, store.path]).toEqual(['postgres://127.0.0.1:1/cloudops', undefined]);
  const journal = await store.openJournal();
  const plans = await store.openPlans();
  expect((await store.openDatabase?.())?.name).toBe(store.name);
  expect(await journal.begin(intentAt(now().getTime()), { allowRepeat: false })).toEqual({
    kind: 'unwritable',
    reason: `${store.name}: ECONNREFUSED`,
  });
  for (const work of [journal.healthCheck(), plans.list(), store.migrate()]) await expect(work).rejects.toThrow();
  await Promise.all([journal.close(), plans.close()]);
  expect(existsSync('postgres:')).toBe(false);
});
