import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runServer } from '../support/server-process.js';

/**
 * The settings of MCP clients, as their public documentation has them:
 * - Claude Desktop: https://modelcontextprotocol.io/docs/develop/connect-local-servers
 * - Claude Code: https://code.claude.com/docs/en/mcp
 * - VS Code: https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
 * - Cursor: https://cursor.com/docs/context/mcp
 * - Windsurf: https://docs.windsurf.com/windsurf/cascade/mcp
 * - Zed: https://zed.dev/docs/ai/mcp
 * - Codex: https://developers.openai.com/codex/mcp
 * - Gemini CLI: https://geminicli.com/docs/tools/mcp-server
 */

const env = {
  CLOUDOPS_STORAGE_URL: 'https://storage.{region}.example.com',
  CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
  CLOUDOPS_SECRET_ACCESS_KEY: 'MARKER',
};

async function print(client: string, { flags = [], given = env }: { flags?: string[]; given?: object } = {}) {
  const run = await runServer(['client-config', client, ...flags], { env: { ...given } });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(run.stdout).not.toContain('MARKER');
  return run.stdout;
}

const block = async (client: string, ...flags: string[]) =>
  JSON.parse(await print(client, { flags: ['--json', '--region', 'jp-west-2', ...flags] }));

const npx = { command: 'npx', args: ['-y', 'cloudops-mcp'] };
const shown = {
  CLOUDOPS_STORAGE_URL: 'https://storage.{region}.example.com',
  CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
  CLOUDOPS_REGION: 'jp-west-2',
};
const server = (secret: string, fields = {}) => ({
  cloudops: { ...fields, ...npx, env: { ...shown, CLOUDOPS_SECRET_ACCESS_KEY: secret } },
});
const stdio = { type: 'stdio' };
const reference = '${' + 'CLOUDOPS_SECRET_ACCESS_KEY}';
const envReference = '${' + 'env:CLOUDOPS_SECRET_ACCESS_KEY}';

describe('each client gets its own keys, and a reference in place of the secret', () => {
  test.each<[string, object]>([
    ['claude-desktop', { mcpServers: server(reference) }],
    ['claude-code', { mcpServers: server(reference, stdio) }],
    [
      'vscode',
      {
        inputs: [
          { type: 'promptString', id: 'secret-access-key', description: 'CLOUDOPS_SECRET_ACCESS_KEY', password: true },
        ],
        servers: server('${' + 'input:secret-access-key}', stdio),
      },
    ],
    ['cursor', { mcpServers: server(envReference, stdio) }],
    ['windsurf', { mcpServers: server(envReference) }],
    ['zed', { context_servers: server(reference) }],
    ['gemini', { mcpServers: server(reference) }],
  ])('%s', async (client, expected) => {
    expect(await block(client)).toEqual(expected);
  });

  test('codex', async () => {
    const flags = ['--json', '--region', 'jp-west-2'];
    const given = { CLOUDOPS_SECRET_ACCESS_KEY: 'MARKER', CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST' };
    expect(await print('codex', { flags, given })).toBe(`[mcp_servers.cloudops]
command = "npx"
args = ["-y","cloudops-mcp"]
env_vars = ["CLOUDOPS_SECRET_ACCESS_KEY"]

[mcp_servers.cloudops.env]
CLOUDOPS_ACCESS_KEY_ID = "AKIDTEST"
CLOUDOPS_REGION = "jp-west-2"
`);
  });
});

test.each([
  ['claude-desktop', 'Library/Application Support/Claude/claude_desktop_config.json', '%APPDATA%\\Claude'],
  ['claude-code', '.mcp.json', 'claude mcp add --scope project --env '],
  ['vscode', '.vscode/mcp.json', 'asks for them'],
  ['cursor', '~/.cursor/mcp.json', '%USERPROFILE%\\.cursor\\mcp.json'],
  ['windsurf', '~/.codeium/windsurf/mcp_config.json', 'environment'],
  ['zed', '~/.config/zed/settings.json', '%APPDATA%\\Zed\\settings.json'],
  ['codex', '~/.codex/config.toml', 'env_vars'],
  ['gemini', '~/.gemini/settings.json', 'gemini mcp add --scope user cloudops --env '],
])('%s: says where it goes and what to do about the secret', async (client, ...said) => {
  const text = await print(client);
  for (const part of said) expect(text).toContain(part);
  expect(text).toMatch(/^CLOUDOPS_SECRET_ACCESS_KEY: .+\.$/m);
});

describe('commands of clients', () => {
  test('leave references to secrets to the client, whatever the shell', async () => {
    const text = await print('claude-code');
    expect(text).toContain(
      `--env CLOUDOPS_SECRET_ACCESS_KEY='${reference}' --transport stdio cloudops -- npx -y cloudops-mcp\n`,
    );
  });

  test('are left out where they cannot do it: Codex has no option for env_vars', async () => {
    expect(await print('codex')).not.toContain('codex mcp add');
    const sandbox = await print('codex', { flags: ['--sandbox'], given: {} });
    expect(sandbox).toContain('codex mcp add cloudops --env CLOUDOPS_SANDBOX=1 -- npx -y cloudops-mcp\n');
  });

  test('quote what a shell would take apart', async () => {
    const given = { CLOUDOPS_SANDBOX: '1', CLOUDOPS_SECRETS_DIR: "/it's here" };
    const [posix, windows] = [await print('gemini', { given }), await print('gemini', { given, flags: ['--windows'] })];
    expect(posix).toContain(`CLOUDOPS_SECRETS_DIR='/it'\\''s here' --env CLOUDOPS_SANDBOX=1 npx -- -y cloudops-mcp\n`);
    expect(windows).toContain(
      `CLOUDOPS_SECRETS_DIR='/it''s here' --env CLOUDOPS_SANDBOX=1 cmd -- /c npx -y cloudops-mcp\n`,
    );
  });
});

test('on Windows npx is run by cmd', async () => {
  const { mcpServers } = await block('claude-desktop', '--windows');
  expect(mcpServers.cloudops).toMatchObject({ command: 'cmd', args: ['/c', 'npx', '-y', 'cloudops-mcp'] });
});

test('the sandbox needs no secret', async () => {
  const text = await print('vscode', { flags: ['--sandbox', '--json'], given: {} });
  expect(JSON.parse(text)).toEqual({
    inputs: [],
    servers: { cloudops: { ...stdio, ...npx, env: { CLOUDOPS_SANDBOX: '1' } } },
  });
});

test('keys that are not set have a place to be put in, and what is missing is said', async () => {
  const text = await print('zed', { given: {} });
  expect(text).toContain(`"CLOUDOPS_ACCESS_KEY_ID": "${'$'}{CLOUDOPS_ACCESS_KEY_ID}"`);
  expect(text).toContain('No endpoint is set');
});

test('the address of a database may hold a password, and is treated as a secret', async () => {
  const given = { ...env, CLOUDOPS_JOURNAL: 'postgres://user:MARKER@db.example.com/cloudops' };
  const { mcpServers } = JSON.parse(await print('windsurf', { given, flags: ['--json'] }));
  expect(mcpServers.cloudops.env.CLOUDOPS_JOURNAL).toBe(envReference.replace('SECRET_ACCESS_KEY', 'JOURNAL'));
});

test('files are named so that they are found from any folder; a secret from a file needs no reference', async () => {
  const given = { CLOUDOPS_JOURNAL: 'journal.jsonl', CLOUDOPS_SECRET_ACCESS_KEY_FILE: 'package.json' };
  const { mcpServers } = JSON.parse(await print('cursor', { given, flags: ['--json', '--access-key-id', 'A'] }));
  expect(mcpServers.cloudops.env).toEqual({
    CLOUDOPS_JOURNAL: resolve('journal.jsonl'),
    CLOUDOPS_SECRET_ACCESS_KEY_FILE: resolve('package.json'),
    CLOUDOPS_ACCESS_KEY_ID: 'A',
  });
});

test.each([
  [['cursr'], 'cursr is not a client; did you mean cursor? There are claude-desktop, claude-code, vscode,'],
  [[], 'Name a client: claude-desktop,'],
  [['toString'], 'toString is not a client'],
  [['cursor', '--regoin', 'x'], '--regoin is not an option'],
])('a client that does not exist is answered with those that do: %j', async (args, said) => {
  expect(await runServer(['client-config', ...args])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(said),
  });
});
