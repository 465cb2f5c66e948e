import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { type Ended, runnerOf } from './commands.js';

/** restic with the sandbox. It lists everything, and sends bodies in signed chunks. */

const folder = mkdtempSync(join(tmpdir(), 's3-restic-'));
const large = randomBytes(20 * 1024 * 1024);

let sandbox: Sandbox;
let restic: (...args: string[]) => Promise<Ended>;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
  const variables = {
    RESTIC_REPOSITORY: `s3:${sandbox.cloud.endpoints.storage}/restic/repository`,
    RESTIC_PASSWORD: 'of this test only',
    RESTIC_CACHE_DIR: join(folder, 'cache'),
  };
  const run = runnerOf(sandbox, folder, variables);
  restic = (...args) => run('restic', args);
});
afterAll(async () => {
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

const ends = ({ code, stdout, stderr }: Ended) => expect(code, stdout + stderr).toBe(0);

test('is installed', async () => {
  const { code, stderr } = await restic('version');
  expect(code, `restic has to be installed (Debian: restic): ${stderr}`).toBe(0);
});

test('backs a folder up twice, checks every byte, restores it, and forgets the first backup', async () => {
  const [from, to] = [join(folder, 'from'), join(folder, 'to')];
  mkdirSync(from);
  writeFileSync(join(from, 'large.bin'), large);
  writeFileSync(join(from, 'ü.txt'), 'old');
  ends(await restic('init'));
  ends(await restic('backup', 'from'));
  writeFileSync(join(from, 'ü.txt'), 'new');
  ends(await restic('backup', 'from'));
  ends(await restic('check', '--read-data'));
  ends(await restic('restore', 'latest', '--verify', `--target=${to}`));
  expect(readFileSync(join(to, 'from/large.bin')).equals(large)).toBe(true);
  expect(readFileSync(join(to, 'from/ü.txt'), 'utf8')).toBe('new');
  ends(await restic('forget', '--keep-last=1', '--prune'));
  expect(JSON.parse((await restic('snapshots', '--json')).stdout)).toHaveLength(1);
  ends(await restic('check', '--read-data'));
});
