import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { callCommand } from '../../src/cli/call-command.js';
import type { Command } from '../../src/cli/command.js';
import { doctorCommand } from '../../src/cli/doctor-command.js';
import type { Finding } from '../../src/cli/probe.js';
import { parseCommandLine } from '../../src/config/command-line.js';
import { describeConfig } from '../../src/config/describe.js';
import { loadConfig } from '../../src/config/load-config.js';
import { operations } from '../../src/tools/index.js';
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

/** Runs a command with the accounts. */
async function run(command: Command, args: string[], env: Record<string, string> = {}) {
  const keyFiles = { accessKeyIdFile: write('id', 'AKFILE'), secretAccessKeyFile: write('secret', 'MARKER') };
  const content = { default: 'prod', accounts: { ...accounts, prod: { ...accounts.prod, ...keyFiles } } };
  const variables = {
    CLOUDOPS_STORAGE_URL: cloud.origin,
    CLOUDOPS_JOURNAL: join(folder, 'journal.jsonl'),
    CLOUDOPS_ACCOUNTS_FILE: write('accounts.json', JSON.stringify(content)),
    PATH: process.env.PATH ?? '',
    ...env,
  };
  const line = parseCommandLine(args, command);
  const readFile = (path: string) => readFileSync(path, 'utf8');
  const config = loadConfig({ env: variables, commandLine: line, readFile });
  const { terminal, printed } = fakeTerminal({ env: variables });
  const code = await command.run({ ...line, config, operations, terminal });
  expect(printed.stdout + printed.stderr).not.toContain('MARKER');
  return { code, config, ...printed };
}

const signedBy = () =>
  cloud.requests.flatMap(({ headers }) => /Credential=([^/]+)/.exec(headers.authorization ?? '')?.[1] ?? []);
const parts = ['list_parts', JSON.stringify(listParts.example)];

test.each([
  ['prod', ['--account', 'prod'], ['AKFILE']],
  ['staging', ['--account', 'staging'], ['AKPROCESS']],
  ['the default', [], ['AKFILE']],
])('call is for %s', async (_what, options, keys) => {
  await run(callCommand, [...parts, ...options]);
  expect(signedBy()).toEqual(keys);
});

test('call is for none that does not exist, and for none by name without a file of accounts', async () => {
  expect(await run(callCommand, [...parts, '--account', 'other'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('prod (live customers), staging or broken'),
  });
  expect(await run(callCommand, [...parts, '--account', 'prod'], { CLOUDOPS_ACCOUNTS_FILE: '' })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('CLOUDOPS_ACCOUNTS_FILE'),
  });
  expect(signedBy()).toEqual([]);
});

test('call is for none if the option and the arguments name different ones', async () => {
  const of = (account: string) => [
    'list_parts',
    JSON.stringify({ ...listParts.example, account }),
    '--account',
    'prod',
  ];
  expect(await run(callCommand, of('prod'))).toMatchObject({ code: 1 });
  expect(signedBy()).toEqual(['AKFILE']);
  await expect(run(callCommand, of('staging'))).resolves.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('different accounts'),
  });
  expect(signedBy()).toEqual(['AKFILE']);
});

test('doctor checks every account, and says what is wrong with its keys', async () => {
  const { code, stdout } = await run(doctorCommand, ['--json']);
  const findings: Finding[] = JSON.parse(stdout);
  const of = (check: string) => findings.filter((finding) => finding.check === check);
  for (const account of ['prod', 'staging']) {
    expect(of(`${account} storage signature`)).toMatchObject([{ status: 'ok' }]);
    expect(of(`${account} consent`)).toHaveLength(1);
  }
  expect(of('broken keys')).toMatchObject([{ status: 'problem', detail: expect.stringContaining('exit code 9') }]);
  expect(code).toBe(1);
});

test('the configuration describes the accounts that its reader may use', async () => {
  const { config } = await run(callCommand, parts);
  if (!config.ok) throw new Error(config.problems.join());
  const text = describeConfig(config.config, 'caller', ['prod']);
  expect(text).toMatch(/\| prod \(default\) \| live customers \|.*\| 5 within 60 minutes \|/);
  expect(text).not.toMatch(/staging|broken|accounts\.json/);
});
