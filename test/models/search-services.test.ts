import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createServiceSearch } from '../../src/models/search-services.js';
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
  writeFileSync(join(models, 'broken.json'), '{}');
});
afterAll(() => {
  for (const each of [folder, models]) rmSync(each, { recursive: true });
});

/** A new process. Returns the operations that it finds, and the events of its log. */
async function find(words: string) {
  const events: string[] = [];
  const { services } = await findModels(models);
  const search = createServiceSearch(services, {
    version: '1',
    cacheFolder: () => folder,
    log: (level, _event, { service, indexed } = {}) => void events.push(`${level} ${String(service ?? indexed)}`),
  });
  const state = await search();
  if (state.kind === 'building') throw new Error('the index is not ready');
  const found = state.search.search({ words }, () => true);
  const names = found.kind === 'found' ? found.operations.map(({ entry }) => entry.operation) : [];
  return { names, events };
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
  expect(await find('delete volume')).toEqual({ names: expect.arrayContaining(['DeleteVolume']), events: [] });
});

test('it is built again after a change of a model', async () => {
  await find('delete volume');
  write('disks', 'DescribeVolumes', 'DeleteVolume', 'AttachVolume');
  const { names, events } = await find('attach volume');
  expect(names[0]).toBe('AttachVolume');
  expect(events).not.toEqual([]);
});
