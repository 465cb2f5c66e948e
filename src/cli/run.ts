import { readFileSync } from 'node:fs';
import { parseCommandLine } from '../config/command-line.js';
import { loadConfig } from '../config/load.js';
import { notOneOf, problemsText, type Terminal } from './command.js';
import { commands, defaultCommand } from './commands.js';

/** Runs a command line. Resolves with the exit code. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const [first = ''] = args;
  const isNamed = first !== '' && !first.startsWith('-');
  const load = isNamed ? (Object.hasOwn(commands, first) ? commands[first] : undefined) : defaultCommand;
  if (load === undefined) {
    terminal.printError(`${notOneOf('command', first, Object.keys(commands))}\n`);
    return 2;
  }
  const command = await load();
  const commandLine = parseCommandLine(isNamed ? args.slice(1) : args, command);
  const { positionals, options, wants } = commandLine;
  if (wants === 'version') {
    terminal.print(`${terminal.version}\n`);
    return 0;
  }
  const config = loadConfig({ env: terminal.env, commandLine, readFile: (path) => readFileSync(path, 'utf8') });
  const { run } = wants === 'help' ? (await import('./help.js')).helpCommand : command;
  return run({ positionals, options, config, terminal }).catch((error: unknown) => {
    if (!(error instanceof Error && error.name === 'SandboxProblem')) throw error;
    terminal.printError(problemsText([error.message]));
    return 2;
  });
}
