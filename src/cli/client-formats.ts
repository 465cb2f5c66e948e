/** Configuration formats that several MCP clients share, and their building blocks. */

export interface LocalServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables that hold secrets. They are not in `env`. */
  readonly secrets: readonly string[];
}

export interface RemoteServer {
  readonly url: string;
  /** Name of the environment variable with the bearer token. */
  readonly token: string;
}

/** Quotes a value for the shell of the system. */
export type Quote = (value: string) => string;

/** Content for a client's configuration file: a JSON value, or text in another format. */
export type Block = object | string;

/** Instructions for a client that has a form instead of a configuration file. */
export interface ByHand {
  readonly place: string;
  readonly about: string;
}

type Reference = (name: string) => string;
export const inBraces: Reference = (name) => `\${${name}}`;
export const envInBraces: Reference = (name) => `\${env:${name}}`;
export const opencodeReference: Reference = (name) => `{env:${name}}`;
const inputId = (name: string) =>
  name
    .replace(/^CLOUDOPS_/, '')
    .toLowerCase()
    .replaceAll('_', '-');
const inputReference: Reference = (name) => `\${input:${inputId(name)}}`;

export const bearer = (reference: Reference, token: string) => `Bearer ${reference(token)}`;

/** The variables of a server. Secrets are references that the client resolves. */
export const withReferences = ({ env, secrets }: LocalServer, reference: Reference) => ({
  ...env,
  ...Object.fromEntries(secrets.map((name) => [name, reference(name)])),
});

/** Makes the JSON blocks that most clients share. Clients differ in the key for servers and in additional fields. */
export const jsonFile = (
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

/** The secrets that VS Code asks for. */
export const promptInputs = (names: readonly string[]) =>
  names.map((name) => ({ type: 'promptString', id: inputId(name), description: name, password: true }));
export const vscodeFile = jsonFile(inputReference, {
  servers: 'servers',
  local: { type: 'stdio' },
  remote: { type: 'http' },
});

/** A TOML table. TOML writes strings and lists of strings like JSON. */
export const tomlTable = (name: string, values: object) =>
  [`[${name}]`, ...Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)].join('\n');

/** A YAML file. Any JSON value is valid YAML. */
export const gooseExtension = (fields: object) =>
  [
    'extensions:',
    '  cloudops:',
    ...Object.entries({ name: 'cloudops', enabled: true, ...fields, timeout: 300 }).map(
      ([key, value]) => `    ${key}: ${JSON.stringify(value)}`,
    ),
  ].join('\n');

export const opencodeAsks = { permission: { 'cloudops_*': 'ask' } };

export const connector = (place: string): ByHand => ({
  place,
  about:
    'The server has to be reachable from the internet, and to sign its users in with OAuth (CLOUDOPS_HTTP_ISSUER).',
});

export const envOptions = (server: LocalServer, quote: Quote) =>
  Object.entries(withReferences(server, inBraces)).map(([name, value]) => `--env ${name}=${quote(value)}`);
export const commandLine = (...parts: readonly (string | readonly string[])[]) => parts.flat().join(' ');
export const launch = ({ command, args }: LocalServer, quote: Quote) => [command, ...args].map(quote);
export const header = (quote: Quote, token: string) => quote(`Authorization: ${bearer(inBraces, token)}`);
