import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CreateBucketCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { build } from 'rolldown';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { seededUpload } from '../../sandbox/sandbox.js';
import { changeTools } from '../../src/mcp/server-tools.js';
import { settingsOf, startReal } from '../s3/start.js';
import { freePort } from '../support/free-port.js';
import { offeredBy, sandboxPolicy } from '../support/operations.js';
import { cleanEnv } from '../support/server-process.js';

const folder = mkdtempSync(join(tmpdir(), 'cloudops-package-'));
const [tarball, project] = [inject('tarball'), join(folder, 'empty')];
const installed = join(project, 'node_modules', 'cloudops-mcp');
const quiet = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund'];
const run = (command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd: project, encoding: 'utf8', env: cleanEnv(), stdio: ['ignore', 'pipe', 'pipe'] });

beforeAll(() => {
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true }');
  run('npm', 'install', ...quiet, tarball);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Paths of all files of the installed package. */
const files = () =>
  readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((path) =>
    statSync(join(installed, path)).isFile(),
  );
const content = (path: string) => readFileSync(join(installed, path), 'utf8');

describe('the tarball', () => {
  it('is small', () => {
    const pictures = files().filter((path) => path.startsWith('docs/pictures/'));
    const weightOfPictures = pictures.reduce((sum, path) => sum + statSync(join(installed, path)).size, 0);
    expect(weightOfPictures).toBeLessThanOrEqual(150_000);
    expect(statSync(tarball).size - weightOfPictures).toBeLessThanOrEqual(750_000);
  });

  it('holds the bundle, what explains it, and nothing else', () => {
    const bundle = /^dist\/(main|chunks\/[\w-]+)\.js$/;
    const isExpected = (path: string) =>
      [
        bundle,
        /^skills\/[\w-]+\/SKILL\.md$/,
        /^docs\/[\w-]+\.md$/,
        /^docs\/pictures\/[\w-]+\.(?:png|svg)$/,
        /^examples\/operations\/[\w.-]+\.json$/,
      ].some((one) => one.test(path));
    const others = files().filter((path) => !isExpected(path));
    expect(others.sort()).toEqual([
      'CHANGELOG.md',
      'CODE_OF_CONDUCT.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'dist/THIRD-PARTY-NOTICES.txt',
      'dist/sbom.cdx.json',
      'dist/ui/change.html',
      'dist/ui/list.html',
      'dist/ui/page.html',
      'dist/ui/upload.html',
      'docs/accounts.schema.json',
      'mcp.json',
      'package.json',
    ]);
    expect(files()).toEqual(expect.arrayContaining(['dist/main.js', 'docs/OPERATIONS.md']));
  });

  it('brings no other package', () => {
    expect(readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'cloudops-mcp',
    ]);
    expect(packageJson).not.toHaveProperty('dependencies');
    for (const script of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(packageJson.scripts).not.toHaveProperty(script);
  });

  it('names no path of the machine that built it', () => {
    for (const path of files())
      for (const place of [process.cwd(), `${homedir()}/`, `${tmpdir()}/cloudops`])
        expect(content(path).includes(place), `${path} names ${place}`).toBe(false);
  });
});

describe('licences and bill of materials', () => {
  const sbom = () =>
    z
      .object({
        bomFormat: z.literal('CycloneDX'),
        specVersion: z.literal('1.6'),
        components: z.array(
          z.object({
            name: z.string(),
            version: z.string(),
            purl: z.string(),
            licenses: z.tuple([z.object({ license: z.object({ id: z.string() }) })]),
          }),
        ),
      })
      .parse(JSON.parse(content('dist/sbom.cdx.json')));

  it('name every package of which code is bundled', async () => {
    const { output } = await build({
      input: 'src/main.ts',
      write: false,
      platform: 'node',
      // Whoever uses Node.js 20 installs it.
      external: ['@photostructure/sqlite'],
      resolve: {
        mainFields: ['module', 'main'],
        // With the summaries of prom-client and the SDK's chain of credentials, the build leaves out whole packages.
        alias: {
          './lib/summary': resolve('scripts/left-out.cjs'),
          './fromNodeProviderChain': resolve('scripts/no-credential-chain.mjs'),
        },
      },
    });
    const modules = output.flatMap((file) => (file.type === 'chunk' ? Object.entries(file.modules) : []));
    const used = modules.flatMap(([path, { renderedLength }]) => {
      const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path.replaceAll('\\', '/'))?.[1];
      return name === undefined || renderedLength === 0 ? [] : [name];
    });
    expect(used).toContain('undici');
    const components = sbom().components.map(({ name }) => name);
    expect(components).toEqual(expect.arrayContaining([...new Set(used)]));
    // Bundled by the MCP SDK itself.
    expect(components).toContain('content-type');
  });

  it('agree with each other', () => {
    const headings = [...content('dist/THIRD-PARTY-NOTICES.txt').matchAll(/^(\S+) (\d\S*) \((\S+)\)$/gm)];
    const noticed = headings.map(([, name, version, license]) => `${name} ${version} ${license}`);
    const listed = sbom().components.map(
      ({ name, version, licenses: [{ license }] }) => `${name} ${version} ${license.id}`,
    );
    expect(noticed.sort()).toEqual(listed.sort());
    expect(listed.length).toBeGreaterThan(10);
  });

  it('are the same for the same bundle', () => {
    expect(content('dist/sbom.cdx.json')).not.toMatch(/serialNumber|timestamp/);
    const before = [content('dist/sbom.cdx.json'), content('dist/THIRD-PARTY-NOTICES.txt')];
    const again = join(folder, 'again');
    execFileSync(process.execPath, ['scripts/build.mjs', again]);
    expect(['sbom.cdx.json', 'THIRD-PARTY-NOTICES.txt'].map((name) => readFileSync(join(again, name), 'utf8'))).toEqual(
      before,
    );
  });
});

describe("operations of one's own, in an empty folder", () => {
  const own = join(folder, 'own');
  const prefix = join(folder, 'global');
  /** What users of Node.js 20 install beside, for the journal. Later versions have a SQLite. */
  const besides = process.versions.node.startsWith('20.') ? [resolve('node_modules/@photostructure/sqlite')] : [];
  const bucket = 'demo-bucket';
  /** The settings of each store; Ceph's are known when it runs. */
  const stores: Record<string, Record<string, string>> = { 'the sandbox': { CLOUDOPS_SANDBOX: '1' } };
  let ceph: ReturnType<typeof startReal> | undefined;
  let s3: S3Client;
  beforeAll(async () => {
    cpSync(join(installed, 'examples', 'operations'), own, { recursive: true });
    if (besides.length > 0) run('npm', 'install', ...quiet, '--no-save', ...besides);
    run('npm', 'install', ...quiet, '-g', '--prefix', prefix, tarball, ...besides);
    const [port, monitorPort] = [await freePort(), await freePort()];
    ceph = startReal('radosgw', {
      S3_RUN: join(folder, 'radosgw'),
      S3_PORT: String(port),
      MON_PORT: String(monitorPort),
    });
    stores.Ceph = settingsOf(ceph);
    s3 = new S3Client({ ...ceph, forcePathStyle: true, credentials: ceph });
    await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  });
  afterAll(async () => {
    s3?.destroy();
    await ceph?.stop();
  });

  const ways: readonly (readonly [string, readonly [string, ...string[]]])[] = [
    ['a global install', [join(prefix, 'bin', 'cloudops-mcp')]],
    ['npx', ['npx', '--offline', '-y', ...[tarball, ...besides].flatMap((one) => ['-p', one]), 'cloudops-mcp']],
    ['a local install', [join(project, 'node_modules', '.bin', 'cloudops-mcp')]],
  ];
  const inFolder = (
    [command, ...first]: readonly [string, ...string[]],
    args: readonly string[],
    settings: Record<string, string> = {},
  ) =>
    execFileSync(command, [...first, ...args], {
      cwd: own,
      encoding: 'utf8',
      env: cleanEnv(settings),
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  const journeys = ['Ceph', 'the sandbox'].flatMap((store) =>
    ways.map(([way, command]) => [store, way, command] as const),
  );
  it.each(journeys)('work on %s from %s', async (store, way, command) => {
    const settings = {
      ...stores[store],
      CLOUDOPS_OPERATIONS: '.',
      CLOUDOPS_CONFIRM: 'off',
      CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
    };
    const upload = JSON.stringify({ Bucket: bucket, Key: `of ${way}` });
    expect(inFolder(command, ['call', 's3_create_multipart_upload', upload], settings)).toContain(
      'CreateMultipartUpload was accepted',
    );
    if (store === 'the sandbox') return;
    const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
    expect(Uploads.map(({ Key }) => Key)).toContain(`of ${way}`);
  });

  it.each(ways)('are checked from %s', (_way, command) => {
    const checked = inFolder(command, ['operations', 'check', '.']);
    expect(checked).toMatch(/operations: 7, problems: 0\n$/);
  });
});

describe.each(['20', '22', '24', '26'])('on Node %s', (release) => {
  let node = '';
  beforeAll(() => {
    node = run('npx', '-y', '-p', `node@${release}`, 'node', '-p', 'process.execPath').trim();
  });
  const command = () => join(project, 'node_modules', '.bin', 'cloudops-mcp');

  it('says its version', () => {
    expect(run(node, '--version')).toMatch(new RegExp(`^v${release}\\.`));
    expect(existsSync(command())).toBe(true);
    expect(run(node, command(), '--version')).toBe(`${packageJson.version}\n`);
  });

  it('serves its tools', async () => {
    const client = new Client({ name: 'test', version: '1' });
    const args = [command(), '--sandbox'];
    const env = cleanEnv({ CLOUDOPS_LOG_LEVEL: 'warn' });
    await client.connect(new StdioClientTransport({ command: node, args, cwd: project, env }));
    try {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(
        [...offeredBy(sandboxPolicy), ...changeTools].map(({ name }) => name),
      );
      const { bucket, key: object, uploadId } = seededUpload;
      const result = await client.callTool({ name: 'list_parts', arguments: { bucket, object, uploadId } });
      expect(result).toMatchObject({ structuredContent: { answer: { view: 'summary', partCount: 12 } } });
    } finally {
      await client.close();
    }
  });
});
