import { readFileSync } from 'node:fs';
import { parseCommandLine } from '../config/command-line.js';
import { loadConfig } from '../config/load.js';
import { noOwnOperations, type OwnOperations, operationsPath, ownSettings } from '../config/own-operations.js';
import { operations as builtIn } from '../tools/index.js';
import { type Command, type Commands, notOneOf, type Terminal, UsageError } from './command.js';
import { stdioCommand } from './stdio.js';

const help = async () => (await import('./help.js')).helpCommand(commands, stdioCommand);

export const commands: Commands = {
  call: async () => (await import('./call.js')).callCommand,
  'client-config': async () => (await import('./client-config.js')).clientConfigCommand,
  doctor: async () => (await import('./doctor.js')).doctorCommand,
  health: async () => (await import('./health.js')).healthCommand,
  help,
  http: async () => (await import('./http.js')).httpCommand,
  journal: async () => (await import('./journal.js')).journalCommand,
  operations: async () => (await import('./operations.js')).operationsCommand,
  sandbox: async () => (await import('./sandbox.js')).sandboxCommand,
  view: async () => (await import('./view.js')).viewCommand,
};

/** Runs a command line. Resolves with the exit code. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await run(args, terminal);
  } catch (error) {
    if (error instanceof Error && 'syscall' in error && error.syscall === 'listen') {
      terminal.stderr.write(`cloudops-mcp cannot listen: ${error.message}\n`);
      return 1;
    }
    // The class is in a module that is loaded only for a sandbox.
    const ofSandbox = error instanceof Error && error.name === 'SandboxProblem';
    if (!ofSandbox && !(error instanceof UsageError)) throw error;
    const problems = error instanceof UsageError ? error.problems : [error.message];
    terminal.stderr.write(`cloudops-mcp cannot start:\n${problems.map((problem) => `- ${problem}\n`).join('')}`);
    return 2;
  }
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const [first = ''] = args;
  const isNamed = first !== '' && !first.startsWith('-');
  const command = isNamed ? await commandNamed(first) : stdioCommand;
  const own = await ownOperations(isNamed ? args.slice(1) : args, command, terminal);
  const commandLine = parseCommandLine(isNamed ? args.slice(1) : args, command, ownSettings(own));
  const { positionals, options, wants } = commandLine;
  if (wants === 'version') {
    terminal.stdout.write(`${terminal.version}\n`);
    return 0;
  }
  const readFile = (path: string) => readFileSync(path, 'utf8');
  const config = loadConfig({ env: terminal.env, commandLine, own, readFile });
  const { run } = wants === 'help' ? await help() : command;
  const operations = [...builtIn, ...own.operations];
  return run({ positionals, options, config, operations, terminal });
}

/** The operations of CLOUDOPS_OPERATIONS. What loads them is itself loaded only if it is set. */
async function ownOperations(args: readonly string[], command: Command, { env }: Terminal): Promise<OwnOperations> {
  const path = operationsPath(env, parseCommandLine(args, command));
  return path === undefined ? noOwnOperations : (await import('../operations/load.js')).loadOperations(path);
}

async function commandNamed(name: string): Promise<Command> {
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load === undefined) throw new UsageError(notOneOf('command', name, Object.keys(commands)));
  return load();
}
