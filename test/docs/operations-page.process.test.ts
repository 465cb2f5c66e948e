import { execFile } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { type Newcomer, newcomer } from '../support/newcomer.js';

/** The operation by hand in docs/OPERATIONS.md, followed in an empty folder: its file is written, its commands are run in one shell. */

const run = promisify(execFile);
const [, page = ''] = readFileSync('docs/OPERATIONS.md', 'utf8').split(/(?=^## 1\. )/m);
const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].map(([, language = '', text = '']) => ({
  language,
  text,
}));
const [, file = ''] = /^## \d\. Write `([\w.]+)`$/m.exec(page) ?? [];
const source = blocks[0]?.text ?? '';

/** Of a program that ended with another code than 0. */
const printed = z.object({ stdout: z.string() });

let home: Newcomer;
let billing: CapturingServer;
beforeAll(async () => {
  home = newcomer();
  billing = await startServer((_request, response) =>
    response.end('{"invoiceId": "inv-2026-11", "total": 1200, "currency": "JPY"}'),
  );
});
afterAll(async () => {
  home.remove();
  await billing.close();
});

test('has a file, and commands after it', () => {
  expect(blocks.map(({ language }) => language)).toEqual(['js', 'sh', 'sh']);
  expect(file).toMatch(/\.mjs$/);
});

test('its commands check the file, and send what the documentation of the API says', async () => {
  writeFileSync(join(home.folder, file), source);
  const place = 'https://billing.{region}.example.com';
  const commands = blocks.slice(1).map(({ text }) => text);
  expect(commands.join('')).toContain(place);
  const keys = { CLOUDOPS_ACCESS_KEY_ID: 'AKIDEXAMPLE', CLOUDOPS_SECRET_ACCESS_KEY: 'x' };
  const { stdout } = await run('sh', ['-ec', commands.join('').replace(place, billing.origin)], {
    cwd: home.folder,
    env: { ...home.env, ...keys },
  });
  const [checked, called] = stdout.split(/(?<=^operations: .*\n)/m);
  expect(checked).toContain('GET https://billing.example.com/v1/invoices/inv-2026-11');
  expect(checked).toMatch(/\noperations: 1, problems: 0\n$/);
  expect(called).toMatch(/^Invoice "inv-2026-11" is over 1200 "JPY"\.\n/);
  expect(billing.requests).toMatchObject([{ method: 'GET', url: '/v1/invoices/inv-2026-11' }]);
  expect(billing.requests[0]?.headers.authorization).toContain('/jp-east-1/billing/aws4_request');
});

describe('with the comment above its function, and both packages beside it, TypeScript', () => {
  const [, comment = ''] = /`(\/\*\* @param .* \*\/)`/.exec(page) ?? [];
  beforeAll(() => {
    const modules = join(home.folder, 'node_modules');
    for (const part of ['package.json', 'dist/types'])
      cpSync(part, join(modules, 'cloudops-mcp', part), { recursive: true });
    symlinkSync(resolve('node_modules/zod'), join(modules, 'zod'));
  });
  const problemsOf = async (text: string, above = comment): Promise<string> => {
    writeFileSync(join(home.folder, file), `${above}\n${text}`);
    const options = ['--allowJs', '--checkJs', '--strict', '--noEmit', '--target', 'es2023', '--module', 'nodenext'];
    const program = [resolve('node_modules/typescript/bin/tsc'), ...options, file];
    const { stdout } = await run(process.execPath, program, { cwd: home.folder }).catch((error) =>
      printed.parse(error),
    );
    return stdout;
  };

  test.each(['list-buckets.mjs', 'put-bucket-lifecycle.mjs'])('accepts the example %s', async (name) => {
    expect(await problemsOf(readFileSync(join('examples/operations', name), 'utf8'), '')).toBe('');
  });

  test('accepts the file', async () => {
    expect(comment).not.toBe('');
    expect(await problemsOf(source)).toBe('');
  });

  test('knows that a field of an answer may be missing', async () => {
    const careless = source.replace(/total(?=} \$)/, 'total.toFixed()').replace('total === undefined', 'false');
    expect(await problemsOf(careless)).toContain("'total' is possibly 'undefined'");
  });
});
