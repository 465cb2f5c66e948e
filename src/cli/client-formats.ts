/** This file has the place and the format of each MCP client's configuration, with notes for users. */

export interface LocalServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables that hold secrets. They are not in `env`. */
  readonly secrets: readonly string[];
}

interface RemoteServer {
  readonly url: string;
  /** Name of the environment variable with the bearer token. */
  readonly token: string;
}

/** Quotes a value for the shell of the system. */
export type Quote = (value: string) => string;

/** Content for a client's configuration file, as a JSON value or as text in another format. */
export type Block = object | string;

/** The form of a client in which users enter the URL of a server that runs elsewhere. Such a client has no configuration file for it. */
interface UrlForm {
  /** The way to the form, such as `Settings > Connectors`. */
  readonly place: string;
  readonly about: string;
}

export interface McpHost {
  readonly title: string;
  /** How users of the client decide on a change. With `not`, models carry out a plan after a yes in the conversation. */
  readonly decisionWay: 'by form' | 'by view' | 'not';
  readonly places: readonly string[];
  /** Makes the block for a server that the client starts. Absent if the client starts no programs. */
  readonly local?: (server: LocalServer) => Block;
  /** Makes the block for a server with a URL, or is the form in which users enter the URL. */
  readonly remote: ((server: RemoteServer) => Block) | UrlForm;
  /** A note that says how the client itself can ask the user before it calls a tool. */
  readonly permissions?: string;
  /** The client's commands that add the server. `local` returns undefined if the command cannot pass secrets. */
  readonly commands?: {
    readonly local: (server: LocalServer, quote: Quote) => string | undefined;
    readonly remote: (server: RemoteServer, quote: Quote) => string;
  };
  /** A note that says where the user puts the values of secrets. */
  readonly secretsNote: string;
  /** Replaces `secretsNote` for the bearer token of a server that runs elsewhere. */
  readonly tokenNote?: string;
  /** Set if the client reads the values of secrets only from the block. The block then has paths of files with the secrets. */
  readonly cannotLookUpVariables?: true;
  /** Set if the client is started from the desktop, and so without the PATH that a shell sets. */
  readonly isOnDesktop?: true;
  readonly notes?: readonly string[];
  /** A note about the first start, which takes longer because npx downloads the package. */
  readonly downloadNote?: string;
}

type Reference = (name: string) => string;
const inBraces: Reference = (name) => `\${${name}}`;
const envInBraces: Reference = (name) => `\${env:${name}}`;
/** A placeholder that users replace by the value, for a client that looks up no variables. */
const inAngleBrackets: Reference = (name) => `<${name}>`;
const opencodeReference: Reference = (name) => `{env:${name}}`;
const inputReference: Reference = (name) => `\${input:${kebabCase(name)}}`;
/** The name of a variable without its prefix, in kebab case: `secret-access-key`. */
export const kebabCase = (variable: string) =>
  variable
    .replace(/^CLOUDOPS_/, '')
    .toLowerCase()
    .replaceAll('_', '-');

const bearer = (reference: Reference, token: string) => `Bearer ${reference(token)}`;

/** The environment variables of a server. In place of a secret, there is a reference such as `${NAME}`, which the client resolves. */
const withReferences = ({ env, secrets }: LocalServer, reference: Reference) => ({
  ...env,
  ...Object.fromEntries(secrets.map((name) => [name, reference(name)])),
});

/** Returns the functions `local` and `remote` of a client with a JSON file. Clients differ in the field for servers and in some other fields. */
const jsonFile = (
  reference: Reference,
  { servers = 'mcpServers', urlField = 'url', local = {}, remote = {} } = {},
) => ({
  local: (server: LocalServer) => {
    const { command, args } = server;
    return { [servers]: { cloudops: { ...local, command, args, env: withReferences(server, reference) } } };
  },
  remote: ({ url, token }: RemoteServer) => {
    const headers = { Authorization: bearer(reference, token) };
    return { [servers]: { cloudops: { ...remote, [urlField]: url, headers } } };
  },
});

/** The inputs of a configuration for VS Code, which asks the user for the value of each secret. */
const promptInputs = (names: readonly string[]) =>
  names.map((name) => ({ type: 'promptString', id: kebabCase(name), description: name, password: true }));
const vscodeFile = jsonFile(inputReference, {
  servers: 'servers',
  local: { type: 'stdio' },
  remote: { type: 'http' },
});

/** Writes a TOML table. Strings and lists of strings are written as in JSON. */
const tomlTable = (name: string, values: object) =>
  [`[${name}]`, ...Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)].join('\n');

/** Writes the YAML file of Goose. The values are written as JSON, which is valid YAML. */
const gooseExtension = (fields: object) =>
  [
    'extensions:',
    '  cloudops:',
    ...Object.entries({ name: 'cloudops', enabled: true, ...fields, timeout: 300 }).map(
      ([key, value]) => `    ${key}: ${JSON.stringify(value)}`,
    ),
  ].join('\n');

const opencodeAsks = { permission: { 'cloudops_*': 'ask' } };

const connector = (place: string): UrlForm => ({
  place,
  about:
    'The server has to be reachable from the internet, and to sign its users in with OAuth (CLOUDOPS_HTTP_ISSUER).',
});

const envOptions = (server: LocalServer, quote: Quote) =>
  Object.entries(withReferences(server, inBraces)).map(([name, value]) => `--env ${name}=${quote(value)}`);
const commandLine = (...parts: readonly (string | readonly string[])[]) => parts.flat().join(' ');
const launch = ({ command, args }: LocalServer, quote: Quote) => [command, ...args].map(quote);
const header = (quote: Quote, token: string) => quote(`Authorization: ${bearer(inBraces, token)}`);

const inHome = (path: string) => `~/${path} (Windows: %USERPROFILE%\\${path.replaceAll('/', '\\')})`;
const inFiles = 'put the value into the file that the block names. Only you should be able to read it (mode 600).';
const inherited = 'the client reads it from the environment that it is started in. Set it there.';

const haveItAsk = (title: string) =>
  `Have ${title} ask you before it calls a tool that changes something, and do not allow such a tool for good.`;

export const clients: Readonly<Record<string, McpHost>> = {
  'claude-desktop': {
    title: 'Claude Desktop',
    decisionWay: 'by view',
    places: [
      'macOS: ~/Library/Application Support/Claude/claude_desktop_config.json',
      'Windows: %APPDATA%\\Claude\\claude_desktop_config.json',
      'Linux: ~/.config/Claude/claude_desktop_config.json',
    ],
    local: jsonFile(inBraces).local,
    remote: connector('Settings > Connectors > Add custom connector'),
    secretsNote: inFiles,
    cannotLookUpVariables: true,
    isOnDesktop: true,
    notes: ['Quit Claude Desktop and start it again: it reads the file when it starts.'],
  },
  'claude-ai': {
    title: 'claude.ai',
    decisionWay: 'by view',
    places: [],
    remote: connector('Settings > Connectors > Add custom connector'),
    secretsNote: inherited,
  },
  chatgpt: {
    title: 'ChatGPT',
    decisionWay: 'by view',
    places: [],
    remote: connector('Settings > Apps & Connectors, once its advanced settings have the developer mode on'),
    secretsNote: inherited,
  },
  'claude-code': {
    title: 'Claude Code',
    decisionWay: 'by form',
    places: ['.mcp.json in the folder of the project'],
    ...jsonFile(inBraces, { local: { type: 'stdio' }, remote: { type: 'http' } }),
    commands: {
      local: (server, quote) =>
        commandLine(
          'claude mcp add --scope project',
          envOptions(server, quote),
          '--transport stdio cloudops --',
          launch(server, quote),
        ),
      remote: ({ url, token }, quote) =>
        commandLine(
          'claude mcp add --scope project --transport http cloudops',
          quote(url),
          '--header',
          header(quote, token),
        ),
    },
    secretsNote: inherited,
    notes: [
      'Claude Code asks once for approval of the servers in .mcp.json. Until then it does not start them: see /mcp.',
    ],
  },
  vscode: {
    title: 'VS Code',
    decisionWay: 'by form',
    places: [
      '.vscode/mcp.json in the folder of the project',
      'or the file that the command "MCP: Open User Configuration" opens',
    ],
    local: (server) => ({ inputs: promptInputs(server.secrets), ...vscodeFile.local(server) }),
    remote: (server) => ({ inputs: promptInputs([server.token]), ...vscodeFile.remote(server) }),
    secretsNote: 'VS Code asks for the value, and stores it encrypted.',
    notes: ['VS Code asks once whether you trust the server, and starts it after that.'],
  },
  cursor: {
    title: 'Cursor',
    decisionWay: 'by form',
    places: [inHome('.cursor/mcp.json'), 'or .cursor/mcp.json in the folder of a project'],
    ...jsonFile(envInBraces, { local: { type: 'stdio' } }),
    secretsNote: inherited,
    isOnDesktop: true,
  },
  windsurf: {
    title: 'Windsurf',
    decisionWay: 'not',
    places: [inHome('.codeium/windsurf/mcp_config.json')],
    ...jsonFile(envInBraces, { urlField: 'serverUrl' }),
    permissions: haveItAsk('Windsurf'),
    secretsNote: inherited,
    isOnDesktop: true,
  },
  zed: {
    title: 'Zed',
    decisionWay: 'not',
    places: ['macOS and Linux: ~/.config/zed/settings.json', 'Windows: %APPDATA%\\Zed\\settings.json'],
    ...jsonFile(inAngleBrackets, { servers: 'context_servers' }),
    permissions: haveItAsk('Zed'),
    secretsNote: inFiles,
    tokenNote:
      'Zed looks up no variables. Put the token itself in its place, and keep the file to yourself (mode 600).',
    cannotLookUpVariables: true,
    isOnDesktop: true,
  },
  goose: {
    title: 'Goose',
    decisionWay: 'by view',
    places: ['macOS and Linux: ~/.config/goose/config.yaml', 'Windows: %APPDATA%\\Block\\goose\\config\\config.yaml'],
    local: ({ command, args, env, secrets }) =>
      gooseExtension({ type: 'stdio', cmd: command, args, envs: env, env_keys: secrets }),
    remote: ({ url, token }) => {
      const headers = { Authorization: bearer(inBraces, token) };
      return gooseExtension({ type: 'streamable_http', uri: url, headers, env_keys: [token] });
    },
    secretsNote: 'Goose reads it from its keychain, or from the environment that it is started in. Set it there.',
    isOnDesktop: true,
  },
  codex: {
    title: 'Codex',
    decisionWay: 'by form',
    places: [inHome('.codex/config.toml')],
    local: ({ command, args, env, secrets }) =>
      [
        tomlTable('mcp_servers.cloudops', { command, args, env_vars: secrets }),
        tomlTable('mcp_servers.cloudops.env', env),
      ].join('\n\n'),
    remote: ({ url, token }) => tomlTable('mcp_servers.cloudops', { url, bearer_token_env_var: token }),
    commands: {
      // `codex mcp add` has no option for `env_vars`, so it cannot add a server with secrets.
      local: (server, quote) =>
        server.secrets.length > 0
          ? undefined
          : commandLine('codex mcp add cloudops', envOptions(server, quote), '--', launch(server, quote)),
      remote: ({ url, token }, quote) =>
        commandLine('codex mcp add cloudops --url', quote(url), '--bearer-token-env-var', token),
    },
    secretsNote: 'Codex reads what the block names from the environment that it is started in. Set it there.',
    downloadNote:
      'Codex waits 10 seconds for a server to start, and the first download may take longer. Run the command once before, or set startup_timeout_sec.',
  },
  gemini: {
    title: 'Gemini CLI',
    decisionWay: 'not',
    places: [inHome('.gemini/settings.json'), 'or .gemini/settings.json in the folder of a project'],
    ...jsonFile(inBraces, { urlField: 'httpUrl' }),
    commands: {
      local: (server, quote) =>
        commandLine(
          'gemini mcp add --scope user cloudops',
          envOptions(server, quote),
          quote(server.command),
          server.args.length === 0 ? [] : ['--', ...server.args.map(quote)],
        ),
      remote: ({ url, token }, quote) =>
        commandLine('gemini mcp add --scope user -t http -H', header(quote, token), 'cloudops', quote(url)),
    },
    permissions: haveItAsk('Gemini CLI'),
    secretsNote: inherited,
    notes: [
      'Gemini CLI starts servers only in folders that it trusts: see /permissions.',
      'Gemini CLI shows no error if the server does not start. Run cloudops-mcp doctor with the same settings: it says what is wrong.',
    ],
  },
  qwen: {
    title: 'Qwen Code',
    // Qwen Code declares views, but shows none in a terminal.
    decisionWay: 'not',
    places: [inHome('.qwen/settings.json'), 'or .qwen/settings.json in the folder of a project'],
    ...jsonFile(inBraces, { urlField: 'httpUrl' }),
    permissions: haveItAsk('Qwen Code'),
    secretsNote: inherited,
  },
  opencode: {
    title: 'opencode',
    decisionWay: 'not',
    places: [inHome('.config/opencode/opencode.json'), 'or opencode.json in the folder of a project'],
    local: (server) => {
      const command = [server.command, ...server.args];
      const environment = withReferences(server, opencodeReference);
      return { mcp: { cloudops: { type: 'local', command, environment, enabled: true } }, ...opencodeAsks };
    },
    remote: ({ url, token }) => {
      const headers = { Authorization: bearer(opencodeReference, token) };
      return { mcp: { cloudops: { type: 'remote', url, headers, enabled: true } }, ...opencodeAsks };
    },
    permissions:
      'opencode calls tools without asking unless its permissions say otherwise: with those of the block, it asks before each call of this server.',
    secretsNote: inherited,
    notes: ['opencode shows no results of calls: have the agent show you a plan in full before you agree to it.'],
  },
};
