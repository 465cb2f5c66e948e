import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openSearch } from '../../../src/models/search/open-search.js';
import { smallModel } from '../small-model.js';
import { namesIn, servicesOf, smallCloud } from './small-search.js';

let cacheFolder = '';
beforeEach(() => {
  cacheFolder = mkdtempSync(join(tmpdir(), 'cloudops-search-'));
});
afterEach(() => rmSync(cacheFolder, { recursive: true }));

/** Opens the search, and returns which models were loaded for it. */
async function opened({ version = '1', fingerprint = '1' } = {}) {
  const loaded: string[] = [];
  const services = servicesOf(smallCloud).map(({ service, load }) => ({
    service,
    fingerprint,
    load: () => {
      loaded.push(service);
      return load();
    },
  }));
  const search = await openSearch({ services, version, cacheFolder });
  return { loaded, names: namesIn(search.search({ words: 'turn the machine off' }, () => true)) };
}

const files = () => readdirSync(cacheFolder).map((name) => join(cacheFolder, name));
const onlyFile = () => files()[0] ?? '';
const both = ['compute', 'storage'];

test('the index comes from the cache at the next start, and finds the same', async () => {
  const first = await opened();
  const second = await opened();
  expect(first.loaded).toEqual(both);
  expect(second.loaded).toEqual([]);
  expect(second.names).toEqual(first.names);
  expect(first.names[0]).toBe('compute:StopInstances');
  expect(files()).toHaveLength(1);
});

test.runIf(process.platform !== 'win32')('only this user can read the file', async () => {
  await opened();
  expect(statSync(onlyFile()).mode & 0o777).toBe(0o600);
});

test.each<[why: string, spoil: () => void]>([
  ['is cut', () => writeFileSync(onlyFile(), readFileSync(onlyFile(), 'utf8').slice(0, -20))],
  [
    'is of another set of models',
    () => writeFileSync(onlyFile(), readFileSync(onlyFile(), 'utf8').replace(/\w{64}/, '0')),
  ],
  [
    'has other data',
    () => writeFileSync(onlyFile(), readFileSync(onlyFile(), 'utf8').replace('"entries":[', '"entries":[1,')),
  ],
  ['can be changed by others', () => chmodSync(onlyFile(), 0o666)],
])('a file is not used if it %s', async (_why, spoil) => {
  await opened();
  spoil();
  expect((await opened()).loaded).toEqual(both);
});

test.each([{ version: '2' }, { fingerprint: '2' }])('the index is built again after a change of %j', async (change) => {
  await opened();
  expect((await opened(change)).loaded).toEqual(both);
});

test('indexes of four sets of models are kept', async () => {
  for (const version of ['1', '2', '3', '4']) await opened({ version });
  for (const [age, file] of files().entries()) utimesSync(file, age, age);
  await opened({ version: '5' });
  expect(files()).toHaveLength(4);
  expect((await opened({ version: '5' })).loaded).toEqual([]);
});

test('without a folder that can be written, the index is built at each start', async () => {
  const file = join(cacheFolder, 'file');
  writeFileSync(file, '');
  const search = await openSearch({
    services: servicesOf(smallCloud),
    version: '1',
    cacheFolder: join(file, 'folder'),
  });
  expect(search.search({ words: 'StopInstances' }, () => true).kind).toBe('found');
});

test('other work runs while the index is built, and progress is told for each service', async () => {
  const names = Array.from({ length: 200 }, (_, index) => [`DescribeThing${index}`, {}]);
  const cloud = { one: smallModel(Object.fromEntries(names)), two: smallModel({ DescribeOthers: {} }) };
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  });
  const onProgress = vi.fn();
  await openSearch({ services: servicesOf(cloud), version: '1', onProgress });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(0);
  expect(onProgress.mock.calls).toEqual([[{ services: 1, of: 2 }], [{ services: 2, of: 2 }]]);
});

test('a model that cannot be used is left out', async () => {
  const [compute, storage] = servicesOf(smallCloud);
  const services = [compute, storage].flatMap((service) => service ?? []);
  const broken = { service: 'broken', fingerprint: '1', load: () => Promise.resolve(undefined) };
  const search = await openSearch({ services: [broken, ...services], version: '1' });
  expect(search.search({ words: 'weather' }, () => true)).toMatchObject({ services: both });
});
