import { realpathSync } from 'node:fs';
import { delimiter, dirname, join, resolve, sep } from 'node:path';
import type { Config } from '../config/load.js';
import { sentences } from '../util/human.js';
import { isLoopback } from '../util/uri.js';
import { type Block, type Client, clients, type LocalServer, type Quote } from './clients.js';
import { type Command, notOneOf, type Terminal, UsageError, validConfig } from './command.js';

/** `cloudops-mcp client-config`: prints the configuration of an MCP client and the place for it. No secret is in it. */
export const clientConfigCommand: Command = {
  usage: '<client> [--http URL] [--windows] [--json]',
  about:
    'print the configuration of an MCP client; --http for a server that runs elsewhere, --json for the block alone',
  positionals: 1,
  options: { http: 'value', windows: 'switch', json: 'switch' },
  run: async (invocation) => {
    const { options, terminal } = invocation;
    const [name = ''] = invocation.positionals;
    const config = validConfig(invocation);
    const client = Object.hasOwn(clients, name) ? clients[name] : undefined;
    if (client === undefined) throw new UsageError(notOneOf('client', name, Object.keys(clients)));
    const windows = options.windows !== undefined || terminal.platform === 'win32';
    const quote = quoteFor(windows);
    const instructions =
      options.http === undefined
        ? forLocal(client, config, launchCommand(terminal), windows, quote)
        : forRemote(client, options.http, quote);
    terminal.stdout.write(options.json === undefined ? textOf(client, instructions) : `${instructions.block}\n`);
    return 0;
  },
};

interface Instructions {
  /** Content for the client's configuration file. */
  readonly block: string;
  /** The client's own command that does the same. */
  readonly command: string | undefined;
  readonly secrets: readonly string[];
  readonly notes: readonly string[];
}

function forLocal(
  { local, commands, notes = [], downloadNote }: Client,
  config: Config,
  launch: readonly string[],
  windows: boolean,
  quote: Quote,
): Instructions {
  const server = localServer(config, launch, windows);
  const hasEndpoint = config.sandbox || hasEndpoints(config.accounts);
  return {
    block: written(local(server)),
    command: commands?.local(server, quote),
    secrets: server.secrets,
    notes: sentences(
      ...notes,
      launch[0] === 'npx' && downloadNote !== undefined && downloadNote,
      !hasEndpoint && 'No endpoint is set. Add --storage-url, --catalog-url or --devops-url, or try with --sandbox.',
    ),
  };
}

const hasEndpoints = ({ all }: Config['accounts']) =>
  all.some(({ cloud }) => Object.values(cloud.endpoints).some((url) => url !== undefined));

const written = (block: Block) => (typeof block === 'string' ? block : JSON.stringify(block, null, 2));

/** Not a name with our prefix: a server that finds an unknown setting in its environment does not start. */
const tokenVariable = 'MCP_CLOUDOPS_TOKEN';

/** @throws UsageError */
function forRemote({ remote, commands, notes = [] }: Client, url: string, quote: Quote): Instructions {
  if (typeof remote === 'string') throw new UsageError(remote);
  checkUrl(url);
  const server = { url, token: tokenVariable };
  const noToken = 'Leave the token out if the server asks for none, or if its OAuth issuer signs users in.';
  return {
    block: written(remote(server)),
    command: commands?.remote(server, quote),
    secrets: [tokenVariable],
    notes: [...notes, noToken],
  };
}

/**
 * The URL of a server is not shown: it may hold a password.
 * @throws UsageError
 */
function checkUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UsageError('--http takes the URL of the server, such as https://cloudops.example.com/mcp.');
  if (url.username !== '' || url.password !== '')
    throw new UsageError('The URL of --http must not hold a user name or password.');
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new UsageError(
      'The URL of --http must begin with https://: over plain http, others could read the bearer token.',
    );
}

function localServer({ origins, sandbox }: Config, launch: readonly string[], windows: boolean): LocalServer {
  const shown = origins.filter(({ secret }) => !secret);
  const isGiven = (name: string) => shown.some((origin) => origin.name.replace(/_FILE$/, '') === name);
  const required = sandbox ? [] : ['CLOUDOPS_ACCESS_KEY_ID', 'CLOUDOPS_SECRET_ACCESS_KEY'];
  const hidden = origins.filter(({ secret }) => secret).map(({ name }) => name);
  // On Windows, what npm installs are scripts of cmd.
  const [command = '', ...args] = windows && launch[0] !== 'node' ? ['cmd', '/c', ...launch] : launch;
  return {
    command,
    args,
    // Clients start the server in a folder of their own choice.
    env: Object.fromEntries(shown.map(({ name, value, isPath }) => [name, isPath ? resolve(value) : value])),
    secrets: [...new Set([...required.filter((name) => !isGiven(name)), ...hidden])],
  };
}

/** PowerShell and POSIX shells differ in how a quotation mark is written between quotation marks. */
const quoteFor =
  (windows: boolean): Quote =>
  (value) =>
    /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", windows ? "''" : `'\\''`)}'`;

function textOf(
  { title, places, secrets: secretsNote }: Client,
  { block, command, secrets, notes }: Instructions,
): string {
  return [
    `${title}: add this to`,
    ...places.map((place) => `  ${place}`),
    '',
    block,
    ...(command === undefined ? [] : ['', 'or run', `  ${command}`]),
    ...(secrets.length === 0 ? [] : ['', `${secrets.join(', ')}: ${secretsNote}`]),
    ...notes.flatMap((note) => ['', note]),
    '',
  ].join('\n');
}

/** True once `npx -y cloudops-mcp` can install the package. Nothing else has to change then. */
const isPublished = false;

/** The command that starts this very server again, for a client that runs it elsewhere: program and arguments. */
export function launchCommand(
  { script, env, platform }: Pick<Terminal, 'script' | 'env' | 'platform'>,
  published = isPublished,
): readonly string[] {
  if (isOnPath(script, env.PATH ?? env.Path ?? '', platform)) return ['cloudops-mcp'];
  const byNpx = script.split(sep).includes('_npx');
  return byNpx && published ? ['npx', '-y', 'cloudops-mcp'] : ['node', script];
}

/** True if `cloudops-mcp` in a shell runs this script, as it does after a global installation or `npm link`. */
function isOnPath(script: string, path: string, platform: NodeJS.Platform): boolean {
  // npm adds folders to the PATH of its scripts that clients do not have.
  const folders = path
    .split(delimiter)
    .filter((folder) => folder !== '' && !/node_modules[\\/]\.bin[\\/]?$/.test(folder));
  return folders.some((folder) => {
    // On Windows, npm puts a script beside the folder of global packages instead of a link to one of them.
    if (platform === 'win32') return dirname(dirname(script)) === join(folder, 'node_modules', 'cloudops-mcp');
    try {
      return realpathSync(join(folder, 'cloudops-mcp')) === script;
    } catch {
      return false;
    }
  });
}
