import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { JournalFault } from '../changes/sql.js';
import type { Environment } from '../config/environment.js';
import { type ConfigResult, loadConfig } from '../config/load-config.js';
import { allOperations, noOwnOperations, pathInVariable, withModels } from '../config/own-operations.js';
import { inputs, safeVariableName, variableName } from '../config/settings.js';
import type { OwnOperations } from '../models/load-operations.js';
import { operations as builtIn } from '../tools/index.js';
import { didYouMean } from '../util/did-you-mean.js';
import { regularFile } from '../util/regular-file.js';
import { defined, exact, own, type SafeText, say, words } from '../util/safe-text.js';
import { type Command, type Commands, notOneOf, type OptionKinds, type Terminal, UsageError } from './command.js';
import { journalRemedy } from './journal-remedy.js';
import { printLine, printWrapped } from './layout.js';
import { stdioCommand } from './stdio-command.js';

const loadHelp = async () => (await import('./help.js')).helpCommand(commands, stdioCommand);

export const commands: Commands = {
  call: async () => (await import('./call-command.js')).callCommand,
  'client-config': async () => (await import('./client-config-command.js')).clientConfigCommand,
  doctor: async () => (await import('./doctor-command.js')).doctorCommand,
  health: async () => (await import('./health-command.js')).healthCommand,
  help: loadHelp,
  http: async () => (await import('./http-command.js')).httpCommand,
  journal: async () => (await import('./journal-command.js')).journalCommand,
  operations: async () => (await import('./operations-command.js')).operationsCommand,
  sandbox: async () => (await import('./sandbox-command.js')).sandboxCommand,
};

/** Runs a command line, and prints the problem if it cannot run. Resolves with the exit code. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const [firstArg = ''] = args;
  const name = firstArg.startsWith('-') ? '' : firstArg;
  const heading = name === '' ? say`cloudops-mcp` : say`cloudops-mcp ${own(name)}`;
  try {
    // Without the name of a command, this is the server on stdin and stdout.
    if (name === '') return await run(name, stdioCommand, args, terminal);
    const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (load === undefined)
      return refuse(say`cloudops-mcp`, [notOneOf('command', name, Object.keys(commands))], terminal);
    return await run(name, await load(), args.slice(1), terminal);
  } catch (error) {
    const problems = problemsOf(error);
    if (problems !== undefined) return refuse(heading, problems, terminal);
    // An address in use is no fault of this program, so its user gets no stack trace.
    const isAddressWrong =
      error instanceof Error && 'syscall' in error && /^(listen|getaddrinfo)$/.test(String(error.syscall));
    if (!isAddressWrong) throw error;
    printLine(terminal.stderr, say`cloudops-mcp cannot listen: ${error.message}`);
    return 1;
  }
}

function problemsOf(error: unknown): readonly SafeText[] | undefined {
  if (error instanceof UsageError) return error.problems;
  if (error instanceof JournalFault)
    return [say`CLOUDOPS_JOURNAL cannot be used: ${error.shown}. ${journalRemedy(error, false)}`];
  // The classes are in modules that are loaded only for the sandbox and for models. Their messages are safe text.
  if (error instanceof Error && ['SandboxProblem', 'UnusableFile'].includes(error.name))
    return [say`${defined(error.message)}`];
  return undefined;
}

function refuse(heading: SafeText, problems: readonly SafeText[], { stderr }: Terminal): number {
  const isOne = problems.length === 1;
  if (!isOne) printLine(stderr, say`${heading}:`);
  for (const problem of problems)
    printWrapped(stderr, problem, isOne ? { start: say`${heading}: `, indent: 2 } : { start: say`- ` });
  return 2;
}

/** `name` is empty for the server on stdin and stdout. @throws UsageError */
async function run(name: string, command: Command, args: readonly string[], terminal: Terminal): Promise<number> {
  const { positionals, options, wants, problems } = parseArguments(args, command);
  if (wants === 'version') {
    printLine(terminal.stdout, say`${exact(terminal.version)}`);
    return 0;
  }

  const env = options.sandbox === undefined ? terminal.env : { ...terminal.env, [variableName('SANDBOX')]: '1' };
  const ownOperations = await loadOwnOperations(env);
  const readFile = (path: string) => {
    regularFile(path);
    return readFileSync(path, 'utf8');
  };
  // A command that needs no configuration, such as `help`, runs although there are problems.
  const config: ConfigResult =
    problems.length > 0 ? { ok: false, problems } : loadConfig({ env, ownOperations, readFile });
  const operations = allOperations(builtIn, ownOperations);
  const { problems: operationProblems } = ownOperations;
  const invocation = { options, config, operations, operationProblems, terminal };
  if (wants === 'help') {
    // In `cloudops-mcp help call`, the arguments name the topic.
    const topic = name === '' || name === 'help' ? positionals : [name, ...positionals];
    const helpCommand = await loadHelp();
    return helpCommand.run({ ...invocation, positionals: topic });
  }

  if (command.serves) {
    if (problems.length > 0) throw new UsageError(...problems);
    if (!config.ok) return refuse(say`cloudops-mcp cannot start`, config.problems, terminal);
    for (const note of ownOperations.notes ?? []) printLine(terminal.stderr, say`warning: ${note}`);
  }
  return command.run({ ...invocation, positionals });
}

/** Without the settings, not even the code for loading operations is imported. */
async function loadOwnOperations(env: Environment): Promise<OwnOperations> {
  const path = pathInVariable('OPERATIONS', env);
  const folder = pathInVariable('MODELS', env);
  const hasSecrets = pathInVariable('SECRETS_DIR', env) !== undefined;
  const fromFile =
    path === undefined
      ? noOwnOperations
      : await (await import('./load-operation-files.js')).loadOperationFiles(path, hasSecrets);
  if (folder === undefined) return fromFile;
  const { findModels } = await import('../models/service-sources.js');
  return withModels(fromFile, await findModels(folder));
}

const infoFlags = { '--help': 'help', '-h': 'help', '--version': 'version', '-v': 'version', '-V': 'version' } as const;
const isInfoFlag = (flag: string): flag is keyof typeof infoFlags => Object.hasOwn(infoFlags, flag);

/** Parses the arguments of a command. `problems` are sentences that show no value, as Node's own checks would, because it may be a secret. */
export function parseArguments(args: readonly string[], command: Pick<Command, 'positionals' | 'options'>) {
  const kinds: OptionKinds = { sandbox: 'switch', ...command.options };
  const types = Object.entries(kinds).map(([name, kind]) => {
    const type: 'boolean' | 'string' = kind === 'switch' ? 'boolean' : 'string';
    return [name, { type }] as const;
  });
  // Node would take `-name` for four options.
  const longArgs = args.map((arg) => (/^-[^-]./.test(arg) ? `-${arg}` : arg));
  const { tokens } = parseArgs({ args: longArgs, options: Object.fromEntries(types), strict: false, tokens: true });

  const given = tokens.filter((token) => token.kind === 'option');
  const ownOptions = given.filter(({ rawName }) => !isInfoFlag(rawName));
  // What follows an unknown option may be a secret, so it is no positional.
  const indexesToSkip = ownOptions.flatMap(({ name, index }) => (Object.hasOwn(kinds, name) ? [] : [index + 1]));
  const positionals = tokens.flatMap((token) =>
    token.kind === 'positional' && !indexesToSkip.includes(token.index) ? [token.value] : [],
  );
  const [wants] = given.flatMap(({ rawName }) => (isInfoFlag(rawName) ? [infoFlags[rawName]] : []));

  const problems = ownOptions
    .map((token) => optionProblem({ ...token, rawName: (args[token.index] ?? '').split('=', 1).join() }, kinds))
    .filter((problem) => problem !== undefined);
  const { positionals: mostPositionals = 0 } = command;
  if (positionals.length > mostPositionals)
    problems.push(words('There is one argument too many: the command comes first, and options begin with --.'));
  const options = Object.fromEntries(ownOptions.map(({ name, value }) => [name, value ?? '1']));
  return { positionals: positionals.slice(0, mostPositionals), options, wants, problems };
}

/** For an unknown option, names the variable of a setting, or a similar option. `rawName` has its hyphens. */
function optionProblem(
  {
    name,
    rawName,
    value,
    inlineValue,
  }: { name: string; rawName: string; value: string | undefined; inlineValue: boolean | undefined },
  kinds: OptionKinds,
): SafeText | undefined {
  const option = own(rawName);
  if (Object.hasOwn(kinds, name)) {
    if (kinds[name] === 'switch') return value === undefined ? undefined : say`${option} takes no value.`;
    const isNextOption = inlineValue === false && value?.startsWith('-') === true;
    return !value?.trim() || isNextOption ? say`${option} needs a value.` : undefined;
  }
  const setting = name.toUpperCase().replaceAll('-', '_');
  if (inputs.some((input) => input.name === setting))
    return say`${option} is not an option: set ${safeVariableName(setting)}.`;
  const similarName = didYouMean(name, Object.keys(kinds));
  if (similarName !== undefined) return say`${option} is not an option; did you mean ${own(`--${similarName}`)}?`;
  return say`${option} is not an option; --help lists those of the command, and cloudops-mcp help settings the settings.`;
}
