import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import * as z from 'zod';

const folder = mkdtempSync(join(tmpdir(), 'cloudops-bundle-'));
afterAll(() => rmSync(folder, { recursive: true }));

const files = z
  .array(
    z.object({
      file: z.string(),
      entry: z.string().optional(),
      imports: z.array(z.string()),
      modules: z.array(z.string()),
    }),
  )
  .parse(JSON.parse(readFileSync('dist/contents.json', 'utf8')));
type File = (typeof files)[number];

/** The files that are loaded with the named modules, that is, without what they load later. */
function loadedWith(modules: readonly string[]): File[] {
  const loaded = new Set<File>();
  const load = (file: File) => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const imported of files) if (file.imports.includes(imported.file)) load(imported);
  };
  for (const module of modules) {
    const file = files.find(({ entry }) => entry === module);
    if (file === undefined) throw new Error(`${module} is not loaded as a file of its own.`);
    load(file);
  }
  return [...loaded];
}

const modulesIn = (some: readonly File[]) => some.flatMap(({ modules }) => modules);
const textOf = (some: readonly File[]) => some.map(({ file }) => readFileSync(`dist/${file}`, 'utf8')).join('\n');

/** What a host waits for: from the start to `tools/list` over stdio. */
const start = loadedWith(['src/main.ts', 'src/cli/run.ts']);

test.each([
  ['an XML parser', /node_modules\/fast-xml-parser/],
  ['signing', /node_modules\/@(smithy|aws-crypto)|src\/signing\/sign\.ts/],
  ['an HTTP client', /node_modules\/undici|scripts\/undici/],
  ['the sandbox', /^sandbox\//],
  ['a database', /node_modules\/pg/],
  ['telemetry', /node_modules\/@opentelemetry/],
  ['what loads operations from outside', /^src\/models\/(?!service-catalog)/],
  ['the protocols of models', /node_modules\/@aws-sdk\//],
  ['services that give keys', /node_modules\/@aws-sdk\/(credential-provider|nested-clients)/],
  ['the HTTP server', /^src\/http\/serve\./],
  ['pages', /node_modules\/hono/],
  ['sign-in and keys of issuers', /node_modules\/(jose|openid-client)/],
])('the start loads without %s, and something else loads it', (_what, pattern) => {
  expect(modulesIn(start).filter((module) => pattern.test(module))).toEqual([]);
  expect(modulesIn(files).some((module) => pattern.test(module))).toBe(true);
});

test('operations from outside bring little besides zod to the start', () => {
  const loader = loadedWith(['src/main.ts', 'src/cli/run.ts', 'src/cli/load-operation-files.ts']);
  const own = modulesIn(loader.filter((file) => !start.includes(file)));
  expect(own).toContain('src/models/load-operations.ts');
  const isExpected = (module: string) =>
    /^src\/(models|cli)\/|^src\/(mcp|tools|util)\/|node_modules\/zod\//.test(module);
  expect(own.filter((module) => !isExpected(module))).toEqual([]);
});

test('the first call loads one file besides its entry and the helpers of the bundler, which has a file for them', () => {
  const ofOthers = ({ modules }: File) => modules.filter((module) => module !== '\0rolldown/runtime.js');
  const files = loadedWith(['src/main.ts', 'src/cli/run.ts', 'src/call-stack.ts']).filter(
    (file) => !start.includes(file) && ofOthers(file).length > 0,
  );
  expect(files).toHaveLength(1);
  expect(modulesIn(files)).toContain('src/transport/http-client.ts');
});

test('the start is small: one import can bring all of a library along', () => {
  expect(Buffer.byteLength(textOf(start))).toBeLessThan(620_000);
});

test('keys of settings, files and programs need nothing of the AWS SDK, which runs no program of a profile itself', () => {
  const keys = loadedWith(['src/main.ts', 'src/cli/run.ts', 'src/call-stack.ts', 'src/signing/open-keys.ts']);
  const ofSdk = (module: string) => /@aws-sdk\/(credential|nested-clients|token-providers)/.test(module);
  expect(modulesIn(keys).filter(ofSdk)).toEqual([]);
  expect(modulesIn(loadedWith(['src/signing/aws-keys.ts'])).filter(ofSdk)).not.toEqual([]);
  expect(modulesIn(files).filter((module) => /credential-provider-(process|ini|node|login)/.test(module))).toEqual([]);
});

/** Prints the modules of Node that a server has loaded when it ends, and every compilation of a text. */
const probe = `
  const make = (...args) => Reflect.construct(...args);
  const apply = (...args) => Reflect.apply(...args);
  const told = (work) => (...args) => { console.error('code of text'); return work(...args); };
  globalThis.Function = new Proxy(Function, { construct: told(make), apply: told(apply) });
  process.on('exit', () => console.error(process.moduleLoadList.join('\\n')));
`;

test('the list of tools is answered without the modules of Node that only calls need, and without code made of text', () => {
  const clientInfo = { name: 'test', version: '1' };
  const messages = [
    { id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } },
    { method: 'notifications/initialized' },
    { id: 1, method: 'tools/list' },
  ];
  const { stdout, stderr } = spawnSync(process.execPath, [`--import=data:text/javascript,${probe}`, 'dist/main.js'], {
    encoding: 'utf8',
    input: messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''),
    env: { PATH: process.env.PATH, XDG_STATE_HOME: folder, XDG_CACHE_HOME: folder, CLOUDOPS_SANDBOX: '1' },
  });
  expect(stdout).toContain('"list_parts"');
  const told = stderr.split('\n');
  expect(told).toContain('NativeModule net');
  expect(told).not.toContain('code of text');
  const needless = ['http', 'tls', 'dns', 'vm', 'child_process'];
  expect(told.filter((line) => needless.includes(line.replace('NativeModule ', '')))).toEqual([]);
});

test('the messages of zod are there in English only', () => {
  const locales = modulesIn(files).filter((module) => /zod\/v4\/locales\//.test(module));
  expect(locales).toEqual([expect.stringMatching(/\/en\.js$/)]);
});

test('the parser of HTTP is there once, without SIMD, which not every processor has', () => {
  const parsers = modulesIn(files).filter((module) => /llhttp[\w-]*wasm/.test(module));
  expect(parsers).toEqual(['node_modules/undici/lib/llhttp/llhttp-wasm.js']);
});

test('functions keep their names, so that a stack trace says something', () => {
  expect(textOf(start).includes('function runCommandLine(')).toBe(true);
});
