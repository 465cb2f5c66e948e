import { execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { seededUpload } from '../../sandbox/sandbox.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { startServer } from '../support/http-server.js';
import { type Newcomer, newcomer } from '../support/newcomer.js';

/**
 * Every command that a page names is run: here, by another test or by the checks. The tables below say which way, and why a command is
 * not run at all. Blocks that are fenced as `console` are in commands.process.test.ts, which compares what they print.
 */

const pages = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
  ...['bench', 'eval', 'test', 'ui'].map((folder) => join(folder, 'README.md')),
];

const block = /^ *```(\w*)[^\n]*\n([\s\S]*?)^ *```/gm;
const programs = /^(?:cloudops-mcp|npm|npx|node|docker|kubectl|openssl|aws|rclone|restic|s3cmd|\.ci\/run)(?: |$)/;

/** Blocks for a shell, and commands within a sentence. */
function commandsOf(page: string): string[] {
  const markdown = readFileSync(page, 'utf8');
  const blocks = [...markdown.matchAll(block)].flatMap(([, language, text = '']) =>
    language === 'sh' ? [text.replaceAll(/^ +/gm, '').trim()] : [],
  );
  const sentences = [...markdown.replaceAll(block, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  return [...blocks, ...sentences.filter((code) => programs.test(code) && code.includes(' '))];
}

const templates = readdirSync('.github/ISSUE_TEMPLATE').flatMap((name) => {
  const { body = [] } = z
    .object({ body: z.array(z.object({ attributes: z.object({ placeholder: z.string().optional() }) })).optional() })
    .parse(parse(readFileSync(join('.github/ISSUE_TEMPLATE', name), 'utf8')));
  return body.flatMap(({ attributes: { placeholder = '' } }) => (/ call /.test(placeholder) ? [placeholder] : []));
});

const written = [...new Set([...pages.flatMap(commandsOf), ...templates])];

const { bucket, key: object, uploadId } = seededUpload;
const call = `cloudops-mcp call list_parts '${JSON.stringify({ bucket, object, uploadId })}'`;

/** The settings of "One server, one team, one afternoon". */
const [, teamSettings = ''] = /```ini\n([\s\S]*?)```/.exec(readFileSync('docs/DEPLOY.md', 'utf8')) ?? [];

/** Commands that a page names in part, and in full. */
const inFull: Readonly<Record<string, string>> = {
  'cloudops-mcp call': call,
  'cloudops-mcp http --host 0.0.0.0': `${teamSettings.trim().split(/\s+/).join(' ')} cloudops-mcp http --host 0.0.0.0`,
  'cloudops-mcp journal --json --follow --since 1h | your-log-shipper':
    'cloudops-mcp journal --json --follow --since 1h | cat',
  'cloudops-mcp http [--host 127.0.0.1] [--port 8080]': 'cloudops-mcp http --host 127.0.0.1 --port 8080',
};

/** What a command that serves prints when it does; then it is ended. */
const serving: readonly (readonly [RegExp, RegExp])[] = [
  [/cloudops-mcp http/, /listening/],
  [/^cloudops-mcp sandbox/, /CHECKSUM/],
  [/--follow/, /"state":"accepted"/],
  [/^cloudops-mcp --sandbox/, /"event":"start"/],
];

/** Tests that run a command in their own way, and a word of it that they have. */
const elsewhere: readonly (readonly [RegExp, string, string])[] = [
  [/^unset CLOUDOPS_SANDBOX\n/, 'test/docs/every-command.process.test.ts', "README's real account"],
  [/^cloudops-mcp health/, 'test/cli/health-command.process.test.ts', 'health'],
  [/^cloudops-mcp journal migrate/, 'test/cli/journal-command.test.ts', "'migrate'"],
  [
    /(?:my|groups)\.operations\.json|CLOUDOPS_MODELS/,
    'test/docs/operations-page.process.test.ts',
    'docs/OPERATIONS.md',
  ],
  [
    /sandbox --port 8080 --seed demo/,
    'test/cli/sandbox-command.process.test.ts',
    'the variables are lines for a shell',
  ],
  [/^aws s3/, 'test/s3-clients/commands.ts', "'list-multipart-uploads'"],
  [/rclone copyto/, 'test/s3-clients/commands.ts', "'copyto'"],
  [/npm run eval/, 'test/eval/eval.process.test.ts', "'eval/main.mjs'"],
  [/^mkdir -p ~\/\.agents\/skills/, 'test/clients/agents.test.ts', "'skills/cloudops/SKILL.md'"],
];

const notRun: readonly (readonly [RegExp, string])[] = [
  [/^node dist\/main\.js$|^npm pack$/, 'it is the beginning of others; test/package packs and starts the server'],

  [/^npx -y cloudops-mcp/, 'the package is not published yet; test/package installs the tarball by npx'],
  [/^npm install --global/, 'it changes the machine; test/package installs the tarball with a prefix'],
  [/^docker /, 'there is no Docker where the checks run'],
  [/^kubectl /, 'there is no cluster; test/deploy.process.test.ts reads the manifests'],
  [/^npm run bench|^npm run test:mutation/, 'it takes minutes to hours, and is run by hand'],
  [/^npm run test:clients/, 'it installs the clients of others; clients.yml runs it each week'],
  [/^npm (?:run|test -- -u)$|-u\ngit diff$/, 'it only lists commands, or rewrites files of this checkout'],
  [/^npx vitest run|^npm run (?:test:browser|test:process|docs)$/, 'it is how the checks run their parts'],
  [/pytest/, "the suite is not in Debian's packages; test/README.md has its result"],
];

const checks = readFileSync('.ci/run', 'utf8');
/** What the checks run by the same words. A comment after a command is none of it. */
const inChecks = (command: string) =>
  command
    .split(/\n| && /)
    .map((line) => line.replace(/\s+#.*/, ''))
    .every((line) => checks.includes(line) || notRun.some(([pattern]) => pattern.test(line)));

const isNamed = (rows: readonly (readonly [RegExp, ...string[]])[], command: string) =>
  rows.some(([pattern]) => pattern.test(command));
const isOurs = (command: string) => /^(?:cloudops-mcp|[A-Z_]+=\S+ cloudops-mcp|umask )/.test(command);
const runHere = written.filter(
  (command) => isOurs(command) && !isNamed(elsewhere, command) && !isNamed(notRun, command),
);

test('every command is run here, by another test or by the checks, or there is a reason', () => {
  const left = written.filter((command) => !runHere.includes(command));
  const unaccounted = left.filter(
    (command) => !isNamed(elsewhere, command) && !isNamed(notRun, command) && !inChecks(command),
  );
  expect(unaccounted).toEqual([]);
});

test('no row of the tables is about a command that no page names', () => {
  const idle = [...elsewhere, ...notRun].filter(([pattern]) => !written.some((command) => pattern.test(command)));
  expect(idle).toEqual([]);
  expect(Object.keys(inFull).filter((command) => !written.includes(command))).toEqual([]);
});

test.each(elsewhere)('%s is run by %s', (_pattern, file, word) => {
  expect(readFileSync(file, 'utf8')).toContain(word);
});

interface Ended {
  readonly code: number | null;
  readonly printed: string;
}

const onFreePort = (command: string) =>
  / --port \d+/.test(command) ? command.replace(/ --port \d+/, ' --port 0') : `${command} --port 0`;

/** Runs a command. One that serves listens on a port that is free, and is ended when it says that it does. */
function run(written: string, { folder, env }: Newcomer): Promise<Ended> {
  const [, ready] = serving.find(([pattern]) => pattern.test(written)) ?? [];
  const listens = /cloudops-mcp (?:http|sandbox)/.test(written);
  const command = listens ? onFreePort(written) : written;
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', command], { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    let printed = '';
    let isEnding = false;
    const add = (chunk: Buffer) => {
      printed += chunk.toString('utf8');
      if (ready === undefined || isEnding || !ready.test(printed) || child.pid === undefined) return;
      isEnding = true;
      process.kill(-child.pid, 'SIGTERM');
    };
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, printed }));
    if (ready === undefined) child.stdin.end();
  });
}

describe('what a page tells to run', () => {
  let home: Newcomer;
  beforeAll(() => {
    home = newcomer();
    home.env.CLOUDOPS_SANDBOX = '1';
    // An entry for the journal.
    const { name, example } = restoreInstance;
    execFileSync('cloudops-mcp', ['call', name, JSON.stringify(example), '--yes'], { env: home.env });
  });
  afterAll(() => home.remove());

  test.each(runHere)('%s', async (command) => {
    const { code, printed } = await run(inFull[command] ?? command, home);
    // A shell that was ended by the signal has no code.
    expect(code ?? 0, printed).toBe(0);
  });
});

test("README's real account: its settings reach a store that speaks S3", async () => {
  const store = await startServer(({ url = '' }, response) =>
    /^\/(\?|$)/.test(url)
      ? response.end('<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>')
      : response.writeHead(404).end('<Error><Code>NoSuchBucket</Code></Error>'),
  );
  const home = newcomer();
  const secret = join(home.folder, 'secret');
  writeFileSync(secret, 'an example');
  const [block = ''] = commandsOf('README.md').filter((command) => command.startsWith('unset CLOUDOPS_SANDBOX'));
  const command = block.replace('https://s3.example.com', store.origin).replace('/run/secrets/cloudops', secret);
  const { code, printed } = await run(command, home);
  expect(printed).toMatch(/^ok +storage signature +accepted/m);
  expect(printed).toContain('No multipart upload is open in 0 buckets.');
  expect(code).toBe(0);
  expect(store.requests.some(({ headers }) => headers['x-amz-content-sha256'] !== undefined)).toBe(true);
  home.remove();
  await store.close();
});
