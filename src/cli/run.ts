import { readFileSync, statSync } from 'node:fs';
import { parseCommandLine } from '../config/command-line.js';
import { loadConfig } from '../config/load-config.js';
import { addedSettings, allOperations, noOwnOperations, operationsPath } from '../config/own-operations.js';
import type { OwnOperations } from '../operations/load-operations.js';
import { operations as builtIn } from '../tools/index.js';
import { didYouMean } from '../util/did-you-mean.js';
import { ShownError } from '../util/log.js';
import { defined, exact, own, say, words } from '../util/safe-text.js';
import { type Command, type Commands, notOneOf, problemsText, type Terminal, UsageError } from './command.js';
import { printLine } from './layout.js';
import { stdioCommand } from './stdio-command.js';

const help = async () => (await import('./help.js')).helpCommand(commands, stdioCommand);

export const commands: Commands = {
  call: async () => (await import('./call-command.js')).callCommand,
  'client-config': async () => (await import('./client-config-command.js')).clientConfigCommand,
  completion: async () => (await import('./completion-command.js')).completionCommand(commands),
  doctor: async () => (await import('./doctor-command.js')).doctorCommand,
  health: async () => (await import('./health-command.js')).healthCommand,
  help,
  http: async () => (await import('./http-command.js')).httpCommand,
  journal: async () => (await import('./journal-command.js')).journalCommand,
  operations: async () => (await import('./operations-command.js')).operationsCommand,
  sandbox: async () => (await import('./sandbox-command.js')).sandboxCommand,
  view: async () => (await import('./view-command.js')).viewCommand,
};

/** Runs a command line, and prints the problem if it cannot run. Resolves with the exit code. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const [firstArg = ''] = args;
  // Without the name of a command, this is the server on stdin and stdout, and all arguments are options.
  const name = firstArg.startsWith('-') ? '' : firstArg;
  const argsOfCommand = name === '' ? args : args.slice(1);
  try {
    return await run(name, argsOfCommand, terminal);
  } catch (error) {
    // An address that is in use is no fault of this program, so its user gets a sentence and no stack trace.
    if (error instanceof Error && 'syscall' in error && error.syscall === 'listen') {
      printLine(terminal.stderr, say`cloudops-mcp cannot listen: ${error.message}`);
      return 1;
    }
    const usageError = usageErrorOf(error);
    if (usageError === undefined) throw error;
    const commandText = name === '' ? say`cloudops-mcp` : say`cloudops-mcp ${own(name)}`;
    terminal.stderr.write(problemsText(usageError.heading ?? commandText, usageError.problems, terminal));
    return 2;
  }
}

/** Returns a UsageError, or a problem of the sandbox as a UsageError. Undefined for other errors, which are faults of the program. */
function usageErrorOf(error: unknown): UsageError | undefined {
  if (error instanceof UsageError) return error;
  // The class is in a module that is loaded only for the sandbox, so the error is recognized by its name. Its message is safe text.
  const isSandboxProblem = error instanceof Error && error.name === 'SandboxProblem';
  return isSandboxProblem ? new UsageError(say`${defined(error.message)}`) : undefined;
}

/**
 * Loads the command and the configuration, and runs the command. Resolves with the exit code.
 * @param name empty for the server on stdin and stdout
 */
async function run(name: string, args: readonly string[], terminal: Terminal): Promise<number> {
  const command = name === '' ? stdioCommand : await commandNamed(name);
  // The services of operation files have settings of their own, so the files are loaded before the command line is parsed.
  const ownOperations = await loadOwnOperations(args, command, terminal);
  const commandLine = parseCommandLine(args, command, addedSettings(ownOperations));
  const { positionals, options, settings, wants } = commandLine;
  if (wants === 'version') {
    printLine(terminal.stdout, say`${exact(terminal.version)}`);
    return 0;
  }

  const configResult = loadConfig({ env: terminal.env, commandLine, ownOperations, readFile: readSettingsFile });
  const operations = allOperations(builtIn, ownOperations);
  const { problems: operationProblems } = ownOperations;
  const invocation = { options, settings, config: configResult, operations, operationProblems, terminal };
  if (wants === 'help') {
    // In `cloudops-mcp help call`, the arguments name the topic. In `cloudops-mcp call --help`, it is the command itself.
    const topic = name === '' || name === 'help' ? positionals : [name, ...positionals];
    const helpCommand = await help();
    return helpCommand.run({ ...invocation, positionals: topic });
  }

  try {
    return await command.run({ ...invocation, positionals });
  } catch (error) {
    // The problems of the configuration include those of the command line. If there are more, a setting is wrong, so a server cannot start,
    // and the heading says that.
    const hasSettingProblem = !configResult.ok && configResult.problems.length > commandLine.problems.length;
    if (command.serves && hasSettingProblem && error instanceof UsageError)
      throw error.under('cloudops-mcp cannot start');
    throw error;
  }
}

/** Matches the path of a pipe that a shell opens for `<(…)`, such as `/dev/fd/63`. Reading it ends when the program in `<(…)` ends. */
const fileOfShell = /^\/(?:dev|proc\/self)\/fd\/\d+$/;

/**
 * Reads a file that a setting names. Refuses devices, and pipes except `<(…)`, because reading them might never end.
 * @throws ShownError, or NodeJS.ErrnoException
 */
function readSettingsFile(path: string): string {
  const stats = statSync(path);
  // Reading a folder ends with an error, which says what is wrong.
  const willEnd = stats.isFile() || stats.isDirectory() || fileOfShell.test(path);
  if (!willEnd) throw new ShownError(words('it is not a regular file'));
  return readFileSync(path, 'utf8');
}

/** Loads the operations of CLOUDOPS_OPERATIONS. Without the setting, there are none, and not even the code for loading them is imported. */
async function loadOwnOperations(
  args: readonly string[],
  command: Command,
  terminal: Terminal,
): Promise<OwnOperations> {
  const path = operationsPath(terminal.env, parseCommandLine(args, command));
  if (path === undefined) return noOwnOperations;
  const { loadOperationFiles } = await import('./load-operation-files.js');
  return loadOperationFiles(path, terminal);
}

/** Loads a command. @throws UsageError if there is none with the name; for a tool's name, it suggests `cloudops-mcp call` */
async function commandNamed(name: string): Promise<Command> {
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load !== undefined) return load();
  const names = Object.keys(commands);
  const tools = builtIn.map((operation) => operation.name);
  // A tool is suggested only if no command has a similar name.
  const tool = didYouMean(name, names) === undefined ? didYouMean(name, tools) : undefined;
  const problem =
    tool === undefined
      ? notOneOf('command', name, names)
      : say`${own(name)} is not a command; did you mean cloudops-mcp call ${own(tool)}?`;
  throw new UsageError(problem).under('cloudops-mcp');
}
