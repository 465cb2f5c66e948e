import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPlanFiles } from '../../src/consent/plan-files.js';
import { createMemoryPlanStore } from '../../src/consent/plan-store.js';
import { createPlans, type WaitingPlan } from '../../src/consent/plans.js';
import { say } from '../../src/util/say.js';
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

describe('files', () => {
  const plan = () => ({ nonce: randomBytes(8).toString('hex'), owner: 'a'.repeat(16), sealed: 'sealed' });
  const expiresAt = Date.parse('2026-11-21T12:00:00Z');

  test.skipIf(process.platform === 'win32')('are readable by their owner alone', async () => {
    await createPlanFiles(join(folder, 'plans')).add({ ...plan(), expiresAt }, 20);
    const [name = ''] = readdirSync(join(folder, 'plans'));
    expect(statSync(join(folder, 'plans')).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'plans', name)).mode & 0o777).toBe(0o600);
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

describe('what waits is sealed', () => {
  const keys = ['k'.repeat(32)] as const;
  const time = Date.parse('2026-11-21T12:00:00Z');
  const now = () => new Date(time);
  const waiting: WaitingPlan = {
    nonce: '0123456789abcdef',
    digest: 'd'.repeat(32),
    requestKey: 'r',
    repeats: false,
    issuedAt: time,
    tool: 'restore_instance',
    args: { instanceId: 'wiki' },
    caller: 'alice',
    client: 'test 1',
    plan: {
      summary: say`Create server wiki.`,
      method: 'POST',
      url: 'https://devops.example.com/v1/instances:restore',
      headers: {},
      where: [],
      consequences: [],
      defaults: [],
      warnings: [],
      notChecked: [],
      risks: [],
    },
    accept: say`Create server wiki`,
  };
  const open = (key: string = keys[0], lifetimeMs = 1000) =>
    createPlans({ store: createPlanFiles(folder), keys: [key], now, lifetimeMs });

  test('and comes back as it was, to any process with the key', async () => {
    expect(await open().add(waiting)).toBe(true);
    expect(await open().find(waiting.nonce)).toEqual({ ...waiting, state: 'waiting', expiresAt: time + 1000 });
    for (const name of readdirSync(folder)) {
      const written = name + readFileSync(join(folder, name), 'utf8');
      for (const word of ['alice', 'wiki', 'restore']) expect(written).not.toContain(word);
    }
  });

  test('and is nothing with another key, altered, or under the name of another plan', async () => {
    await open().add(waiting);
    expect(await open('o'.repeat(32)).find(waiting.nonce)).toBeUndefined();
    expect(await open('o'.repeat(32)).claim(waiting.nonce)).toBe('unknown');
    const [name = ''] = readdirSync(folder);
    const path = join(folder, name);
    const sealed = readFileSync(path, 'utf8');
    const other = 'fedcba9876543210';
    writeFileSync(join(folder, name.replace(waiting.nonce, other)), sealed);
    expect(await open().find(other)).toBeUndefined();
    writeFileSync(path, `${sealed.slice(0, 30)}${sealed[30] === 'A' ? 'B' : 'A'}${sealed.slice(31)}`);
    expect(await open().find(waiting.nonce)).toBeUndefined();
    expect(await open().list()).toEqual([]);
  });

  test('and is erased at its end', async () => {
    await open(keys[0], -1).add(waiting);
    expect(await open().find(waiting.nonce)).toBeUndefined();
    await open().list();
    expect(readdirSync(folder)).toEqual([]);
  });
});
