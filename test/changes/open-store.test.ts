import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/changes/open-store.js';
import { newChange } from '../support/changes.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-store-'));
  path = join(folder, 'journal.db');
});
afterEach(() => rmSync(folder, { recursive: true }));
const now = () => new Date('2026-11-20T12:00:00Z');
const lifetimeMs = 60_000;

test('a path is a store in a file, which is made when something is written', async () => {
  const store = openStore(path, now);
  expect([store.name, store.path]).toEqual([path, path]);
  const changes = await store.openChanges();
  await store.migrate();
  expect(await changes.recover()).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
  const { id, ...rest } = newChange();
  expect(await changes.add({ ...rest, id }, { lifetimeMs })).toMatchObject({ kind: 'added' });
  const other = await openStore(path, now).openChanges();
  expect(await other.find(id)).toMatchObject({ id, madeAt: now().getTime() });
  await Promise.all([changes.close(), other.close()]);
});

test('an address is a store in a database, which is reached when something needs it', async () => {
  const store = openStore('postgres://user:secret@127.0.0.1:1/cloudops', now);
  expect([store.name, store.path]).toEqual(['postgres://127.0.0.1:1/cloudops', undefined]);
  const changes = await store.openChanges();
  expect(await changes.add(newChange(), { lifetimeMs })).toEqual({
    kind: 'unwritable',
    reason: expect.stringMatching(/ECONNREFUSED$/),
  });
  for (const work of [changes.healthCheck(), changes.waiting({}), store.migrate()])
    await expect(work).rejects.toThrow();
  await changes.close();
  expect(existsSync('postgres:')).toBe(false);
});

describe('the start is stopped by', () => {
  const line = '{"intent":{"id":"a"}}\n';
  test.each([
    [
      'the journal of an earlier version',
      'journal.jsonl',
      () => writeFileSync(join(folder, 'journal.jsonl'), line),
      /no longer/,
    ],
    ['one under another name', 'changes', () => writeFileSync(join(folder, 'changes'), line), /not a journal/],
    [
      'one beside the default place',
      'journal.db',
      () => writeFileSync(join(folder, 'journal.jsonl'), line),
      /journal\.jsonl/,
    ],
    ['a text', 'journal.db', () => writeFileSync(path, 'text'), /not a journal/],
    ['a folder', 'journal.db', () => mkdirSync(path), /folder/],
    ['a FIFO', 'journal.db', () => execFileSync('mkfifo', [path]), /regular/],
    ['a device', '/dev/zero', () => undefined, /regular/],
  ])('%s, and by nothing that is just missing', (_what, name, make, reason) => {
    const place = name.startsWith('/') ? name : join(folder, name);
    if (!name.startsWith('/')) expect(openStore(place, now).path).toBe(place);
    make();
    expect(() => openStore(place, now)).toThrow(reason);
  });

  test('no empty file, and not by the null device', () => {
    writeFileSync(path, '');
    writeFileSync(join(folder, 'journal.jsonl'), '');
    expect(openStore(path, now).path).toBe(path);
    expect(openStore(devNull, now).path).toBe(devNull);
  });
});
