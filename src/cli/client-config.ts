import { resolve } from 'node:path';
import type { Config } from '../config/config.js';
import { type Command, notOneOf, withConfig } from './command.js';

/** `cloudops-mcp client-config`: what to paste into the settings of an MCP client, and where. No secret is in it. */
export const clientConfigCommand: Command = {
  usage: '<client> [--windows] [--json]',
  about: 'print what to put into the settings of an MCP client; --json prints only that (TOML for Codex)',
  positionals: 1,
  options: { windows: 'switch', json: 'switch' },
  run: withConfig(async ({ positionals: [name = ''], options, terminal }, config) => {
    const client = Object.hasOwn(clients, name) ? clients[name] : undefined;
    if (client === undefined) {
      terminal.printError(`${notOneOf('client', name, Object.keys(clients))}\n`);
      return 2;
    }
    const windows = options.windows !== undefined || terminal.platform === 'win32';
    const server = serverOf(client, config, windows);
    const block = (client.block ?? jsonBlock)(server, client);
    terminal.print(options.json === undefined ? instructions(client, server, block) : `${block}\n`);
    return 0;
  }),
};

/** How a client is to start the server. */
interface Server {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Variables whose values are not for a file, or not known here, as the client refers to them. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Writes a value for the shell of the system. */
  readonly quoted: (value: string) => string;
}

interface Client {
  readonly title: string;
  readonly places: readonly string[];
  /** How it refers to a value that is not in the block, and what a person has to know of that. */
  readonly secret: { readonly reference: (name: string) => string; readonly note: string };
  /** What its servers are under, if not `mcpServers`. */
  readonly key?: string;
  /** What each server has to say beside its command. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Whether it asks the person for secrets, so that the block has to list them. */
  readonly inputs?: true;
  /** The block, if it is not JSON. */
  readonly block?: (server: Server) => string;
  /** Its own command that does the same, if it can. */
  readonly command?: (server: Server) => string | undefined;
}

const reference = (name: string) => `\${${name}}`;
const inputId = (name: string) => name.replace('CLOUDOPS_', '').toLowerCase().replaceAll('_', '-');
const byHand = { reference, note: 'put the values in their place. Whoever can read the file can read them.' };
const inherited = 'the client takes them from the environment that it is started in: set them there.';
const expanded = { reference, note: inherited };
const expandedEnv = { reference: (name: string) => `\${env:${name}}`, note: inherited };
const typed = { type: 'stdio' };
const inHome = (path: string) => `~/${path} (Windows: %USERPROFILE%\\${path.replaceAll('/', '\\')})`;

const clients: Readonly<Record<string, Client>> = {
  'claude-desktop': {
    title: 'Claude Desktop',
    places: [
      'macOS: ~/Library/Application Support/Claude/claude_desktop_config.json',
      'Windows: %APPDATA%\\Claude\\claude_desktop_config.json',
      'Linux: ~/.config/Claude/claude_desktop_config.json',
    ],
    secret: byHand,
  },
  'claude-code': {
    title: 'Claude Code',
    places: ['.mcp.json in the folder of the project'],
    secret: expanded,
    fields: typed,
    command: (server) =>
      `claude mcp add --scope project ${settings(server)}--transport stdio cloudops -- ${run(server)}`,
  },
  vscode: {
    title: 'VS Code',
    places: [
      '.vscode/mcp.json in the folder of the project',
      'or what the command "MCP: Open User Configuration" opens',
    ],
    secret: {
      reference: (name) => `\${input:${inputId(name)}}`,
      note: 'VS Code asks for them, and stores them encrypted.',
    },
    key: 'servers',
    fields: typed,
    inputs: true,
  },
  cursor: {
    title: 'Cursor',
    places: [inHome('.cursor/mcp.json'), 'or .cursor/mcp.json in the folder of a project'],
    secret: expandedEnv,
    fields: typed,
  },
  windsurf: { title: 'Windsurf', places: [inHome('.codeium/windsurf/mcp_config.json')], secret: expandedEnv },
  zed: {
    title: 'Zed',
    places: ['macOS and Linux: ~/.config/zed/settings.json', 'Windows: %APPDATA%\\Zed\\settings.json'],
    secret: byHand,
    key: 'context_servers',
  },
  codex: {
    title: 'Codex',
    places: [inHome('.codex/config.toml')],
    secret: {
      reference,
      note: 'Codex passes on what env_vars names from the environment that it is started in: set them there.',
    },
    block: toml,
    // It cannot write env_vars.
    command: (server) =>
      Object.keys(server.secrets).length > 0
        ? undefined
        : `codex mcp add cloudops ${settings(server)}-- ${run(server)}`,
  },
  gemini: {
    title: 'Gemini CLI',
    places: [inHome('.gemini/settings.json'), 'or .gemini/settings.json in the folder of a project'],
    secret: expanded,
    command: (server) =>
      `gemini mcp add --scope user cloudops ${settings(server)}${server.command} -- ${server.args.join(' ')}`,
  },
};

function serverOf({ secret }: Client, { origins, sandbox }: Config, windows: boolean): Server {
  const shown = origins.filter((origin) => !origin.secret);
  const isGiven = (name: string) => shown.some((origin) => origin.name.replace(/_FILE$/, '') === name);
  const required = sandbox ? [] : ['CLOUDOPS_ACCESS_KEY_ID', 'CLOUDOPS_SECRET_ACCESS_KEY'];
  const secrets = [
    ...required.filter((name) => !isGiven(name)),
    ...origins.filter((origin) => origin.secret).map(({ name }) => name),
  ];
  const npx = ['npx', '-y', 'cloudops-mcp'];
  const [command = '', ...args] = windows ? ['cmd', '/c', ...npx] : npx;
  return {
    command,
    args,
    env: Object.fromEntries(shown.map(({ name, value }) => [name, fromAnywhere(name, value)])),
    secrets: Object.fromEntries(secrets.map((name) => [name, secret.reference(name)])),
    // PowerShell and POSIX shells differ in how a quotation mark is written between them.
    quoted: (value) =>
      /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", windows ? "''" : `'\\''`)}'`,
  };
}

/** Clients start the server in a folder of their own choice. */
const fromAnywhere = (name: string, value: string) =>
  /_(FILE|SECRETS_DIR|JOURNAL|SANDBOX_STATE)$/.test(name) ? resolve(value) : value;

function jsonBlock({ command, args, env, secrets }: Server, { key = 'mcpServers', fields, inputs }: Client): string {
  const asked = Object.keys(secrets).map((name) => {
    return { type: 'promptString', id: inputId(name), description: name, password: true };
  });
  const servers = { cloudops: { ...fields, command, args, env: { ...env, ...secrets } } };
  return JSON.stringify({ ...(inputs && { inputs: asked }), [key]: servers }, null, 2);
}

/** JSON's texts and lists of texts are TOML's too. */
function toml({ command, args, env, secrets }: Server): string {
  const table = { command, args, env_vars: Object.keys(secrets) };
  const lines = (values: object) => Object.entries(values).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return ['[mcp_servers.cloudops]', ...lines(table), '', '[mcp_servers.cloudops.env]', ...lines(env)].join('\n');
}

const run = ({ command, args }: Server) => [command, ...args].join(' ');

/** The variables as options of a client's command. Secrets stay references, for the client to resolve. */
const settings = ({ env, secrets, quoted }: Server) =>
  Object.entries({ ...env, ...secrets })
    .map(([name, value]) => `--env ${name}=${quoted(value)} `)
    .join('');

function instructions({ title, places, secret, command }: Client, server: Server, block: string): string {
  const own = command?.(server);
  const secrets = Object.keys(server.secrets);
  const isReachable = Object.keys(server.env).some((name) => name.endsWith('_URL') || name === 'CLOUDOPS_SANDBOX');
  return [
    `${title}: add this to`,
    ...places.map((place) => `  ${place}`),
    '',
    block,
    ...(own === undefined ? [] : ['', 'or run', `  ${own}`]),
    ...(secrets.length === 0 ? [] : ['', `${secrets.join(', ')}: ${secret.note}`]),
    ...(isReachable
      ? []
      : ['', 'No endpoint is set: add --storage-url, --catalog-url or --devops-url, or try with --sandbox.']),
    '',
  ].join('\n');
}
