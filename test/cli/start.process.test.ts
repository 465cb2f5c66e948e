import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import * as module from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { operations } from '../../src/tools/index.js';
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
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const bytes = files.map(({ parentPath, name }) => statSync(join(parentPath, name)).size);
    expect(Math.max(...bytes)).toBeGreaterThan(100_000);
  },
);

test.runIf(!('enableCompileCache' in module))('a Node that keeps nothing leaves nothing', async () => {
  await runServer(['--version'], { env: { XDG_CACHE_HOME: cache } });
  expect(existsSync(join(cache, 'cloudops-mcp'))).toBe(false);
});

/** Reports every function that is made of text. */
const reporter = `
  const report = () => process.stderr.write('code of text\\n');
  globalThis.Function = new Proxy(Function, {
    construct: (...given) => { report(); return Reflect.construct(...given); },
    apply: (...given) => { report(); return Reflect.apply(...given); },
  });`;

test('neither the start nor a call makes code of text', async () => {
  const clientInfo = { name: 'test', version: '1' };
  const requests = [
    ['initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }] as const,
    ['tools/list', {}] as const,
    ...operations.map(({ name, example }) => ['tools/call', { name, arguments: example }] as const),
  ];
  const lines = requests.map(([method, params], id) => JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  const answers = new RegExp(requests.map((_, id) => `(?=[^]*"id":${id}\\b)`).join(''));
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(reporter)}` };
  const options = ['--sandbox', 'CLOUDOPS_STORAGE_HEADERS=amz', 'CLOUDOPS_CONFIRM=off', 'CLOUDOPS_LOG_LEVEL=warn'];
  const run = await runServer(options, {
    env,
    stdin: `${lines.join('\n')}\n`,
    until: answers,
  });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(run.stdout).not.toContain('isError');
});
