import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import server from '../../server.json' with { type: 'json' };
import { cleanEnv } from '../support/server-process.js';

/** The release, rehearsed: the commands of the workflow, up to a registry on this machine that takes what npm publishes. */

const job = z.object({
  permissions: z.record(z.string(), z.string()).optional(),
  steps: z.array(z.object({ run: z.string().optional(), uses: z.string().optional() })),
});
const { jobs } = z
  .object({ jobs: z.record(z.string(), job) })
  .parse(parse(readFileSync('.github/workflows/release.yml', 'utf8')));
const commandsOf = (name: string) => jobs[name]?.steps.flatMap(({ run }) => run ?? []) ?? [];

const folder = mkdtempSync(join(tmpdir(), 'cloudops-release-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the notes of a release', () => {
  const [command = ''] = commandsOf('check');
  const tree = join(folder, 'tree');
  const release = packageJson.version;
  const repository = packageJson.homepage.split('#')[0]?.replace('https://github.com/', '') ?? '';
  beforeAll(() => {
    mkdirSync(tree);
    for (const path of ['scripts', 'package.json']) cpSync(path, join(tree, path), { recursive: true });
  });
  const dated = (date: string) => {
    const changelog = readFileSync('CHANGELOG.md', 'utf8').replace(/^(## \S+ — ).*$/m, `$1${date}`);
    writeFileSync(join(tree, 'CHANGELOG.md'), changelog);
  };
  const notes =
    (tag: string, from = repository) =>
    () =>
      execFileSync('sh', ['-c', command], {
        cwd: tree,
        encoding: 'utf8',
        stdio: 'pipe',
        env: cleanEnv({ GITHUB_REF_NAME: tag, GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: from }),
      });

  test('are what the changelog says of its version', () => {
    dated('2026-12-01');
    const [, section = ''] = readFileSync('CHANGELOG.md', 'utf8').split(/^## .*$/m);
    expect(notes(`v${release}`)()).toBe(`${section.trim()}\n`);
  });

  test.each([
    ['another tag', 'v9.9.9', '2026-12-01', repository, 'The tag is v9.9.9'],
    ['a version without a date', `v${release}`, 'unreleased', repository, 'CHANGELOG.md has no heading'],
    ['a fork', `v${release}`, '2026-12-01', 'somebody/else', 'this is https://github.com/somebody/else'],
  ])('stop %s', (_what, tag, date, from, problem) => {
    dated(date);
    expect(notes(tag, from)).toThrow(problem);
  });
});

describe('the entry of the MCP registry', () => {
  const command = commandsOf('build').find((run) => run.includes('registry-entry')) ?? '';
  const tree = join(folder, 'entry');
  const bundle = `build/${packageJson.name}-${packageJson.version}.mcpb`;
  beforeAll(() => {
    for (const path of ['scripts', 'server.json']) cpSync(path, join(tree, path), { recursive: true });
    mkdirSync(join(tree, 'build'));
    writeFileSync(join(tree, bundle), 'the bundle');
  });
  const fill = (digest: string) =>
    execFileSync('sh', ['-c', command], { cwd: tree, stdio: 'pipe', env: cleanEnv({ IMAGE_DIGEST: digest }) });

  test('has the hash of the bundle and the digest of the image, and is otherwise server.json', () => {
    const digest = `sha256:${'ab'.repeat(32)}`;
    fill(digest);
    const [npm, image, packed] = server.packages;
    const fileSha256 = createHash('sha256').update('the bundle').digest('hex');
    const pinned = { ...image, identifier: image?.identifier.replace(`:${packageJson.version}`, `@${digest}`) };
    const filled: unknown = JSON.parse(readFileSync(join(tree, 'build/server.json'), 'utf8'));
    expect(filled).toEqual({ ...server, packages: [npm, pinned, { ...packed, fileSha256 }] });
  });

  test('is not made without the digest of an image', () => {
    expect(() => fill('')).toThrow('is not the digest of an image');
  });
});

test('what is published is what was built: jobs with rights get files, and no source', () => {
  for (const [name, { permissions, steps }] of Object.entries(jobs)) {
    const uses = steps.flatMap(({ uses }) => uses?.split('@')[0] ?? []);
    const mayWrite = permissions !== undefined;
    expect(uses.includes('actions/checkout'), name).toBe(!mayWrite);
    expect(uses.includes('actions/download-artifact'), name).toBe(mayWrite);
  }
});

describe('what npm publishes', () => {
  const document = z.object({
    'dist-tags': z.object({ latest: z.string() }),
    access: z.literal('public'),
    versions: z.record(
      z.string(),
      z.looseObject({
        readme: z.string(),
        mcpName: z.string(),
        repository: z.looseObject({ url: z.string() }),
        dist: z.object({ integrity: z.string() }),
      }),
    ),
    _attachments: z.record(z.string(), z.object({ data: z.string() })),
  });
  const requests: string[] = [];
  let published: unknown;
  let registry: Server;

  beforeAll(async () => {
    registry = createServer((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (request.method === 'PUT') published = JSON.parse(Buffer.concat(chunks).toString('utf8'));
        response.writeHead(request.method === 'PUT' ? 201 : 404, { 'content-type': 'application/json' }).end('{}');
      });
    });
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => registry.close());

  test('is the tarball, with the page as npm will show it', async () => {
    const [publish = '', ...others] = commandsOf('npm');
    expect(others).toEqual([]);
    expect(publish).toMatch(/^npm publish --provenance /);
    mkdirSync(join(folder, 'release'));
    cpSync(inject('tarball'), join(folder, 'release', basename(inject('tarball'))));
    const address = registry.address();
    if (address === null || typeof address === 'string') throw new Error('the registry has no port');
    const host = `127.0.0.1:${address.port}`;
    writeFileSync(join(folder, '.npmrc'), `registry=http://${host}/\n//${host}/:_authToken=rehearsal\n`);
    // Who built it can only be proved on GitHub.
    const command = publish.replace('--provenance ', '');
    await promisify(execFile)('sh', ['-c', command], {
      cwd: folder,
      env: cleanEnv({ npm_config_userconfig: join(folder, '.npmrc'), npm_config_registry: `http://${host}/` }),
    });

    expect(requests.filter((request) => request.startsWith('PUT'))).toEqual(['PUT /cloudops-mcp']);
    const { versions, _attachments, 'dist-tags': tags } = document.parse(published);
    const version = versions[packageJson.version];
    expect(tags.latest).toBe(packageJson.version);
    expect(version).toMatchObject({ mcpName: packageJson.mcpName, repository: packageJson.repository });
    expect(version?.readme).toContain(`/blob/v${packageJson.version}/docs/CLI.md)`);
    expect(version?.readme).not.toMatch(/\]\((?!https:)/);
    expect(Object.keys(_attachments)).toEqual([`cloudops-mcp-${packageJson.version}.tgz`]);
  });
});
