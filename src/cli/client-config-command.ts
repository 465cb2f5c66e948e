import { realpathSync } from 'node:fs';
import { delimiter, dirname, join, posix, resolve, sep, win32 } from 'node:path';
import { hiddenBySandbox } from '../config/describe.js';
import type { Config } from '../config/load-config.js';
import { inputs, variableName } from '../config/settings.js';
import { type DecisionWay, decisionWays } from '../mcp/client-quirks.js';
import { sentences } from '../util/human.js';
import { defined, exact, join as joined, listed, namesOf, own, type SafeText, say } from '../util/safe-text.js';
import { isLoopback } from '../util/uri.js';
import { type Block, type ClientName, clients, type LocalServer, type McpHost, type Quote } from './client-formats.js';
import { type Command, notOneOf, pageOf, type Terminal, UsageError, validConfig } from './command.js';
import { type HelpPage, wrapped } from './layout.js';

/** `cloudops-mcp client-config` prints the configuration of an MCP client, without secrets, and the file that it goes into. */
export const clientConfigCommand: Command = {
  usage: '<client> [--http URL] [--absolute] [--windows] [--json]',
  about: 'print the configuration of an MCP client',
  details:
    '--http is for a server that runs elsewhere, --absolute names Node.js and the server by their full paths, --json prints the block alone.',
  subjects: () => Object.keys(clients),
  positionals: 1,
  options: { http: 'value', absolute: 'switch', windows: 'switch', json: 'switch' },
  run: async (invocation) => {
    const { options, terminal } = invocation;
    const [name = ''] = invocation.positionals;
    const config = validConfig(invocation);
    if (!isClientName(name)) throw new UsageError(notOneOf('client', name, Object.keys(clients)));
    const client = clients[name];
    const isWindows = options.windows !== undefined || terminal.platform === 'win32';
    const isAbsolute = options.absolute !== undefined;
    const launch: Launch = {
      commandLine: isAbsolute ? [terminal.node, terminal.script] : launchCommand(terminal),
      isAbsolute,
      isWindows,
      home: isWindows ? terminal.env.USERPROFILE : terminal.env.HOME,
    };
    const instructions =
      options.http === undefined
        ? localInstructions(client, decisionWays[name], config, launch)
        : remoteInstructions(client, options.http, quoteFor(isWindows));
    if (options.json === undefined) {
      terminal.stdout.write(textOf(client, instructions, pageOf(terminal, 'stdout')));
      return 0;
    }
    if (instructions.block === undefined) throw new UsageError(say`${defined(client.title)} has no file for that.`);
    terminal.stdout.write(`${instructions.block}\n`);
    return 0;
  },
};

const isClientName = (name: string): name is ClientName => Object.hasOwn(clients, name);

interface Instructions {
  /** The files that the block goes into, or the steps to a form. */
  readonly places: readonly string[];
  /** Content for the client's configuration file. Absent if users fill in a form. */
  readonly block: string | undefined;
  /** The client's command that adds the server. */
  readonly command: string | undefined;
  /** Names of variables that the user has to set. */
  readonly secrets: readonly string[];
  readonly notes: readonly SafeText[];
}

/** The command line that starts the server, and facts about the machine. */
interface Launch {
  readonly commandLine: readonly string[];
  /** True if the command line has full paths. */
  readonly isAbsolute: boolean;
  readonly isWindows: boolean;
  readonly home: string | undefined;
}

/**
 * Instructions for a server that the client starts.
 * @throws UsageError if the client starts no programs
 */
function localInstructions(client: McpHost, decisionWay: DecisionWay, config: Config, launch: Launch): Instructions {
  const { title, places, local, commands } = client;
  if (local === undefined)
    throw new UsageError(say`${defined(title)} starts no programs: serve over HTTP, and name the URL with --http.`);
  const { server, secretsToSet } = localServer(client, decisionWay, config, launch);
  return {
    places,
    block: blockText(local(server)),
    command: commands?.local(server, quoteFor(launch.isWindows)),
    secrets: secretsToSet,
    notes: localNotes(client, decisionWay, config, launch),
  };
}

function localNotes(client: McpHost, decisionWay: DecisionWay, config: Config, launch: Launch): readonly SafeText[] {
  const { title, notes = [], downloadNote, isOnDesktop } = client;
  const [program = ''] = launch.commandLine;
  const hidden = hiddenBySandbox(config);
  const hasEndpoint = config.sandbox || hasEndpoints(config.accounts);
  return sentences(
    ...notes.map(noteOf),
    ...decisionNotes(client, decisionWay, config),
    hidden.length > 0 &&
      say`CLOUDOPS_SANDBOX is set, so the server uses the sandbox and ignores ${listed(hidden)}. Unset it for your account.`,
    program === 'npx' && downloadNote !== undefined && noteOf(downloadNote),
    isOnDesktop === true &&
      !launch.isAbsolute &&
      say`If ${defined(title)} does not find ${own(program)}, add --absolute: what the desktop starts has a shorter PATH than your shell.`,
    !hasEndpoint && say`No endpoint is set. Add --storage-url, --catalog-url or --devops-url, or try with --sandbox.`,
  );
}

const noteOf = (note: string): SafeText => say`${defined(note)}`;

const hasEndpoints = ({ all }: Config['accounts']) =>
  all.some(({ cloud }) => Object.values(cloud.endpoints).some((url) => url !== undefined));

/** True if a model can carry out a plan after the user agreed in the conversation. */
const takesPlanIds = ({ accounts }: Config) =>
  accounts.all.some(({ confirm, policy }) => confirm === 'ask' && !policy.readOnly);

/** Notes about consent, if the server cannot ask the user through the client. */
function decisionNotes({ title, permissions }: McpHost, decisionWay: DecisionWay, config: Config): readonly SafeText[] {
  if (decisionWay === 'by form' || !takesPlanIds(config)) return [];
  if (decisionWay === 'by view')
    return [
      say`${defined(title)} does not show questions from servers, but it shows plans with a button. With CLOUDOPS_CONFIRM=human, only that button counts, not a yes that an agent reports.`,
    ];
  const warning = sentences(
    say`Warning: ${defined(title)} does not show questions from servers. An agent can carry out a change with two calls: the first returns the plan, the second carries it out.`,
    permissions !== undefined && noteOf(permissions),
    say`With CLOUDOPS_CONFIRM=human, you decide outside of it, with cloudops-mcp view or cloudops-mcp call.`,
  );
  return [joined(warning, ' ')];
}

const blockText = (block: Block) => (typeof block === 'string' ? block : JSON.stringify(block, null, 2));

/** Has no prefix CLOUDOPS_, because a server refuses to start with an unknown setting in its environment. */
const tokenVariable = 'MCP_CLOUDOPS_TOKEN';

/**
 * Instructions for a server that runs elsewhere.
 * @throws UsageError if the URL cannot be used
 */
function remoteInstructions(
  { places, remote, commands, permissions, notes = [] }: McpHost,
  url: string,
  quote: Quote,
): Instructions {
  checkUrl(url);
  if (typeof remote !== 'function') {
    const { place, about } = remote;
    return { places: [place, url], block: undefined, command: undefined, secrets: [], notes: [noteOf(about)] };
  }
  const server = { url, token: tokenVariable };
  const noToken = say`Leave the token out if the server asks for none, or if its OAuth issuer signs users in.`;
  return {
    places,
    block: blockText(remote(server)),
    command: commands?.remote(server, quote),
    secrets: [tokenVariable],
    notes: [...notes.map(noteOf), ...sentences(permissions !== undefined && noteOf(permissions)), noToken],
  };
}

/**
 * Checks the URL of a server. It is not shown, because it may hold a password.
 * @throws UsageError
 */
function checkUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UsageError(say`--http takes the URL of the server, such as https://cloudops.example.com/mcp.`);
  if (url.username !== '' || url.password !== '')
    throw new UsageError(say`The URL of --http must not hold a user name or password.`);
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new UsageError(
      say`The URL of --http must begin with https://: over plain http, others could read the bearer token.`,
    );
}

/** The command and environment of the server, and the names of the secrets that the user has to set. */
function localServer(
  { keepsNoSecrets }: McpHost,
  decisionWay: DecisionWay,
  config: Config,
  launch: Launch,
): { readonly server: LocalServer; readonly secretsToSet: readonly string[] } {
  const settings = config.origins.filter(({ secret }) => !secret);
  const isGiven = (name: string) => settings.some((setting) => setting.name.replace(/_FILE$/, '') === name);
  const keys = config.sandbox ? [] : ['CLOUDOPS_ACCESS_KEY_ID', 'CLOUDOPS_SECRET_ACCESS_KEY'];
  const missingKeys = keys.filter((name) => !isGiven(name));
  const givenSecrets = config.origins.filter(({ secret }) => secret).map(({ name }) => name);
  const secretsToSet = [...new Set([...missingKeys, ...givenSecrets])];
  const secretsInFiles = keepsNoSecrets ? secretsToSet.filter(hasFile) : [];
  const needsClick = decisionWay === 'by view' && takesPlanIds(config) && !isGiven('CLOUDOPS_CONFIRM');
  const env = Object.fromEntries([
    // Paths are absolute, because clients choose the working directory of the server.
    ...settings.map(({ name, value, isPath }) => [name, isPath ? resolve(value) : value]),
    ...secretsInFiles.map((name) => [`${name}_FILE`, fileFor(name, launch)]),
    ...(needsClick ? [['CLOUDOPS_CONFIRM', 'human']] : []),
  ]);
  const [command = '', ...args] = commandLineOf(launch);
  const secrets = secretsToSet.filter((name) => !secretsInFiles.includes(name));
  return { server: { command, args, env, secrets }, secretsToSet };
}

/** On Windows, npm installs commands as scripts, which only cmd can run. */
function commandLineOf({ commandLine, isAbsolute, isWindows }: Launch): readonly string[] {
  const isScript = isWindows && !isAbsolute && commandLine[0] !== 'node';
  return isScript ? ['cmd', '/c', ...commandLine] : commandLine;
}

/** True if a setting may come from a file. */
const hasFile = (name: string) => inputs.some((input) => input.isFile && variableName(input.setting) === name);

/** The path of a file for a secret, in the user's configuration folder. */
function fileFor(name: string, { home, isWindows }: Launch): string {
  const file = name
    .replace(/^CLOUDOPS_/, '')
    .toLowerCase()
    .replaceAll('_', '-');
  return isWindows
    ? win32.join(home ?? 'C:\\Users\\YOUR NAME', '.config', 'cloudops-mcp', file)
    : posix.join(home ?? '/home/YOUR NAME', '.config', 'cloudops-mcp', file);
}

/** Quotes a value for PowerShell or a POSIX shell. They escape quotation marks differently. */
const quoteFor =
  (windows: boolean): Quote =>
  (value) =>
    /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", windows ? "''" : `'\\''`)}'`;

function textOf(
  { title, secrets: secretsNote }: McpHost,
  { places, block, command, secrets, notes }: Instructions,
  { width }: HelpPage,
): string {
  return [
    block === undefined ? say`${defined(title)}: enter this at` : say`${defined(title)}: add this to`,
    ...places.map((place) => say`  ${exact(place)}`),
    // `exact` may escape invisible characters. JSON, TOML and YAML read such an escape as the character.
    ...(block === undefined ? [] : ['', ...block.split('\n').map((line) => say`${exact(line)}`)]),
    ...(command === undefined ? [] : ['', 'or run', say`  ${exact(command)}`]),
    ...(secrets.length === 0 ? [] : ['', ...wrapped(say`${namesOf(secrets)}: ${defined(secretsNote)}`, width)]),
    ...notes.flatMap((note) => ['', ...wrapped(note, width)]),
    '',
  ].join('\n');
}

/** Set this to true when the package is on npm, so that `npx -y cloudops-mcp` can install it. */
const isPublished = false;

/** The program and arguments that start this installation of the server. */
export function launchCommand(
  { script, env, platform }: Pick<Terminal, 'script' | 'env' | 'platform'>,
  published = isPublished,
): readonly string[] {
  if (isOnPath(script, env.PATH ?? env.Path ?? '', platform)) return ['cloudops-mcp'];
  const byNpx = script.split(sep).includes('_npx');
  return byNpx && published ? ['npx', '-y', 'cloudops-mcp'] : ['node', script];
}

/** True if the command `cloudops-mcp` runs this script, for example after a global installation or `npm link`. */
function isOnPath(script: string, path: string, platform: NodeJS.Platform): boolean {
  // npm adds folders to the PATH of its scripts. Clients do not have them.
  const folders = path
    .split(delimiter)
    .filter((folder) => folder !== '' && !/node_modules[\\/]\.bin[\\/]?$/.test(folder));
  return folders.some((folder) => {
    // On Windows, npm writes a script next to the folder of global packages instead of a link.
    if (platform === 'win32') return dirname(dirname(script)) === join(folder, 'node_modules', 'cloudops-mcp');
    try {
      return realpathSync(join(folder, 'cloudops-mcp')) === script;
    } catch {
      return false;
    }
  });
}
