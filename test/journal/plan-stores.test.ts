import { randomBytes, randomUUID } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPlanFiles } from '../../src/journal/plan-files.js';
import { createMemoryPlanStore } from '../../src/journal/plan-store.js';
import { describePlanStore } from './plan-store-contract.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-plans-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describePlanStore('in memory', () => {
  const store = createMemoryPlanStore();
  return () => store;
});
describePlanStore('in files', () => () => createPlanFiles(join(folder, 'deep', 'plans')));

test('a nonce is there once in memory', async () => {
  const store = createMemoryPlanStore();
  const one = { nonce: '1'.repeat(16), owner: 'a'.repeat(16), expiresAt: 1, sealed: 'first' };
  expect(await store.add(one, 20)).toBe(true);
  expect(await store.add({ ...one, owner: 'b'.repeat(16), sealed: 'second' }, 20)).toBe(false);
  expect(await store.list()).toEqual([{ ...one, state: 'waiting' }]);
});

describe('files', () => {
  const plan = () => ({ nonce: randomBytes(8).toString('hex'), owner: 'a'.repeat(16), sealed: 'sealed' });
  const expiresAt = Date.parse('2026-11-21T12:00:00Z');
  const nameOf = (nonce: string) => `${'a'.repeat(16)}-${nonce}-${expiresAt}.waiting`;

  test('are nothing where there is no folder yet, which nobody makes before the first plan', async () => {
    const store = createPlanFiles(join(folder, 'plans'));
    expect(await store.find('0'.repeat(16))).toBeUndefined();
    expect(await store.countWaiting(0)).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('in a folder that cannot be read are an error, not nothing', async () => {
    writeFileSync(join(folder, 'plans'), 'a file');
    const store = createPlanFiles(join(folder, 'plans'));
    await expect(store.list()).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  test('are complete, or not there', async () => {
    const store = createPlanFiles(folder);
    const one = plan();
    await store.add({ ...one, expiresAt }, 20);
    await store.claim(one.nonce, 'claimed');
    await store.update(one.nonce, 'the end');
    expect(readdirSync(folder)).toEqual([nameOf(one.nonce).replace('waiting', 'decided')]);
  });

  test.each([
    ['as large as any that can be shown', 1024 * 1024, true],
    ['larger', 1024 * 1024 + 1, false],
  ])('that are %s are read: %s', async (_what, length, isRead) => {
    const { nonce } = plan();
    writeFileSync(join(folder, nameOf(nonce)), 'x'.repeat(length));
    const store = createPlanFiles(folder);
    expect((await store.find(nonce)) !== undefined).toBe(isRead);
    expect(await store.list()).toHaveLength(isRead ? 1 : 0);
  });

  test.each(['x%', '%x', '%.bak'])('whose name only resembles that of a plan are none: %s', async (pattern) => {
    const { nonce } = plan();
    writeFileSync(join(folder, pattern.replace('%', nameOf(nonce))), 'sealed');
    const store = createPlanFiles(folder);
    expect(await store.list()).toEqual([]);
    expect(await store.claim(nonce, 'claimed')).toBe(false);
  });

  test('are decided in whatever folder they are', async () => {
    const store = createPlanFiles(join(folder, 'waiting'));
    const { nonce, ...rest } = plan();
    await store.add({ nonce, ...rest, expiresAt }, 20);
    expect(await store.claim(nonce, 'claimed')).toBe(true);
    expect(await store.find(nonce)).toMatchObject({ state: 'decided' });
  });

  test('that cannot be erased stop no other', async () => {
    const [one, other] = [plan(), plan()];
    for (const { nonce } of [one, other]) writeFileSync(join(folder, nameOf(nonce)), 'sealed');
    rmSync(join(folder, nameOf(one.nonce)));
    mkdirSync(join(folder, nameOf(one.nonce)));
    await createPlanFiles(folder).eraseBefore(expiresAt + 1);
    expect(readdirSync(folder)).toEqual([nameOf(one.nonce)]);
  });

  test.skipIf(process.platform === 'win32')('are readable by their owner alone', async () => {
    await createPlanFiles(join(folder, 'plans')).add({ ...plan(), expiresAt }, 20);
    const [name = ''] = readdirSync(join(folder, 'plans'));
    expect(statSync(join(folder, 'plans')).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'plans', name)).mode & 0o777).toBe(0o600);
  });

  test('that were left half-written are no plans, and are erased at their end', async () => {
    const store = createPlanFiles(folder);
    const { nonce } = plan();
    const draft = `${'a'.repeat(16)}-${nonce}-${expiresAt}.waiting.${randomUUID()}`;
    writeFileSync(join(folder, draft), 'seal');
    expect(await store.find(nonce)).toBeUndefined();
    expect(await store.countWaiting(0)).toBe(0);
    await store.eraseBefore(expiresAt);
    expect(readdirSync(folder)).toEqual([draft]);
    await store.eraseBefore(expiresAt + 1);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('of others in the folder are left alone, and links are not followed', async () => {
    const store = createPlanFiles(folder);
    const { nonce } = plan();
    writeFileSync(join(folder, 'notes.txt'), 'mine');
    symlinkSync(join(folder, 'notes.txt'), join(folder, `${'a'.repeat(16)}-${nonce}-${expiresAt}.waiting`));
    expect(await store.find(nonce)).toBeUndefined();
    expect(await store.list()).toEqual([]);
    await store.eraseBefore(expiresAt + 1);
    expect(readdirSync(folder)).toEqual(['notes.txt']);
    expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('mine');
  });
});
