import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCommandLine } from '../../src/cli/run.js';
import { fakeTerminal } from '../support/terminal.js';

/** The `mcpServers` JSON that most MCP clients read. docs/CLIENTS.md says what differs elsewhere. */

const env = {
  CLOUDOPS_STORAGE_URL: 'https://storage.{region}.example.com',
  CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
  CLOUDOPS_SECRET_ACCESS_KEY: 'MARKER',
};
const reference = (name: string) => `\${${name}}`;

/** Runs the command in this process. It prints no secret. */
async function run(given: Record<string, string> = env, ...args: readonly string[]) {
  const { terminal, printed } = fakeTerminal({ script: '/clone/dist/main.js', node: '/opt/bin/node', env: given });
  const code = await runCommandLine(['client-config', ...args], terminal);
  expect(printed.stdout + printed.stderr).not.toContain('MARKER');
  return { code, ...printed };
}

async function serverOf(given: Record<string, string>, ...args: readonly string[]) {
  const { code, stdout } = await run(given, ...args);
  expect(code).toBe(0);
  return JSON.parse(stdout).mcpServers.cloudops;
}

test('a server that the client starts has full paths, the settings, and a reference in place of a secret', async () => {
  expect(await serverOf({ ...env, CLOUDOPS_REGION: 'jp-west-2' })).toEqual({
    command: '/opt/bin/node',
    args: ['/clone/dist/main.js'],
    env: {
      CLOUDOPS_STORAGE_URL: 'https://storage.{region}.example.com',
      CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
      CLOUDOPS_REGION: 'jp-west-2',
      CLOUDOPS_SECRET_ACCESS_KEY: reference('CLOUDOPS_SECRET_ACCESS_KEY'),
    },
  });
  expect((await run()).stderr).toMatch(/^Set CLOUDOPS_SECRET_ACCESS_KEY in the environment of the client/m);
});

test('the sandbox needs no secret', async () => {
  const given = { CLOUDOPS_SANDBOX: '1', CLOUDOPS_READ_ONLY: '1' };
  expect((await serverOf(given)).env).toEqual(given);
  expect((await run(given)).stderr).toBe('');
});

test.each([{ CLOUDOPS_PROFILE: 'prod' }, { CLOUDOPS_CREDENTIAL_PROCESS: '["/usr/local/bin/keys"]' }])(
  'with %j, no access key is asked for, because the server would refuse both',
  async (given) => {
    expect(Object.keys((await serverOf(given)).env)).toEqual(Object.keys(given));
  },
);

test('keys that are not set have a place to be put in, and what is missing is said', async () => {
  const { stdout, stderr } = await run({});
  expect(JSON.parse(stdout).mcpServers.cloudops.env).toEqual({
    CLOUDOPS_ACCESS_KEY_ID: reference('CLOUDOPS_ACCESS_KEY_ID'),
    CLOUDOPS_SECRET_ACCESS_KEY: reference('CLOUDOPS_SECRET_ACCESS_KEY'),
  });
  expect(stderr).toContain('Set CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_SECRET_ACCESS_KEY in the environment');
});

test('the address of a database may hold a password, and is treated as a secret', async () => {
  const { env: shown } = await serverOf({
    ...env,
    CLOUDOPS_JOURNAL: 'postgres://user:MARKER@db.example.com/cloudops',
  });
  expect(shown.CLOUDOPS_JOURNAL).toBe(reference('CLOUDOPS_JOURNAL'));
});

test('files are named so that they are found from any folder; a secret from a file needs no reference', async () => {
  const secret = join(mkdtempSync(join(tmpdir(), 'cloudops-secret-')), 'secret');
  onTestFinished(() => rmSync(dirname(secret), { recursive: true }));
  writeFileSync(secret, 'MARKER');
  const { env: shown } = await serverOf({
    CLOUDOPS_JOURNAL: 'journal.db',
    CLOUDOPS_SECRET_ACCESS_KEY_FILE: relative('.', secret),
    CLOUDOPS_ACCESS_KEY_ID: 'A',
  });
  expect(shown).toEqual({
    CLOUDOPS_JOURNAL: resolve('journal.db'),
    CLOUDOPS_SECRET_ACCESS_KEY_FILE: secret,
    CLOUDOPS_ACCESS_KEY_ID: 'A',
  });
});

test.each([
  [{}, true],
  [{ CLOUDOPS_CONFIRM: 'human' }, false],
  [{ CLOUDOPS_CONFIRM: 'off' }, false],
  [{ CLOUDOPS_READ_ONLY: '1' }, false],
])('with %j, that an agent can carry out a plan is said: %s', async (given, isSaid) => {
  expect((await run({ ...env, ...given })).stderr.includes('CLOUDOPS_CONFIRM=human')).toBe(isSaid);
});

test('a sandbox that was left in the environment of an account is warned of', async () => {
  expect((await run({ ...env, CLOUDOPS_SANDBOX: '1' })).stderr).toMatch(
    /^CLOUDOPS_SANDBOX is set, so the server uses the sandbox and ignores CLOUDOPS_ACCESS_KEY_ID, .*CLOUDOPS_STORAGE_URL/m,
  );
  expect((await run({ CLOUDOPS_SANDBOX: '1' })).stderr).not.toContain('ignores');
});
