import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { createServiceSearch } from '../../../src/models/search/open-search.js';
import type { GivenEffects } from '../../../src/models/search/operation-index.js';
import { findModels } from '../../../src/models/service-sources.js';
import { smallModelJson } from '../small-model.js';

/** The index of the search is built at the first search after a change of the models, and cached. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-index-'));
const models = mkdtempSync(join(tmpdir(), 'cloudops-models-'));
const write = (service: string, ...operations: string[]) =>
  writeFileSync(
    join(models, `${service}.json`),
    JSON.stringify(smallModelJson(Object.fromEntries(operations.map((name) => [name, {}])), {}, 'awsJson1_1')),
  );
beforeEach(() => {
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  write('disks', 'DescribeVolumes', 'DeleteVolume');
  writeFileSync(join(models, 'broken.json'), JSON.stringify({ smithy: '2.0', shapes: {} }));
});
afterAll(() => {
  for (const each of [folder, models]) rmSync(each, { recursive: true });
});

interface Start {
  readonly effects?: GivenEffects;
  readonly version?: string;
  readonly cacheFolder?: string;
}

/** A new process. Returns its search, and the events of its log. */
async function start({ effects = new Map(), version = '1', cacheFolder = folder }: Start = {}) {
  const events: string[] = [];
  const { services } = await findModels(models);
  const search = createServiceSearch(services, effects, {
    version,
    cacheFolder: () => cacheFolder,
    log: (level, _event, { service, indexed } = {}) => void events.push(`${level} ${String(service ?? indexed)}`),
  });
  return { search, events };
}

async function find(words: string, options?: Start) {
  const { search, events } = await start(options);
  const state = await search.search();
  if (state.kind === 'building') throw new Error('the index is not ready');
  const found = state.search.search({ words }, () => true);
  const entries = found.kind === 'found' ? found.operations.map(({ entry }) => entry) : [];
  return { names: entries.map(({ operation }) => operation), effects: entries.map(({ effect }) => effect), events };
}

const files = () => readdirSync(folder).map((name) => join(folder, name));
const onlyFile = () => files()[0] ?? '';
const built = ['warn broken', 'info 2'];

test('a model that cannot be used is logged and left out', async () => {
  expect(await find('delete volume')).toMatchObject({ names: expect.arrayContaining(['DeleteVolume']), events: built });
});

test('the index is kept in a file that only this user can read, and finds the same at the next start', async () => {
  const first = await find('delete volume');
  if (process.platform !== 'win32') expect(statSync(onlyFile()).mode & 0o777).toBe(0o600);
  expect(await find('delete volume')).toEqual({ ...first, events: [] });
  expect(files()).toHaveLength(1);
});

test.each<[what: string, change: () => void, options?: Start]>([
  ['a model', () => write('disks', 'DescribeVolumes', 'AttachVolume')],
  ['the version', () => undefined, { version: '2' }],
  ['the file, which is cut', () => truncateSync(onlyFile(), 100)],
  ['the file, which has other data', () => writeFileSync(onlyFile(), `${readFileSync(onlyFile(), 'latin1')}x`)],
  ['the file, which others can change', () => chmodSync(onlyFile(), 0o666)],
])('it is built again after a change of %s', async (_what, change, options) => {
  await find('delete volume');
  change();
  expect((await find('delete volume', options)).events).toEqual(built);
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
  expect((await find('delete volume', { effects })).effects[0]).toBe('alter');
});

test('the index of an earlier version of the models is removed', async () => {
  for (const version of ['1', '2']) await find('delete volume', { version });
  expect(files()).toHaveLength(1);
  expect((await find('delete volume', { version: '2' })).events).toEqual([]);
});

test('an operation that a model describes wrongly is left out', async () => {
  const model = smallModelJson({ DescribeVolumes: {}, DeleteVolume: {} }, {}, 'awsJson1_1');
  const shapes = { ...model.shapes, 'small#DescribeVolumesInput': { type: 'cube' } };
  writeFileSync(join(models, 'disks.json'), JSON.stringify({ ...model, shapes }));
  expect((await find('volume')).names).toEqual(['DeleteVolume']);
});

test('without a folder that can be written, the index is built at each start', async () => {
  const { names } = await find('delete volume', { cacheFolder: join(models, 'disks.json', 'folder') });
  expect(names).toContain('DeleteVolume');
});

test('other work runs while the index is built', async () => {
  write('disks', ...Array.from({ length: 200 }, (_, index) => `DescribeThing${index}`));
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  });
  await find('things');
  clearInterval(timer);
  expect(turns).toBeGreaterThan(0);
});
