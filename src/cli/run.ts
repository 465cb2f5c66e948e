import { readFileSync, statSync } from 'node:fs';
import { JournalFault } from '../changes/journal-fault.js';
import type { Environment } from '../config/environment.js';
import { type ConfigResult, loadConfig } from '../config/load-config.js';
import { allOperations, noOwnOperations, operationsPath } from '../config/own-operations.js';
import { variableName } from '../config/settings.js';
import type { OwnOperations } from '../operations/load-operations.js';
import { operations as builtIn } from '../tools/index.js';
import { didYouMean } from '../util/did-you-mean.js';
import { ShownError } from '../util/log.js';
import { defined, exact, own, type SafeText, say, words } from '../util/safe-text.js';
import { type Command, type Commands, notOneOf, type Terminal, UsageError } from './command.js';
import { journalRemedy } from './journal-remedy.js';
import { columnsOf, printLine, wrapped } from './layout.js';
import { parseArguments } from './parse-arguments.js';
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
    // Without the name of a command, this is the server on stdin and stdout, and all arguments are options.
    if (name === '') return await run(name, stdioCommand, args, terminal);
    const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (load === undefined) return refuse(say`cloudops-mcp`, [noSuchCommand(name)], terminal);
    return await run(name, await load(), args.slice(1), terminal);
  } catch (error) {
    const problems = problemsOf(error);
    if (problems !== undefined) return refuse(heading, problems, terminal);
    // An address that is in use is no fault of this program, so its user gets a sentence and no stack trace.
    if (!(error instanceof Error && 'syscall' in error && error.syscall === 'listen')) throw error;
    printLine(terminal.stderr, say`cloudops-mcp cannot listen: ${error.message}`);
    return 1;
  }
}

/** The problems that an error names for the user. Undefined for any other error. */
function problemsOf(error: unknown): readonly SafeText[] | undefined {
  if (error instanceof UsageError) return error.problems;
  if (error instanceof JournalFault)
    return [say`CLOUDOPS_JOURNAL cannot be used: ${error.shown}. ${journalRemedy(error, false)}`];
  // The class is in a module that is loaded only for the sandbox, so the error is recognized by its name. Its message is safe text.
  if (error instanceof Error && error.name === 'SandboxProblem') return [say`${defined(error.message)}`];
  return undefined;
}

/** Prints the problems for which a command cannot run. Several are listed below the heading. Returns the exit code. */
function refuse(heading: SafeText, problems: readonly SafeText[], terminal: Terminal): number {
  const width = columnsOf(terminal.stderr);
  const [first = say``, ...others] = problems;
  const lines =
    others.length === 0
      ? wrapped(first, width, { start: say`${heading}: `, indent: 2 })
      : [say`${heading}:`, ...problems.flatMap((problem) => wrapped(problem, width, { start: '- ' }))];
  terminal.stderr.write(`${lines.join('\n')}\n`);
  return 2;
}

/**
 * Loads the configuration, and runs a command. Resolves with the exit code.
 * @param name empty for the server on stdin and stdout
 * @throws UsageError
 */
async function run(name: string, command: Command, args: readonly string[], terminal: Terminal): Promise<number> {
  const { positionals, options, wants, problems } = parseArguments(args, command);
  if (wants === 'version') {
    printLine(terminal.stdout, say`${exact(terminal.version)}`);
    return 0;
  }

  const env = options.sandbox === undefined ? terminal.env : { ...terminal.env, [variableName('SANDBOX')]: '1' };
  const ownOperations = await loadOwnOperations(env);
  // A command that does not need the configuration, such as `help`, runs although there are problems.
  const config: ConfigResult =
    problems.length > 0 ? { ok: false, problems } : loadConfig({ env, ownOperations, readFile: readSettingsFile });
  const operations = allOperations(builtIn, ownOperations);
  const { problems: operationProblems } = ownOperations;
  const invocation = { options, config, operations, operationProblems, terminal };
  if (wants === 'help') {
    // In `cloudops-mcp help call`, the arguments name the topic. In `cloudops-mcp call --help`, it is the command itself.
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

/** Matches the path of a pipe that a shell opens for `<(…)`, such as `/dev/fd/63`. Reading it ends when the program in `<(…)` ends. */
const fileOfShell = /^\/(?:dev|proc\/self)\/fd\/\d+$/;

/**
 * Reads a file that a setting names. Refuses devices, and pipes except `<(…)`, because reading them might never end.
 * @throws ShownError, or NodeJS.ErrnoException
 */
function readSettingsFile(path: string): string {
  const stats = statSync(path);
  // A folder is not refused here, because the error of reading it says what is wrong.
  const willEnd = stats.isFile() || stats.isDirectory() || fileOfShell.test(path);
  if (!willEnd) throw new ShownError(words('it is not a regular file'));
  return readFileSync(path, 'utf8');
}

/** Loads the operations of CLOUDOPS_OPERATIONS. Without the setting, there are none, and not even the code for loading them is imported. */
async function loadOwnOperations(env: Environment): Promise<OwnOperations> {
  const path = operationsPath(env);
  if (path === undefined) return noOwnOperations;
  const { loadOperationFiles } = await import('./load-operation-files.js');
  return loadOperationFiles(path);
}

/** Says that there is no command with a name. For a tool's name, suggests `cloudops-mcp call`. */
function noSuchCommand(name: string): SafeText {
  const names = Object.keys(commands);
  const tools = builtIn.map((operation) => operation.name);
  // A tool is suggested only if no command has a similar name.
  const tool = didYouMean(name, names) === undefined ? didYouMean(name, tools) : undefined;
  if (tool === undefined) return notOneOf('command', name, names);
  return say`${own(name)} is not a command; did you mean cloudops-mcp call ${own(tool)}?`;
}
