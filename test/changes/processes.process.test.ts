import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/changes/open-store.js';
import { hasPostgres, type Postgres, startPostgres } from '../support/postgres.js';
import { runs } from '../support/runs.js';
import { buildStoreProgram, type StoreProgram } from '../support/store-program.js';

/** Several processes that share a store, and are killed. */

let program: StoreProgram;
let folder: string;
let cloud: string;
const children = new Set<ChildProcess>();
beforeAll(async () => {
  program = await buildStoreProgram();
});
afterAll(() => program.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-processes-'));
  cloud = join(folder, 'sent');
  writeFileSync(cloud, '');
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const start = (place: string, ...keys: readonly string[]) => {
  const child = spawn(process.execPath, [program.path, place, cloud, ...keys], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.add(child.once('exit', () => children.delete(child)));
  return child;
};
/** The changes that reached the cloud, with their keys. */
const sent = () =>
  readFileSync(cloud, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' ', 1)[0] ?? '');
const keysSent = () =>
  readFileSync(cloud, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => line.slice(line.indexOf(' ') + 1));
const statesIn = async (place: string) => {
  const store = await openStore(place, () => new Date()).openChanges();
  const states = new Map<string, string>();
  for await (const { id, state } of store.read({})) states.set(id, state);
  return { store, states };
};

const describeProcesses = (placeOf: (name: string) => string) => {
  test('of four processes that race for fifty equal changes, each is sent once', async () => {
    const place = placeOf('race');
    const racing = Array.from({ length: 4 }, () => start(place, '50'));
    const codes = await Promise.all(racing.map(async (child) => (await once(child, 'exit'))[0]));
    expect(codes).toEqual([0, 0, 0, 0]);
    expect(keysSent()).toHaveLength(50);
    expect(new Set(keysSent()).size).toBe(50);
    const { store, states } = await statesIn(place);
    expect([...states.values()].filter((state) => state === 'accepted')).toHaveLength(50);
    expect(sent().map((id) => states.get(id))).toEqual(Array(50).fill('accepted'));
    await store.close();
  });

  test('of processes that are killed at random moments, nothing is lost, sent twice, or said not to be sent that was', async () => {
    const place = placeOf('kills');
    const kill = async () => {
      const before = readFileSync(cloud).length;
      const child = start(place);
      // It carries out changes by now.
      while (readFileSync(cloud).length === before) await delay(5);
      await delay(Math.random() * 50);
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
    const kills = runs(200);
    // Two processes at a time, so that one is killed while the other writes.
    const many = async (count: number) => {
      for (let index = 0; index < count; index += 1) await kill();
    };
    await Promise.all([many(Math.ceil(kills / 2)), many(Math.floor(kills / 2))]);

    const { store, states } = await statesIn(place);
    const all = sent();
    expect(new Set(all).size).toBe(all.length);
    for (const id of all) expect(['begun', 'accepted', 'unknown']).toContain(states.get(id));
    // The system knows that the processes are gone.
    await store.recover();
    const recovered = (await statesIn(place)).states;
    for (const id of all) expect(['accepted', 'unknown']).toContain(recovered.get(id));
    for (const state of recovered.values()) expect(['accepted', 'unknown', 'not sent']).toContain(state);
    expect(await store.recover()).toEqual([]);
    await store.close();
  });
};

describe('with a store in a file', () => {
  describeProcesses((name) => join(folder, `${name}.db`));
});

describe.skipIf(!hasPostgres())('with a store in PostgreSQL', () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.remove());
  describeProcesses((name) => postgres.url(name));
});
