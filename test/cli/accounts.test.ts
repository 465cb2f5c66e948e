import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import type { Finding } from '../../src/cli/check-accounts.js';
import { runCommandLine } from '../../src/cli/run.js';
import { describeConfig } from '../../src/config/describe.js';
import { loadConfig } from '../../src/config/load-config.js';
import { listParts } from '../../src/tools/list-parts.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { fakeTerminal } from '../support/terminal.js';

/** Commands with several accounts: `call` names one, and `doctor` checks each. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-accounts-'));
afterAll(() => rmSync(folder, { recursive: true }));
const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

let cloud: CapturingServer;
beforeEach(async () => {
  cloud = await startServer(({ headers }, response) => {
    const code = headers.authorization === undefined ? 'AccessDenied' : 'NoSuchUpload';
    response.writeHead(404, { 'content-type': 'application/xml' }).end(`<Error><Code>${code}</Code></Error>`);
  });
});
afterEach(() => cloud.close());

const program = (code: string) => [process.execPath, '-e', code];
const printing = `console.log(JSON.stringify({ Version: 1, AccessKeyId: 'AKPROCESS', SecretAccessKey: 'MARKER' }))`;
const accounts = {
  prod: { description: 'live customers', accessKeyIdFile: '', secretAccessKeyFile: '', maxChanges: '5/1h' },
  staging: { credentialProcess: program(printing) },
  broken: { credentialProcess: program(`console.error('MARKER'); process.exit(9)`) },
};

const variables = (env: Record<string, string> = {}) => {
  const keyFiles = { accessKeyIdFile: write('id', 'AKFILE'), secretAccessKeyFile: write('secret', 'MARKER') };
  const content = { default: 'prod', accounts: { ...accounts, prod: { ...accounts.prod, ...keyFiles } } };
  return {
    CLOUDOPS_STORAGE_URL: cloud.origin,
    CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
    CLOUDOPS_ACCOUNTS_FILE: write('accounts.json', JSON.stringify(content)),
    PATH: process.env.PATH ?? '',
    ...env,
  };
};

/** Runs a command with the accounts. */
async function run(args: readonly string[], env: Record<string, string> = {}) {
  const { terminal, printed } = fakeTerminal({ env: variables(env) });
  const code = await runCommandLine(args, terminal);
  expect(printed.stdout + printed.stderr).not.toContain('MARKER');
  return { code, ...printed };
}

const signedBy = () =>
  cloud.requests.flatMap(({ headers }) => /Credential=([^/]+)/.exec(headers.authorization ?? '')?.[1] ?? []);
const call = ['call', 'list_parts', JSON.stringify(listParts.example)];

test.each([
  ['prod', ['--account', 'prod'], ['AKFILE']],
  ['staging', ['--account', 'staging'], ['AKPROCESS']],
  ['the default', [], ['AKFILE']],
])('call is for %s', async (_what, options, keys) => {
  await run([...call, ...options]);
  expect(signedBy()).toEqual(keys);
});

test.skipIf(process.platform === 'win32')('a pipe or a device is no file of accounts, and is not read', async () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const path of [pipe, '/dev/zero'])
    expect(await run(call, { CLOUDOPS_ACCOUNTS_FILE: path })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('CLOUDOPS_ACCOUNTS_FILE names cannot be read (it is not a regular file)'),
    });
});

test('call is for none that does not exist, and for none by name without a file of accounts', async () => {
  expect(await run([...call, '--account', 'other'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('prod (live customers), staging or broken'),
  });
  expect(await run([...call, '--account', 'prod'], { CLOUDOPS_ACCOUNTS_FILE: '' })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('CLOUDOPS_ACCOUNTS_FILE'),
  });
  expect(signedBy()).toEqual([]);
});

test('call is for none if the option and the arguments name different ones', async () => {
  const of = (account: string) => [
    'call',
    'list_parts',
    JSON.stringify({ ...listParts.example, account }),
    '--account',
    'prod',
  ];
  expect(await run(of('prod'))).toMatchObject({ code: 1 });
  expect(signedBy()).toEqual(['AKFILE']);
  await expect(run(of('staging'))).resolves.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('different accounts'),
  });
  expect(signedBy()).toEqual(['AKFILE']);
});

test('doctor checks every account, and says what is wrong with its keys', async () => {
  const { code, stdout } = await run(['doctor', '--json']);
  const findings: Finding[] = JSON.parse(stdout);
  const of = (check: string) => findings.filter((finding) => finding.check === check);
  for (const account of ['prod', 'staging'])
    expect(of(`${account} storage signature`)).toMatchObject([{ status: 'ok' }]);
  expect(of('broken keys')).toMatchObject([{ status: 'problem', detail: expect.stringContaining('exit code 9') }]);
  expect(code).toBe(1);
});

test('the configuration describes the accounts that its reader may use', async () => {
  const config = loadConfig({ env: variables(), readFile: (path) => readFileSync(path, 'utf8') });
  if (!config.ok) throw new Error(config.problems.join());
  const text = describeConfig(config.config, 'caller', ['prod']);
  expect(text).toMatch(/\| prod \(default\) \| live customers \|.*\| 5 within 60 minutes \|/);
  expect(text).not.toMatch(/staging|broken|accounts\.json/);
});
