import { readFileSync } from 'node:fs';
import packageJson from '../package.json' with { type: 'json' };
import { type Command, notOneOf, problemsText, splitArguments, type Terminal, withConfig } from './cli/command.js';
import { runUntilSignal, stopSignal } from './cli/run-until-signal.js';
import { flagName, helpOf, loadConfig, settingNames, settings } from './config/config.js';
import { createServer } from './server.js';
import { serveStdio } from './serving/stdio.js';

const { version } = packageJson;
const now = () => new Date();

/** Served when no command is named. */
const stdioCommand: Command = {
  usage: '',
  about: 'serve MCP on stdin and stdout',
  run: withConfig(({ terminal }, config) =>
    runUntilSignal(config, terminal, async ({ inFlight, server }, log, stop) => {
      const { stdin, stdout } = process;
      await serveStdio(() => createServer(server), { stdin, stdout, stop, onEnd: inFlight.begin, log });
      return 0;
    }),
  ),
};

/** Loaded when they are named, so that serving starts without them. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  call: async () => (await import('./cli/call.js')).callCommand,
  'client-config': async () => (await import('./cli/client-config.js')).clientConfigCommand,
  doctor: async () => (await import('./cli/doctor.js')).doctorCommand,
  http: async () => (await import('./cli/http.js')).httpCommand,
  journal: async () => (await import('./cli/journal.js')).journalCommand,
  sandbox: async () => (await import('./cli/sandbox.js')).sandboxCommand,
};

/** Runs a command line. Resolves with the exit code. */
async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  if (args.includes('--help') || args.includes('-h') || args[0] === 'help') terminal.print(await helpText());
  else if (args.includes('--version') || args[0] === '-v') terminal.print(`${version}\n`);
  else return run(args, terminal);
  return 0;
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const [first = '', ...rest] = args;
  const named = first !== '' && !first.startsWith('-');
  const command = named ? await (Object.hasOwn(commands, first) ? commands[first]?.() : undefined) : stdioCommand;
  if (command === undefined) {
    terminal.printError(`${notOneOf('command', first, Object.keys(commands))}\n`);
    return 2;
  }
  const split = splitArguments(command, named ? rest : args);
  const loaded = loadConfig({
    env: terminal.env,
    flags: split.settings,
    otherFlags: Object.keys(command.options ?? {}).map((name) => `--${name}`),
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  const problems = [...split.problems, ...(loaded.ok ? [] : loaded.problems)];
  const config = problems.length === 0 ? loaded : { ok: false as const, problems };
  return command.run({ ...split, config, terminal }).catch((error) => {
    if (!(error instanceof Error && error.name === 'SandboxProblem')) throw error;
    terminal.printError(problemsText([error.message]));
    return 2;
  });
}

async function helpText(): Promise<string> {
  const loaded = Object.entries(commands).map(async ([name, load]) => ({ name, ...(await load()) }));
  const usages = [{ name: '', ...stdioCommand }, ...(await Promise.all(loaded))].map(({ name, usage, about }) => {
    const line = ['cloudops-mcp', name, usage, '[settings]'].filter((part) => part !== '').join(' ');
    return `  ${line}\n      ${about}`;
  });
  const rows = settingNames.map((name) => {
    const flag = settings[name].kind === 'secret' ? '' : flagName(name);
    return `  ${`CLOUDOPS_${name}`.padEnd(28)}${flag.padEnd(22)}${helpOf(name)}`;
  });
  return [
    'Signed cloud operations as tools for AI agents, over MCP.',
    'Try it without an account: cloudops-mcp --sandbox',
    '',
    'Usage:',
    ...usages,
    '',
    'Settings, as environment variables or options (options win):',
    ...rows,
    '',
    '  --help      this text',
    '  --version   the version',
    '',
  ].join('\n');
}

// Whoever stops reading our output or our log has not asked for an end.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

process.exitCode = await main(process.argv.slice(2), {
  print: (text) => process.stdout.write(text),
  printError: (text) => process.stderr.write(text),
  now,
  isTty: process.stdout.isTTY === true,
  stdin: process.stdin,
  stderr: process.stderr,
  interrupted: () => stopSignal(() => undefined),
  platform: process.platform,
  env: process.env,
  version,
});
