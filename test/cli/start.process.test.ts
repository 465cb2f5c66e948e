import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import * as module from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runServer } from '../support/server-process.js';

const cache = mkdtempSync(join(tmpdir(), 'cloudops-start-'));
afterAll(() => rmSync(cache, { recursive: true }));

test('the server starts without a home to write to', async () => {
  const env = { XDG_CACHE_HOME: '/dev/null', HOME: '/dev/null' };
  expect(await runServer(['--version'], { env })).toMatchObject({ code: 0, stderr: '' });
});

test.runIf('enableCompileCache' in module)(
  'a start leaves what it compiled for the next, for nobody else',
  async () => {
    await runServer(['--version'], { env: { XDG_CACHE_HOME: cache } });
    const folder = join(cache, 'cloudops-mcp');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(readdirSync(folder, { recursive: true }).length).toBeGreaterThan(3);
  },
);

test.runIf(!('enableCompileCache' in module))('a Node that keeps nothing leaves nothing', async () => {
  await runServer(['--version'], { env: { XDG_CACHE_HOME: cache } });
  expect(existsSync(join(cache, 'cloudops-mcp'))).toBe(false);
});
