import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSecretFiles } from '../../src/calls/call-secrets.js';

/** Whoever may write into the folder of secrets may exchange a file between its check and its reading. */

const disk = vi.hoisted(() => ({
  /** What happens to the folder after each of its files was looked at. */
  afterRealpath: () => {},
  afterStat: () => {},
  opened: [] as FileHandle[],
}));

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  return {
    ...original,
    readdir: async (path: string) => (await original.readdir(path)).sort().reverse(),
    realpath: async (path: string) => {
      const result = await original.realpath(path);
      disk.afterRealpath();
      return result;
    },
    stat: async (path: string) => {
      const result = await original.stat(path);
      disk.afterStat();
      return result;
    },
    open: async (...given: Parameters<typeof original.open>) => {
      const file = await original.open(...given);
      disk.opened.push(file);
      return file;
    },
  };
});

let base: string;
let folder: string;
let path: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'cloudops-secrets-'));
  folder = join(base, 'secrets');
  path = join(folder, 'key');
  mkdirSync(folder);
  writeFileSync(path, 'KEY');
  writeFileSync(join(base, 'outside'), 'MARKER');
  Object.assign(disk, { afterRealpath: () => {}, afterStat: () => {}, opened: [] });
});
afterEach(() => rmSync(base, { recursive: true }));

const read = () => createSecretFiles(folder).read('key');
const notRead = { kind: 'problem', problem: 'key cannot be read' };

const exchanges: readonly (readonly [string, () => void])[] = [
  ['nothing', () => {}],
  ['a link', () => symlinkSync(join(base, 'outside'), path)],
  ['a folder', () => mkdirSync(path)],
  ['a pipe that nobody writes to', () => execFileSync('mkfifo', [path])],
];

test.skipIf(process.platform === 'win32').each(exchanges)(
  'a file in whose place there is %s after the check is not read',
  async (_what, exchange) => {
    disk.afterStat = () => {
      renameSync(path, join(base, 'moved'));
      exchange();
    };
    expect(await read()).toEqual(notRead);
  },
);

test('a file that goes away while it is looked at does not exist', async () => {
  let looked = 0;
  disk.afterRealpath = () => {
    looked += 1;
    if (looked === 2) rmSync(path);
  };
  expect(await read()).toEqual({ kind: 'problem', problem: 'key does not exist; the folder has no secrets' });
});

test('every file that was opened is closed', async () => {
  expect(await read()).toEqual({ kind: 'secret', text: 'KEY' });
  writeFileSync(path, 'x'.repeat(65 * 1024));
  expect(await read()).toMatchObject({ kind: 'problem' });
  expect(disk.opened.map(({ fd }) => fd)).toEqual([-1, -1]);
});

test('names are told in their own order, not in that of the disk', async () => {
  for (const name of ['b', 'a']) writeFileSync(join(folder, name), '');
  const { problem } = { problem: undefined, ...(await createSecretFiles(folder).read('none')) };
  expect(problem?.text).toMatch(/; there are a, b, key$/);
});
