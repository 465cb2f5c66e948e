import { resolve } from 'node:path';
import type { Config } from '../config/load.js';
import { isLoopback } from '../util/uri.js';
import { type Client, clients, type LocalServer, type Quote } from './clients.js';
import { type Command, notOneOf, withConfig } from './command.js';
import { launchCommand } from './launch.js';

/** `cloudops-mcp client-config`: what to paste into the settings of an MCP client, and where. No secret is in it. */
export const clientConfigCommand: Command = {
  usage: '<client> [--http URL] [--windows] [--json]',
  about:
    'print the configuration of an MCP client; --http for a server that runs elsewhere, --json for the block alone',
  positionals: 1,
  options: { http: 'value', windows: 'switch', json: 'switch' },
  run: withConfig(async ({ positionals: [name = ''], options, terminal }, config) => {
    const client = Object.hasOwn(clients, name) ? clients[name] : undefined;
    const windows = options.windows !== undefined || terminal.platform === 'win32';
    const answer =
      client === undefined
        ? { problem: notOneOf('client', name, Object.keys(clients)) }
        : options.http === undefined
          ? forLocal(client, config, launchCommand(terminal), windows)
          : forRemote(client, options.http, windows);
    if ('problem' in answer) {
      terminal.printError(`${answer.problem}\n`);
      return 2;
    }
    terminal.print(options.json === undefined ? answer.instructions : `${answer.block}\n`);
    return 0;
  }),
};

interface Answer {
  readonly block: string;
  /** The block with what a person has to know. */
  readonly instructions: string;
}

function forLocal(client: Client, config: Config, launch: readonly string[], windows: boolean): Answer {
  const server = localServer(config, launch, windows);
  const hasEndpoint = config.sandbox || Object.values(config.cloud.endpoints).some((url) => url !== undefined);
  return {
    block: client.local.block(server),
    instructions: instructions(client, {
      block: client.local.block(server),
      command: client.local.command?.(server, quoteFor(windows)),
      secrets: server.secrets,
      notes: [
        ...(client.notes ?? []),
        ...(launch[0] === 'npx' && client.downloadNote !== undefined ? [client.downloadNote] : []),
        ...(hasEndpoint
          ? []
          : ['No endpoint is set. Add --storage-url, --catalog-url or --devops-url, or try with --sandbox.']),
      ],
    }),
  };
}

/** Settings other than our own would stop a server that finds them in its environment. */
const tokenVariable = 'MCP_CLOUDOPS_TOKEN';

function forRemote(client: Client, url: string, windows: boolean): Answer | { readonly problem: string } {
  const { remote, notes = [] } = client;
  if (typeof remote === 'string') return { problem: remote };
  const problem = urlProblem(url);
  if (problem !== undefined) return { problem };
  const server = { url, token: tokenVariable };
  const noToken = 'Leave the token out if the server asks for none, or if its OAuth issuer signs users in.';
  return {
    block: remote.block(server),
    instructions: instructions(client, {
      block: remote.block(server),
      command: remote.command?.(server, quoteFor(windows)),
      secrets: [tokenVariable],
      notes: [...notes, noToken],
    }),
  };
}

/** What is wrong with the URL of a server. It is not shown: it may hold a password. */
function urlProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return '--http takes the URL of the server, such as https://cloudops.example.com/mcp.';
  if (url.username !== '' || url.password !== '') return 'The URL of --http must not hold a user name or password.';
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return 'The URL of --http must begin with https://: over plain http, others could read the bearer token.';
  return undefined;
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

function instructions(
  { title, places, secrets: secretsNote }: Client,
  {
    block,
    command,
    secrets,
    notes,
  }: {
    readonly block: string;
    readonly command: string | undefined;
    readonly secrets: readonly string[];
    readonly notes: readonly string[];
  },
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
