import { readFileSync } from 'node:fs';
import { parseCommandLine } from '../config/command-line.js';
import { loadConfig } from '../config/load.js';
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
  const commandLine = parseCommandLine(isNamed ? args.slice(1) : args, command);
  const { positionals, options, wants } = commandLine;
  if (wants === 'version') {
    terminal.stdout.write(`${terminal.version}\n`);
    return 0;
  }
  const config = loadConfig({ env: terminal.env, commandLine, readFile: (path) => readFileSync(path, 'utf8') });
  const { run } = wants === 'help' ? await help() : command;
  return run({ positionals, options, config, terminal });
}

async function commandNamed(name: string): Promise<Command> {
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load === undefined) throw new UsageError(notOneOf('command', name, Object.keys(commands)));
  return load();
}
