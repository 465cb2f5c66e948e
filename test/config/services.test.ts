import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { loadOperationFiles } from '../../src/cli/load-operation-files.js';
import { noOwnOperations, withModels } from '../../src/config/own-operations.js';
import type { OwnOperations } from '../../src/models/load-operations.js';
import { findModels } from '../../src/models/service-sources.js';
import { load, problems } from '../support/config.js';

/** Services need a name and the path of a model. Models are not read at the start, so the files here have nothing in them. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-services-'));
afterAll(() => rmSync(folder, { recursive: true }));

function written(name: string, content: unknown = { smithy: '2.0' }): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const fileWith = (services: object) => loadOperationFiles(written('my.operations.json', { services }));
const loadModelFolder = async (path: string, own: OwnOperations) => withModels(own, await findModels(path));
const texts = ({ problems: found }: OwnOperations) => found.map(({ text }) => text);

describe('in a file of operations', () => {
  written('disks.json');

  test('a model is enough', async () => {
    const own = await fileWith({ disks: { model: './disks.json' } });
    expect(texts(own)).toEqual([]);
    expect(own.services?.get('disks')).toMatchObject({ folder, model: './disks.json', api: 'disks' });
    const result = load({ CLOUDOPS_ENDPOINT_DISKS_URL: 'https://disks.example.com' }, {}, own);
    expect(result.ok && result.config.accounts.all[0]?.endpoints).toMatchObject({
      disks: 'https://disks.example.com',
    });
  });

  test.each<[string, object, RegExp]>([
    ['a name with other characters', { 'EC 2': { model: './disks.json' } }, /"EC 2" must be lowercase letters/],
    ['no model', { disks: {} }, /services\.disks\.model: is missing/],
    ['a model that is not there', { disks: { model: './disk.json' } }, /services\.disks: its model .*cannot be found/],
    ['an unknown setting', { disks: { model: './disks.json', prefix: 'd' } }, /"?prefix"? is not a field/],
    [
      'a wrong effect',
      { disks: { model: './disks.json', operations: { A: { effect: 'write' } } } },
      /must be read, create/,
    ],
  ])('%s is a problem', async (_what, services, problem) => {
    expect(texts(await fileWith(services)).join()).toMatch(problem);
  });
});

describe('CLOUDOPS_MODELS', () => {
  test('has a service for each model, by file or by folder of botocore, whose newest date counts', async () => {
    for (const name of [
      'dns.json.gz',
      's3-2006-03-01.json',
      'my.operations.json',
      'paginators-1.json',
      'endpoints.json',
    ])
      written(`models/${name}`);
    for (const date of ['2014-10-31', '2016-11-15']) written(`models/ec2/${date}/service-2.json`);
    const { services, problems: found } = await loadModelFolder(join(folder, 'models'), noOwnOperations);
    expect(found).toEqual([]);
    const rows = [...(services ?? [])].map(([name, { model, api }]) => [name, model, api]);
    expect(rows.sort()).toEqual([
      ['dns', 'dns.json.gz', 'dns'],
      ['ec2', 'ec2/2016-11-15/service-2.json', 'ec2'],
      ['s3', 's3-2006-03-01.json', 'storage'],
    ]);
  });

  test('says which files are ignored, and follows links', async () => {
    for (const name of ['S3.json', 's3.json', '.json', 'dns-2012-12-12.json', 'dns-2013-12-16.json'])
      written(`odd/${name}`);
    written('elsewhere/2016-11-15/service-2.json');
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'odd', 'ec2'));
    symlinkSync(join(folder, 'gone'), join(folder, 'odd', 'gone'));
    const { services, notes } = await loadModelFolder(join(folder, 'odd'), noOwnOperations);
    expect([...(services ?? [])].map(([name, { model }]) => [name, model])).toEqual([
      ['s3', 's3.json'],
      ['dns', 'dns-2013-12-16.json'],
      ['ec2', 'ec2/2016-11-15/service-2.json'],
    ]);
    expect(notes?.map(({ text }) => text)).toEqual([
      'CLOUDOPS_MODELS: ".json" is ignored, because its name has no letters or digits.',
      'CLOUDOPS_MODELS: "gone" is ignored, because it cannot be read (ENOENT: there is no such file).',
      'CLOUDOPS_MODELS: "S3.json" is ignored, because "s3.json" is also the service s3.',
    ]);
  });

  test('leaves a service with settings to its file', async () => {
    const own = await fileWith({ dns: { model: './disks.json', region: 'jp-east-1' } });
    const { services } = await loadModelFolder(join(folder, 'models'), own);
    expect(services?.get('dns')?.model).toBe('./disks.json');
    expect(services?.has('ec2')).toBe(true);
  });

  test.each([
    ['a folder without models', 'empty', /has no models/],
    ['no folder', 'nowhere', /cannot be read \(ENOENT/],
  ])('%s is a problem', async (_what, name, problem) => {
    mkdirSync(join(folder, 'empty'), { recursive: true });
    expect(texts(await loadModelFolder(join(folder, name), noOwnOperations)).join()).toMatch(problem);
  });
});

describe('CLOUDOPS_TOOLS', () => {
  const own: OwnOperations = {
    ...noOwnOperations,
    services: new Map([['disks', { folder, model: './disks.json', api: 'disks', settings: { useHostPrefix: false } }]]),
  };
  test.each([
    ['disks:Describe*', []],
    ['*:Describe*', []],
    ['list_parts,disks:*', []],
    ['disk:Describe*', [expect.stringContaining('names "disk:Describe*", which is not a tool')]],
    [
      'disks',
      [
        expect.stringMatching(
          /names "disks", which is not a tool; the tools are list_parts,.*, and patterns such as "disks:Describe\*" are for the services disks\.$/,
        ),
      ],
    ],
  ])('%s', (tools, expected) => {
    expect(problems({ CLOUDOPS_TOOLS: tools }, {}, own)).toEqual(expected);
  });

  test('counts the services that the sentence does not name', () => {
    const services = new Map(
      [...(own.services ?? [])].flatMap(([, source]) =>
        Array.from({ length: 15 }, (_, index) => [`s${index}`, source] as const),
      ),
    );
    expect(problems({ CLOUDOPS_TOOLS: 'disks' }, {}, { ...own, services })).toEqual([
      expect.stringMatching(/ are for the services s0, .*s11 and 3 more\.$/),
    ]);
  });

  test('with only patterns leaves tools to offer, if there are services', () => {
    expect(problems({ CLOUDOPS_TOOLS: 'disks:*', CLOUDOPS_READ_ONLY: '1' }, {}, own)).toEqual([]);
  });

  test.each([
    ['disks:DescribeVolumes', []],
    ['disks:Describe*', []],
    ['disks:*', [expect.stringMatching(/names "disks:\*", which CLOUDOPS_TOOLS leaves out/)]],
  ])('an account may narrow disks:Describe* to %s', (tools, expected) => {
    const accounts = JSON.stringify({ accounts: { prod: { tools: [tools] } } });
    const env = { CLOUDOPS_TOOLS: 'disks:Describe*', CLOUDOPS_ACCOUNTS_FILE: '/a.json' };
    expect(problems(env, { '/a.json': accounts }, own)).toEqual(expected);
  });
});
