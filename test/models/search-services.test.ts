import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createServiceSearch, type GivenEffects } from '../../src/models/search-services.js';
import { findModels } from '../../src/models/service-sources.js';
import { smallModelJson } from './small-model.js';

/** The index of the search is built at the first search after a change of the models. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-index-'));
const models = mkdtempSync(join(tmpdir(), 'cloudops-models-'));
const write = (service: string, ...operations: string[]) =>
  writeFileSync(
    join(models, `${service}.json`),
    JSON.stringify(smallModelJson(Object.fromEntries(operations.map((name) => [name, {}])), {}, 'awsJson1_1')),
  );
beforeAll(() => {
  write('disks', 'DescribeVolumes', 'DeleteVolume');
  writeFileSync(join(models, 'broken.json'), JSON.stringify({ smithy: '2.0', shapes: {}, padding: ' '.repeat(100) }));
});
afterAll(() => {
  for (const each of [folder, models]) rmSync(each, { recursive: true });
});

/** A new process. Returns the operations that it finds, and the events of its log. */
async function start(effects: GivenEffects = new Map()) {
  const events: string[] = [];
  const { services } = await findModels(models);
  const search = createServiceSearch(services, effects, {
    version: '1',
    cacheFolder: () => folder,
    log: (level, _event, { service, indexed } = {}) => void events.push(`${level} ${String(service ?? indexed)}`),
  });
  return { search, events };
}

async function find(words: string, effects?: GivenEffects) {
  const { search, events } = await start(effects);
  const state = await search.search();
  if (state.kind === 'building') throw new Error('the index is not ready');
  const found = state.search.search({ words }, () => true);
  const entries = found.kind === 'found' ? found.operations.map(({ entry }) => entry) : [];
  return { names: entries.map(({ operation }) => operation), effects: entries.map(({ effect }) => effect), events };
}

test('a model that cannot be used is logged and left out', async () => {
  const { names, events } = await find('delete volume');
  expect(names[0]).toBe('DeleteVolume');
  expect(events).toContain('warn broken');
});

test('the index is kept in a file that only this user can read, and is not built again', async () => {
  await find('delete volume');
  const [file = ''] = readdirSync(folder);
  expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
  expect(await find('delete volume')).toMatchObject({ names: expect.arrayContaining(['DeleteVolume']), events: [] });
});

test('it is built again after a change of a model', async () => {
  await find('delete volume');
  write('disks', 'DescribeVolumes', 'DeleteVolume', 'AttachVolume');
  const { names, events } = await find('attach volume');
  expect(names[0]).toBe('AttachVolume');
  expect(events).not.toEqual([]);
});

test('it is built in the background, unless it is there', async () => {
  await find('delete volume');
  const cached = await start();
  await cached.search.prepare();
  expect(cached.events).toEqual([]);
  write('disks', 'DescribeVolumes', 'DeleteVolume', 'DetachVolume');
  const { search, events } = await start();
  await search.prepare();
  await vi.waitFor(() => expect(events).toContain('info 2'));
});

test('it has the effects that settings give', async () => {
  expect((await find('delete volume')).effects[0]).toBe('delete');
  const effects = new Map([['disks:DeleteVolume', 'alter'] as const]);
  expect((await find('delete volume', effects)).effects[0]).toBe('alter');
});
