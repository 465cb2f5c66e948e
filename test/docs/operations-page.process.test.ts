import { execFile } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type CapturingServer, startServer } from '../support/http-server.js';
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
const { page, blocks } = chapter('By hand');
const file = 'billing.mjs';
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

describe('from a model', () => {
  const [draft, decided, use] = fromModel.blocks;
  const inFolder = async (commands = '') => run('sh', ['-ec', commands], { cwd: home.folder, env: home.env });
  beforeAll(() => cpSync('examples/operations', join(home.folder, 'examples/operations'), { recursive: true }));

  test('its commands list the operations, and draft a file that only lacks decisions', async () => {
    const { stdout } = await inFolder(draft?.text);
    expect(stdout).toMatch(/^DeleteObjects +delete +POST/m);
    const drafted = readFileSync(join(home.folder, 'storage.mjs'), 'utf8');
    const decisions = /^ *(?:costsMoney|continues|consequences|failures):.*(?:\n +'.*\n +\])?,\n/gm;
    const withoutDecisions = (text = '') => text.replaceAll(decisions, '');
    expect(withoutDecisions(drafted)).toBe(withoutDecisions(decided?.text));
    const checked = await inFolder('cloudops-mcp operations check storage.mjs').catch((error) => printed.parse(error));
    expect(checked.stdout).toMatch(/costsMoney: is not decided[\s\S]*\noperations: 0, problems: 4\n$/);
  });

  test('the decided file passes the check, and its tools work in the sandbox', async () => {
    writeFileSync(join(home.folder, 'storage.mjs'), decided?.text ?? '');
    const { stdout } = await inFolder(use?.text);
    expect(stdout).toContain('\noperations: 2, problems: 0\n');
    expect(stdout).toMatch(/^s3_list_objects_v2 {2}\(storage, read/m);
    expect(stdout).toMatch(/^ListObjectsV2 /m);
    expect(stdout).toMatch(/^DeleteObjects was accepted\. Its answer has 1 in Deleted: "old\.csv"\.$/m);
  });
});

test('README has the same settings as the file that is decided here', async () => {
  const [, json = ''] = /^```json\n(\{\n {2}"model":[\s\S]*?)^```/m.exec(readFileSync('README.md', 'utf8')) ?? [];
  const { default: decided } = await import(
    `data:text/javascript,${encodeURIComponent(fromModel.blocks[1]?.text ?? '')}`
  );
  const settings = await decided({ fromModel: (model: string, others: object) => ({ model, ...others }) });
  expect(JSON.parse(json)).toEqual(settings);
});

test('by hand, its commands check the file, and send what the documentation of the API says', async () => {
  expect(blocks.map(({ language }) => language)).toEqual(['js', 'sh']);
  writeFileSync(join(home.folder, file), source);
  const place = 'https://billing.{region}.example.com';
  const commands = blocks.at(-1)?.text ?? '';
  expect(commands).toContain(place);
  expect(commands).toContain(file);
  const secret = join(home.folder, 'secret');
  writeFileSync(secret, 'x');
  const { stdout } = await run(
    'sh',
    ['-ec', commands.replace(place, billing.origin).replace('/run/secrets/cloudops', secret)],
    { cwd: home.folder, env: home.env },
  );
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
  const problemsOf = async (text: string, { above = comment, name = file } = {}): Promise<string> => {
    writeFileSync(join(home.folder, name), `${above}\n${text}`);
    const options = ['--allowJs', '--checkJs', '--strict', '--noEmit', '--target', 'es2023', '--module', 'nodenext'];
    const program = [resolve('node_modules/typescript/bin/tsc'), ...options, name];
    const { stdout } = await run(process.execPath, program, { cwd: home.folder }).catch((error) =>
      printed.parse(error),
    );
    return stdout;
  };

  test.each(['list-buckets.mjs', 'put-bucket-lifecycle.mjs'])('accepts the example %s', async (name) => {
    expect(await problemsOf(readFileSync(join('examples/operations', name), 'utf8'), { above: '' })).toBe('');
  });

  test('accepts the file', async () => {
    expect(comment).not.toBe('');
    expect(await problemsOf(source)).toBe('');
  });

  test('accepts the file of a model, and knows its settings', async () => {
    const decided = fromModel.blocks[1]?.text ?? '';
    expect(await problemsOf(decided)).toBe('');
    expect(await problemsOf(decided.replace("'delete'", "'remove'"))).toContain('\'"remove"\' is not assignable');
  });

  test('accepts the file as a module in TypeScript', async () => {
    const above = "import type { OperationsModule } from 'cloudops-mcp/operation';";
    const typed = `const module: OperationsModule = ${source.replace('export default ', '')}export default module;\n`;
    expect(await problemsOf(typed, { above, name: 'billing.mts' })).toBe('');
    expect(await problemsOf(typed.replace('title:', 'titel:'), { above, name: 'billing.mts' })).toContain('titel');
  });

  test('knows that a field of an answer may be missing', async () => {
    const careless = source.replace(/total(?=} \$)/, 'total.toFixed()').replace('total === undefined', 'false');
    expect(await problemsOf(careless)).toContain("'total' is possibly 'undefined'");
  });
});
