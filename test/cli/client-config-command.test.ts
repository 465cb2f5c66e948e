import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { launchCommand } from '../../src/cli/client-config-command.js';
import { clients } from '../../src/cli/client-formats.js';
import type { Terminal } from '../../src/cli/command.js';
import { runCommandLine } from '../../src/cli/run.js';
import { fakeTerminal } from '../support/terminal.js';

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
 * - Qwen Code: https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/
 * - opencode: https://opencode.ai/docs/mcp-servers and https://opencode.ai/docs/permissions
 * - Goose: https://block.github.io/goose/docs/guides/config-files
 */

const env = {
  CLOUDOPS_STORAGE_URL: 'https://storage.{region}.example.com',
  CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
  CLOUDOPS_SECRET_ACCESS_KEY: 'MARKER',
};

const script = '/clone/dist/main.js';

/** Runs the command in this process, from a clone. */
async function run(args: readonly string[], given: Record<string, string> = env, changes: Partial<Terminal> = {}) {
  const env = { HOME: '/home/me', ...given, ...changes.env };
  const { terminal, printed } = fakeTerminal({ script, ...changes, env });
  const code = await runCommandLine(['client-config', ...args], terminal);
  expect(printed.stdout + printed.stderr).not.toContain('MARKER');
  return { code, ...printed };
}

async function print(
  client: string,
  { flags = [], given = env }: { flags?: string[]; given?: Record<string, string> } = {},
) {
  const done = await run([client, ...flags], given);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  return done.stdout;
}

const block = async (client: string, ...flags: string[]) =>
  JSON.parse(await print(client, { flags: ['--json', '--region', 'jp-west-2', ...flags] }));

const launch = { command: 'node', args: [script] };
const shown = {
  CLOUDOPS_STORAGE_URL: 'https://storage.{region}.example.com',
  CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
  CLOUDOPS_REGION: 'jp-west-2',
};
const server = (secret: string, fields = {}) => ({
  cloudops: { ...fields, ...launch, env: { ...shown, CLOUDOPS_SECRET_ACCESS_KEY: secret } },
});
const stdio = { type: 'stdio' };
const reference = '${' + 'CLOUDOPS_SECRET_ACCESS_KEY}';
const envReference = '${' + 'env:CLOUDOPS_SECRET_ACCESS_KEY}';

describe('each client gets its own keys, and a reference in place of the secret', () => {
  test.each<[string, object]>([
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
    ['gemini', { mcpServers: server(reference) }],
    ['qwen', { mcpServers: server(reference) }],
    [
      'opencode',
      {
        mcp: {
          cloudops: {
            type: 'local',
            command: ['node', script],
            environment: { ...shown, CLOUDOPS_SECRET_ACCESS_KEY: '{env:CLOUDOPS_SECRET_ACCESS_KEY}' },
            enabled: true,
          },
        },
        permission: { 'cloudops_*': 'ask' },
      },
    ],
  ])('%s', async (client, expected) => {
    expect(await block(client)).toEqual(expected);
  });

  test.each<[string, string, object]>([
    ['claude-desktop', 'mcpServers', { CLOUDOPS_CONFIRM: 'human' }],
    ['zed', 'context_servers', {}],
  ])('%s keeps no secrets: it gets the path of a file', async (client, servers, more) => {
    const file = '/home/me/.config/cloudops-mcp/secret-access-key';
    expect((await block(client))[servers].cloudops).toEqual({
      ...launch,
      env: { ...shown, CLOUDOPS_SECRET_ACCESS_KEY_FILE: file, ...more },
    });
    const { stdout } = await run([client, '--windows'], env, { env: { USERPROFILE: 'C:\\Users\\me' } });
    expect(stdout).toContain(JSON.stringify('C:\\Users\\me\\.config\\cloudops-mcp\\secret-access-key'));
  });

  test('goose', async () => {
    expect(await print('goose', { flags: ['--json', '--region', 'jp-west-2'] })).toBe(`extensions:
  cloudops:
    name: "cloudops"
    enabled: true
    type: "stdio"
    cmd: "node"
    args: ["/clone/dist/main.js"]
    envs: {"CLOUDOPS_ACCESS_KEY_ID":"AKIDTEST","CLOUDOPS_REGION":"jp-west-2","CLOUDOPS_STORAGE_URL":"https://storage.{region}.example.com","CLOUDOPS_CONFIRM":"human"}
    env_keys: ["CLOUDOPS_SECRET_ACCESS_KEY"]
    timeout: 300
`);
  });

  test('codex', async () => {
    const flags = ['--json', '--region', 'jp-west-2'];
    const given = { CLOUDOPS_SECRET_ACCESS_KEY: 'MARKER', CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST' };
    expect(await print('codex', { flags, given })).toBe(`[mcp_servers.cloudops]
command = "node"
args = ["/clone/dist/main.js"]
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
  ['vscode', '.vscode/mcp.json', 'asks for the value'],
  ['cursor', '~/.cursor/mcp.json', '%USERPROFILE%\\.cursor\\mcp.json'],
  ['windsurf', '~/.codeium/windsurf/mcp_config.json', 'environment'],
  ['zed', '~/.config/zed/settings.json', '%APPDATA%\\Zed\\settings.json'],
  ['codex', '~/.codex/config.toml', 'env_vars'],
  ['gemini', '~/.gemini/settings.json', 'gemini mcp add --scope user cloudops --env '],
  ['qwen', '~/.qwen/settings.json', 'environment'],
  ['opencode', '~/.config/opencode/opencode.json', 'environment'],
  ['goose', '~/.config/goose/config.yaml', 'keychain'],
])('%s: says where it goes and what to do about the secret', async (client, ...said) => {
  const text = await print(client);
  for (const part of said) expect(text).toContain(part);
  expect(text).toMatch(/^CLOUDOPS_SECRET_ACCESS_KEY: .+\.$/m);
});

describe('commands of clients', () => {
  test('leave references to secrets to the client, whatever the shell', async () => {
    const text = await print('claude-code');
    expect(text).toContain(
      `--env CLOUDOPS_SECRET_ACCESS_KEY='${reference}' --transport stdio cloudops -- node /clone/dist/main.js\n`,
    );
  });

  test('are left out where they cannot do it: Codex has no option for env_vars', async () => {
    expect(await print('codex')).not.toContain('codex mcp add');
    const sandbox = await print('codex', { flags: ['--sandbox'], given: {} });
    expect(sandbox).toContain('codex mcp add cloudops --env CLOUDOPS_SANDBOX=1 -- node /clone/dist/main.js\n');
  });

  test('quote what a shell would take apart', async () => {
    const given = { CLOUDOPS_SANDBOX: '1', CLOUDOPS_SECRETS_DIR: "/it's here" };
    const [posix, windows] = [await print('gemini', { given }), await print('gemini', { given, flags: ['--windows'] })];
    expect(posix).toContain(
      `CLOUDOPS_SECRETS_DIR='/it'\\''s here' --env CLOUDOPS_SANDBOX=1 node -- /clone/dist/main.js\n`,
    );
    expect(windows).toContain(
      `CLOUDOPS_SECRETS_DIR='/it''s here' --env CLOUDOPS_SANDBOX=1 node -- /clone/dist/main.js\n`,
    );
  });
});

test('the sandbox needs no secret', async () => {
  const text = await print('vscode', { flags: ['--sandbox', '--json'], given: {} });
  expect(JSON.parse(text)).toEqual({
    inputs: [],
    servers: { cloudops: { ...stdio, ...launch, env: { CLOUDOPS_SANDBOX: '1' } } },
  });
});

test.each([{ CLOUDOPS_PROFILE: 'prod' }, { CLOUDOPS_CREDENTIAL_PROCESS: '["/usr/local/bin/keys"]' }])(
  'with %j, no access key is asked for, because the server would refuse both',
  async (given) => {
    expect(await print('cursor', { given })).not.toContain('ACCESS_KEY');
  },
);

test('keys that are not set have a place to be put in, and what is missing is said', async () => {
  const text = await print('zed', { given: {} });
  expect(text).toContain('"CLOUDOPS_ACCESS_KEY_ID_FILE": "/home/me/.config/cloudops-mcp/access-key-id"');
  expect(text).toContain('No endpoint is set');
});

test('the address of a database may hold a password, and is treated as a secret', async () => {
  const given = { ...env, CLOUDOPS_JOURNAL: 'postgres://user:MARKER@db.example.com/cloudops' };
  const { mcpServers } = JSON.parse(await print('windsurf', { given, flags: ['--json'] }));
  expect(mcpServers.cloudops.env.CLOUDOPS_JOURNAL).toBe(envReference.replace('SECRET_ACCESS_KEY', 'JOURNAL'));
});

test('files are named so that they are found from any folder; a secret from a file needs no reference', async () => {
  const secret = join(mkdtempSync(join(tmpdir(), 'cloudops-secret-')), 'secret');
  onTestFinished(() => rmSync(dirname(secret), { recursive: true }));
  writeFileSync(secret, 'MARKER');
  const given = { CLOUDOPS_JOURNAL: 'journal.jsonl', CLOUDOPS_SECRET_ACCESS_KEY_FILE: relative('.', secret) };
  const { mcpServers } = JSON.parse(await print('cursor', { given, flags: ['--json', '--access-key-id', 'A'] }));
  expect(mcpServers.cloudops.env).toEqual({
    CLOUDOPS_JOURNAL: resolve('journal.jsonl'),
    CLOUDOPS_SECRET_ACCESS_KEY_FILE: secret,
    CLOUDOPS_ACCESS_KEY_ID: 'A',
  });
});

describe('--http, for a server that runs elsewhere: its URL, and a reference in place of the bearer token', () => {
  const url = 'https://cloudops.example.com/mcp';
  const token = 'MCP_CLOUDOPS_TOKEN';
  const remote = async (client: string) => JSON.parse(await print(client, { flags: ['--json', '--http', url] }));
  const headers = (reference: string) => ({ Authorization: `Bearer ${reference}` });
  const inBraces = `\${${token}}`;
  const envInBraces = `\${env:${token}}`;

  test.each<[string, object]>([
    ['claude-code', { mcpServers: { cloudops: { type: 'http', url, headers: headers(inBraces) } } }],
    [
      'vscode',
      {
        inputs: [{ type: 'promptString', id: 'mcp-cloudops-token', description: token, password: true }],
        servers: { cloudops: { type: 'http', url, headers: headers('${' + 'input:mcp-cloudops-token}') } },
      },
    ],
    ['cursor', { mcpServers: { cloudops: { url, headers: headers(envInBraces) } } }],
    ['windsurf', { mcpServers: { cloudops: { serverUrl: url, headers: headers(envInBraces) } } }],
    ['zed', { context_servers: { cloudops: { url, headers: headers(`<${token}>`) } } }],
    ['gemini', { mcpServers: { cloudops: { httpUrl: url, headers: headers(inBraces) } } }],
    ['qwen', { mcpServers: { cloudops: { httpUrl: url, headers: headers(inBraces) } } }],
    [
      'opencode',
      {
        mcp: { cloudops: { type: 'remote', url, headers: headers(`{env:${token}}`), enabled: true } },
        permission: { 'cloudops_*': 'ask' },
      },
    ],
  ])('%s', async (client, expected) => {
    expect(await remote(client)).toEqual(expected);
  });

  test('codex', async () => {
    expect(await print('codex', { flags: ['--json', '--http', url] })).toBe(
      `[mcp_servers.cloudops]\nurl = "${url}"\nbearer_token_env_var = "${token}"\n`,
    );
  });

  test.each([
    [
      'claude-code',
      `claude mcp add --scope project --transport http cloudops ${url} --header 'Authorization: Bearer ${inBraces}'`,
    ],
    ['codex', `codex mcp add cloudops --url ${url} --bearer-token-env-var ${token}`],
    ['gemini', `gemini mcp add --scope user -t http -H 'Authorization: Bearer ${inBraces}' cloudops ${url}`],
  ])('%s has a command of its own', async (client, command) => {
    const text = await print(client, { flags: ['--http', url] });
    expect(text).toContain(`\n  ${command}\n`);
    expect(text).toMatch(new RegExp(`^${token}: .+\\.$`, 'm'));
  });

  test('the token of a client that looks up no variables stands in the block', async () => {
    const text = await print('zed', { flags: ['--http', url] });
    expect(text.replaceAll(/\s+/g, ' ')).toContain(
      `${token}: Zed looks up no variables. Put the token itself in its place`,
    );
    expect(text).not.toContain('file that the block names');
  });

  test('settings of this server are not for a server elsewhere', async () => {
    expect(await print('cursor', { flags: ['--http', url] })).not.toContain('CLOUDOPS_ACCESS_KEY_ID');
  });

  test('plain http is for loopback', async () => {
    expect(await print('cursor', { flags: ['--http', 'http://127.0.0.1:8080/mcp'] })).toContain(
      '"http://127.0.0.1:8080/mcp"',
    );
  });

  test.each([
    ['http://cloudops.example.com/mcp', 'must begin with https://'],
    ['https://user:MARKER@cloudops.example.com/mcp', 'must not hold a user name'],
    ['cloudops.example.com:MARKER', 'takes the URL of the server'],
    ['file:///MARKER', 'takes the URL of the server'],
  ])('%s is no such URL', async (given, said) => {
    expect(await run(['cursor', '--http', given])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(said),
    });
  });

  test('goose', async () => {
    expect(await print('goose', { flags: ['--json', '--http', url] })).toBe(`extensions:
  cloudops:
    name: "cloudops"
    enabled: true
    type: "streamable_http"
    uri: "${url}"
    headers: {"Authorization":"Bearer ${inBraces}"}
    env_keys: ["${token}"]
    timeout: 300
`);
  });

  test.each(['claude-desktop', 'claude-ai', 'chatgpt'])(
    '%s takes no URL in a file: it says where to enter it',
    async (client) => {
      const text = await print(client, { flags: ['--http', url] });
      expect(text).toContain(`enter this at\n  Settings > `);
      expect(text).toContain(`\n  ${url}\n`);
      expect(text).toContain('CLOUDOPS_HTTP_ISSUER');
      expect(await run([client, '--http', url, '--json'])).toMatchObject({ code: 2, stdout: '' });
    },
  );

  test.each(['claude-ai', 'chatgpt'])('%s starts no programs', async (client) => {
    expect(await run([client])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--http') });
  });
});

describe('what saves an hour', () => {
  test.each([
    ['claude-code', 'asks once for approval'],
    ['gemini', 'folders that it trusts'],
    ['gemini', 'shows no error if the server does not start'],
    ['opencode', 'shows no results of calls'],
    ['vscode', 'whether you trust the server'],
    ['claude-desktop', 'start it again'],
  ])('%s: %s', async (client, note) => {
    expect(await print(client)).toContain(note);
  });

  test.each(['claude-desktop', 'goose'])(
    '%s has a button, and only that counts, unless somebody chose otherwise',
    async (client) => {
      expect(await print(client)).toContain('CLOUDOPS_CONFIRM=human');
      const chosen = await print(client, { flags: ['--confirm', 'ask', '--json'] });
      expect(chosen).toContain('ask');
      expect(chosen).not.toContain('human');
      for (const flags of [['--read-only'], ['--confirm', 'off']])
        expect(await print(client, { flags })).not.toContain('human');
    },
  );

  test.each(['gemini', 'qwen', 'opencode', 'zed', 'windsurf'])(
    '%s cannot ask: a warning says that models carry plans out, and what to do about it',
    async (client) => {
      const text = await print(client);
      expect(text).toMatch(
        /^Warning: .* does not show questions from servers\. .* (ask you|asks) before .*CLOUDOPS_CONFIRM=human/m,
      );
      expect(await print(client, { flags: ['--read-only'] })).not.toContain('Warning');
    },
  );

  test.each(['claude-code', 'codex', 'vscode', 'cursor'])('%s asks, and needs no such warning', async (client) => {
    expect(await print(client)).not.toMatch(/Warning|human/);
  });

  test('a sandbox that was left in the environment of an account is warned of', async () => {
    expect(await print('cursor', { given: { ...env, CLOUDOPS_SANDBOX: '1' } })).toMatch(
      /^CLOUDOPS_SANDBOX is set, so the server uses the sandbox and ignores CLOUDOPS_ACCESS_KEY_ID, .*CLOUDOPS_STORAGE_URL/m,
    );
    expect(await print('cursor', { given: { CLOUDOPS_SANDBOX: '1' } })).not.toContain('ignores');
  });

  test('every client says what to do about secrets', () => {
    for (const { secretsNote } of Object.values(clients)) expect(secretsNote).toMatch(/\.$/);
  });
});

describe('the command is one that works there and then', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cloudops-launch-')));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** A script of ours in a folder, with links to it in other folders. */
  function installed(place: string, ...links: string[]) {
    const main = join(folder, place, 'dist', 'main.js');
    mkdirSync(join(folder, place, 'dist'), { recursive: true });
    writeFileSync(main, '');
    for (const link of links) {
      mkdirSync(join(folder, link), { recursive: true });
      symlinkSync(main, join(folder, link, 'cloudops-mcp'));
    }
    return main;
  }
  const launched = (
    script: string,
    path: readonly string[],
    published: boolean,
    platform: NodeJS.Platform = 'linux',
  ) => {
    const env = { PATH: path.map((entry) => join(folder, entry)).join(delimiter) };
    return launchCommand({ script, env, platform }, published);
  };

  test('from a clone: node with the absolute path, published or not', () => {
    const clone = installed('clone');
    expect([launched(clone, ['bin'], false), launched(clone, ['bin'], true)]).toEqual(Array(2).fill(['node', clone]));
  });

  test('after a global installation: its name, where the PATH leads to this very script', () => {
    const global = installed('lib/node_modules/cloudops-mcp', 'global/bin');
    expect(launched(global, ['nowhere', 'global/bin'], false)).toEqual(['cloudops-mcp']);
    expect(launched(installed('another'), ['global/bin'], false)).toEqual([
      'node',
      join(folder, 'another/dist/main.js'),
    ]);
  });

  test('from the dependencies of a project, whose commands are on the PATH of npm alone: node', () => {
    const local = installed('project/node_modules/cloudops-mcp', 'project/node_modules/.bin');
    expect(launched(local, ['project/node_modules/.bin'], true)).toEqual(['node', local]);
  });

  test('by npx: npx once the package is published, until then node', () => {
    const cached = installed('_npx/0a1b/node_modules/cloudops-mcp', '_npx/0a1b/node_modules/.bin');
    const path = ['_npx/0a1b/node_modules/.bin'];
    expect(launched(cached, path, true)).toEqual(['npx', '-y', 'cloudops-mcp']);
    expect(launched(cached, path, false)).toEqual(['node', cached]);
  });

  test('--absolute: Node.js and the server by their full paths, wherever the PATH leads', async () => {
    const changes = { node: '/opt/node/bin/node', env: { PATH: '' } };
    const { stdout } = await run(['cursor', '--absolute', '--json'], env, changes);
    expect(JSON.parse(stdout).mcpServers.cloudops).toMatchObject({ command: '/opt/node/bin/node', args: [script] });
    const windows = await run(['cursor', '--absolute', '--json'], env, { ...changes, platform: 'win32' });
    expect(JSON.parse(windows.stdout).mcpServers.cloudops.command).toBe('/opt/node/bin/node');
    expect((await run(['zed'])).stdout).toContain('add --absolute');
    expect((await run(['zed', '--absolute'])).stdout).not.toContain('add --absolute');
  });

  test('on Windows, a global installation is beside its packages', async () => {
    const global = installed('npm/node_modules/cloudops-mcp');
    expect(launched(global, ['npm'], false, 'win32')).toEqual(['cloudops-mcp']);
    // There it is a script of cmd.
    const terminal = { script: global, platform: 'win32', env: { PATH: join(folder, 'npm') } } as const;
    const { stdout } = await run(['claude-desktop', '--json'], env, terminal);
    expect(JSON.parse(stdout).mcpServers.cloudops).toMatchObject({ command: 'cmd', args: ['/c', 'cloudops-mcp'] });
  });
});

test.each([
  [
    ['cursr'],
    'cursr is not a client; did you mean cursor? The clients are claude-desktop, claude-ai, chatgpt, claude-code,',
  ],
  [[], 'Name a client: claude-desktop,'],
  [['toString'], 'toString is not a client'],
  [['cursor', '--regoin', 'x'], '--regoin is not an option'],
])('a client that does not exist is answered with those that do: %j', async (args, said) => {
  expect(await run(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(said) });
});
