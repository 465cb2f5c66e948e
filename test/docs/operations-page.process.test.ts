import { execFile } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type Newcomer, newcomer } from '../support/newcomer.js';

/** docs/OPERATIONS.md, followed in an empty folder: its files are written, its commands are run in a shell. */

const run = promisify(execFile);
const guide = readFileSync('docs/OPERATIONS.md', 'utf8');
const chapter = (heading: string) => {
  const [, text = ''] = guide.split(new RegExp(`^## ${heading}\n`, 'm'));
  const [page = ''] = text.split(/^## /m);
  const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));
  return { page, blocks };
};
const fromModel = chapter('From a model');
const { page, blocks } = chapter('An API without a model');

let home: Newcomer;
beforeAll(() => {
  home = newcomer();
  cpSync('examples/operations', join(home.folder, 'examples/operations'), { recursive: true });
});
afterAll(() => home.remove());

const inFolder = async (commands = '') => run('sh', ['-ec', commands], { cwd: home.folder, env: home.env });

describe('from a model', () => {
  const [draft, decided, use] = fromModel.blocks;

  test('its commands draft files that pass the check as they are', async () => {
    await inFolder(draft?.text);
    const drafted = JSON.parse(readFileSync(join(home.folder, 'my.operations.json'), 'utf8'));
    const { effect, costsMoney, ...added } = JSON.parse(decided?.text ?? '').operations.DeleteObjects;
    expect(drafted.operations.DeleteObjects).toEqual({ effect, costsMoney });
    Object.assign(drafted.operations.DeleteObjects, added);
    expect(drafted).toEqual(JSON.parse(decided?.text ?? ''));
    for (const [name, count] of [
      ['all', 5],
      ['my', 2],
    ]) {
      const { stdout } = await inFolder(`cloudops-mcp operations check ${name}.operations.json`);
      expect(stdout).toContain(`\noperations: ${count}, problems: 0\n`);
    }
  });

  test('the decided file passes the check, and its tools work in the sandbox', async () => {
    writeFileSync(join(home.folder, 'my.operations.json'), decided?.text ?? '');
    const { stdout } = await inFolder(use?.text);
    expect(stdout).toContain('\noperations: 2, problems: 0\n');
    expect(stdout).toMatch(/^s3_list_objects_v2 {2}\(storage, read/m);
    expect(stdout).toMatch(/^ListObjectsV2 /m);
    expect(stdout).toMatch(/^DeleteObjects was accepted: 1 in Deleted: "old\.csv"\.$/m);
  });
});

test('a model in a folder is enough to call its operations in the sandbox', async () => {
  const { stdout } = await inFolder(chapter('A whole service').blocks[0]?.text);
  expect(stdout).toMatch(/^ListObjectsV2 succeeded/m);
});

test('without a model, a small one is written, and its tools work in the sandbox', async () => {
  const { stdout } = await inFolder(blocks.at(-1)?.text);
  const [checked = '', called] = stdout.split(/(?<=^operations: .*\n)/m);
  expect(checked).toMatch(/\noperations: 2, problems: 0\n$/);
  expect(called).toMatch(/^ListResourceGroups succeeded: 1 in groups: "demo-group"\.$/m);
  expect(called).toContain('GetResourceGroup succeeded: status "provisioned", name "demo-group".');
});

test('the documentation that the page quotes is what the small model has', () => {
  const quoted = [...page.matchAll(/^> \*\*(\w+)\*\* `(\w+) ([^`]+)`/gm)].map(([, name, method, uri]) => [
    name,
    method,
    uri,
  ]);
  const { shapes } = z
    .object({ shapes: z.record(z.string(), z.looseObject({ traits: z.record(z.string(), z.unknown()).default({}) })) })
    .parse(JSON.parse(readFileSync('examples/operations/groups-model.json', 'utf8')));
  for (const [name, method, uri] of quoted)
    expect(shapes[`example.groups#${name}`]?.traits['smithy.api#http']).toEqual({ method, uri });
  expect(quoted).toHaveLength(2);
});
