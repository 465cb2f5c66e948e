import { realpathSync } from 'node:fs';
import { delimiter, dirname, join, posix, resolve, sep, win32 } from 'node:path';
import { type Config, hiddenBySandbox } from '../config/load-config.js';
import { missingVariables } from '../config/open-accounts.js';
import { sentences } from '../util/human.js';
import { defined, exact, join as joined, listed, namesOf, own, type SafeText, say } from '../util/safe-text.js';
import { isLoopback } from '../util/uri.js';
import { type Block, clients, kebabCase, type LocalServer, type McpHost, type Quote } from './client-formats.js';
import { type Command, layoutOf, notOneOf, type Terminal, UsageError, validConfig } from './command.js';
import { type TextLayout, wrapped } from './layout.js';

/** `cloudops-mcp client-config` prints the configuration of an MCP client (without secrets) and the path of the file that it belongs in. */
export const clientConfigCommand: Command = {
  usage: '<client> [--http URL] [--absolute] [--windows] [--json]',
  about: 'print the configuration of an MCP client',
  details:
    '--http is for a server that runs elsewhere, --absolute names Node.js and the server by their full paths, --windows is for a client on Windows, --json prints the block alone.',
  positionals: 1,
  options: { http: 'value', absolute: 'switch', windows: 'switch', json: 'switch' },
  run: async (invocation) => {
    const { options, terminal } = invocation;
    const [name = ''] = invocation.positionals;
    const config = validConfig(invocation);
    const client = Object.hasOwn(clients, name) ? clients[name] : undefined;
    if (client === undefined) throw new UsageError(notOneOf('client', name, Object.keys(clients)));
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
        ? localInstructions(client, config, launch)
        : remoteInstructions(client, options.http, quoteFor(isWindows));
    if (options.json === undefined) {
      terminal.stdout.write(textOf(client, instructions, layoutOf(terminal, 'stdout')));
      return 0;
    }
    if (instructions.block === undefined) throw new UsageError(say`${defined(client.title)} has no file for that.`);
    terminal.stdout.write(`${instructions.block}\n`);
    return 0;
  },
};

interface Instructions {
  /** The files that the block can go into or, without a block, the way to the client's form. */
  readonly places: readonly string[];
  /** The URL that users enter in the client's form. Absent if the client has a configuration file. */
  readonly urlToEnter?: string;
  /** Content for the client's configuration file. Absent if users fill in a form. */
  readonly block?: string;
  /** A command line that adds the server to the client, in place of the block. */
  readonly command?: string | undefined;
  /** Names of the variables for secrets, which the user has to set. */
  readonly secrets: readonly string[];
  /** Says where the user puts the values of secrets. */
  readonly secretsNote: string;
  readonly notes: readonly SafeText[];
}

/** The command line that starts the server, and facts about the machine on which the client will run it. */
interface Launch {
  readonly commandLine: readonly string[];
  /** True if the command line has full paths. */
  readonly isAbsolute: boolean;
  readonly isWindows: boolean;
  readonly home: string | undefined;
}

/** Instructions for a server that the client starts. @throws UsageError if the client starts no programs */
function localInstructions(client: McpHost, config: Config, launch: Launch): Instructions {
  const { title, places, local, commands, secretsNote } = client;
  if (local === undefined)
    throw new UsageError(say`${defined(title)} starts no programs: serve over HTTP, and name the URL with --http.`);
  const secrets = secretsToSet(config);
  const server = localServer(client, config, launch, secrets);
  return {
    places,
    block: blockText(local(server)),
    command: commands?.local(server, quoteFor(launch.isWindows)),
    secrets,
    secretsNote,
    notes: localNotes(client, config, launch),
  };
}

/** Notes for the user: about the client, about consent, and about settings that are missing or ignored. */
function localNotes(client: McpHost, config: Config, launch: Launch): readonly SafeText[] {
  const { title, notes = [], downloadNote, isOnDesktop } = client;
  const [program = ''] = launch.commandLine;
  const ignoredSettings = hiddenBySandbox(config);
  const hasEndpoint = config.sandbox || hasEndpoints(config.accounts);

  return sentences(
    ...notes.map(noteOf),
    ...decisionNotes(client, config),
    ignoredSettings.length > 0 &&
      say`CLOUDOPS_SANDBOX is set, so the server uses the sandbox and ignores ${listed(ignoredSettings)}. Unset it for your account.`,
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

/** True if an agent can carry out changes of at least one account with a planId. Consent is then only a yes that the agent reports. */
const takesPlanIds = ({ accounts }: Config) =>
  accounts.all.some(({ confirm, policy }) => confirm === 'ask' && !policy.readOnly);

/** Notes about consent. None if this server can ask the user through the client, or if no account takes planIds. */
function decisionNotes({ title, permissions, decisionWay }: McpHost, config: Config): readonly SafeText[] {
  if (decisionWay === 'by form' || !takesPlanIds(config)) return [];
  if (decisionWay === 'by view')
    return [
      say`${defined(title)} does not show questions from servers, but it shows plans with a button. With CLOUDOPS_CONFIRM=human, only that button counts, not a yes that an agent reports.`,
    ];
  const warning = sentences(
    say`Warning: ${defined(title)} does not show questions from servers. An agent can carry out a change with two calls: the first returns the plan, the second carries it out.`,
    permissions !== undefined && noteOf(permissions),
    say`With CLOUDOPS_CONFIRM=human, you decide outside of it, with cloudops-mcp call at a terminal.`,
  );
  return [joined(warning, ' ')];
}

const blockText = (block: Block) => (typeof block === 'string' ? block : JSON.stringify(block, null, 2));

/** The variable of the bearer token. Its name lacks the prefix CLOUDOPS_, because servers refuse to start with an unknown setting. */
const tokenVariable = 'MCP_CLOUDOPS_TOKEN';

/** Instructions for a server that runs elsewhere. @throws UsageError if the URL cannot be used */
function remoteInstructions(client: McpHost, url: string, quote: Quote): Instructions {
  checkUrl(url);
  const { places, remote, commands, permissions, secretsNote, tokenNote, notes = [] } = client;

  // `remote` describes a form for the URL or, for a client without such a form, makes the block for the configuration file.
  if (typeof remote !== 'function') {
    const { place, about } = remote;
    return { places: [place], urlToEnter: url, secrets: [], secretsNote, notes: [noteOf(about)] };
  }

  const server = { url, token: tokenVariable };
  const serverWithoutToken = say`Leave the token out if the server asks for none, or if its OAuth issuer signs users in.`;
  return {
    places,
    block: blockText(remote(server)),
    command: commands?.remote(server, quote),
    secrets: [tokenVariable],
    // The token is the only secret.
    secretsNote: tokenNote ?? secretsNote,
    notes: sentences(...notes.map(noteOf), permissions !== undefined && noteOf(permissions), serverWithoutToken),
  };
}

/** Checks the URL of a server that runs elsewhere. @throws UsageError that does not show the URL, because it may hold a password */
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

/**
 * The server for the client's configuration, with a copy of the settings that are given here, except for secrets.
 * @param secrets names of the variables for secrets, which the user has to set
 */
function localServer(
  { cannotLookUpVariables, decisionWay }: McpHost,
  config: Config,
  launch: Launch,
  secrets: readonly string[],
): LocalServer {
  const copiedSettings = config.origins.filter(({ secret }) => !secret);
  // Paths are absolute, because clients choose the working directory of the server.
  const env = Object.fromEntries(
    copiedSettings.map(({ name, value, isPath }) => [name, isPath ? resolve(value) : value]),
  );

  // Most clients look up the secrets in variables of their own environment. For the others, the settings name files for the secrets.
  const [inVariables, inFiles] = cannotLookUpVariables ? [[], secrets] : [secrets, []];
  for (const name of inFiles) env[`${name}_FILE`] = fileFor(name, launch);

  // With `by view`, the client shows plans with a button. But a call with the planId counts as consent too, and a model could make it without
  // any click. With CLOUDOPS_CONFIRM=human, only the click counts. A value that the user has given stays.
  if (decisionWay === 'by view' && takesPlanIds(config)) env.CLOUDOPS_CONFIRM ??= 'human';

  const [command = '', ...args] = commandLineOf(launch);
  return { command, args, env, secrets: inVariables };
}

/** The variables that the user has to set: the secrets among the given settings, and the missing variables of access keys. */
function secretsToSet({ origins, sandbox, accounts }: Config): readonly string[] {
  // The sandbox has its own key.
  const missing = sandbox ? [] : accounts.all.flatMap(({ keys }) => missingVariables(keys));
  const given = origins.filter(({ secret }) => secret).map(({ name }) => name);
  return [...new Set([...missing, ...given])];
}

/** The command line for the client. On Windows, npm installs `npx` and `cloudops-mcp` as scripts, which only `cmd` can run. */
function commandLineOf({ commandLine, isAbsolute, isWindows }: Launch): readonly string[] {
  const isScript = isWindows && !isAbsolute && commandLine[0] !== 'node';
  return isScript ? ['cmd', '/c', ...commandLine] : commandLine;
}

/** A path for the file with a secret, in the user's configuration folder. The user makes the file. */
function fileFor(name: string, { home, isWindows }: Launch): string {
  const path = ['.config', 'cloudops-mcp', kebabCase(name)];
  return isWindows
    ? win32.join(home ?? 'C:\\Users\\YOUR NAME', ...path)
    : posix.join(home ?? '/home/YOUR NAME', ...path);
}

/** Returns a function that quotes values for PowerShell on Windows, and for a POSIX shell elsewhere. */
const quoteFor =
  (isWindows: boolean): Quote =>
  (value) => {
    if (/^[\w@%+=:,./-]+$/.test(value)) return value;
    const escapedQuote = isWindows ? "''" : `'\\''`;
    return `'${value.replaceAll("'", escapedQuote)}'`;
  };

/** Formats the instructions for a person. */
function textOf(client: McpHost, instructions: Instructions, { width }: TextLayout): string {
  const title = defined(client.title);
  const { places, urlToEnter, block, command, secrets, secretsNote, notes } = instructions;

  const lines: (string | SafeText)[] = [
    urlToEnter === undefined ? say`${title}: add this to` : say`${title}: enter this at`,
    ...places.map((place) => say`  ${exact(place)}`),
  ];
  if (urlToEnter !== undefined) lines.push(say`  ${exact(urlToEnter)}`);
  // `exact` may escape invisible characters. The block stays valid, because JSON, TOML and YAML read such an escape as the character.
  if (block !== undefined) lines.push('', ...block.split('\n').map(exact));
  if (command !== undefined) lines.push('', 'or run', say`  ${exact(command)}`);
  if (secrets.length > 0) lines.push('', ...wrapped(say`${namesOf(secrets)}: ${defined(secretsNote)}`, width));
  for (const note of notes) lines.push('', ...wrapped(note, width));

  return `${lines.join('\n')}\n`;
}

/** Set this to true when the package is on npm. Before that, `npx -y cloudops-mcp` finds nothing to install. */
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
  // Folders that npm adds to the PATH of its scripts are left out, because clients do not have them in their PATH.
  const folders = path
    .split(delimiter)
    .filter((folder) => folder !== '' && !/node_modules[\\/]\.bin[\\/]?$/.test(folder));
  return folders.some((folder) => {
    // On Windows, npm makes no link to this script. It writes a script of its own into the folder above the global `node_modules`.
    if (platform === 'win32') return dirname(dirname(script)) === join(folder, 'node_modules', 'cloudops-mcp');
    try {
      return realpathSync(join(folder, 'cloudops-mcp')) === script;
    } catch {
      return false;
    }
  });
}
