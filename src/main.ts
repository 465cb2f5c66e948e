import { readFileSync } from 'node:fs';
import packageJson from '../package.json' with { type: 'json' };
import {
  type Command,
  problemsText,
  splitArguments,
  type Terminal,
  unknownCommand,
  withConfig,
} from './cli/command.js';
import { type Config, flagName, helpOf, loadConfig, settingNames, settings } from './config.js';
import { createLog, type Log } from './log.js';
import { startRuntime } from './runtime.js';
import { createServer } from './server.js';
import { serveStdio } from './serving/stdio.js';

const { version } = packageJson;
const now = () => new Date();

/** Served when no command is named. */
const stdioCommand: Command = {
  usage: '',
  about: 'serve MCP on stdin and stdout',
  run: withConfig(async (_invocation, config) => {
    await serve(config);
    return 0;
  }),
};

/** Loaded when they are named, so that serving starts without them. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  journal: async () => (await import('./cli/journal.js')).journalCommand,
  sandbox: async () => (await import('./cli/sandbox.js')).sandboxCommand,
};

/** Runs a command line. Resolves with the exit code. */
async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) terminal.print(await helpText());
  else if (args.includes('--version')) terminal.print(`${version}\n`);
  else return run(args, terminal);
  return 0;
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const [first = '', ...rest] = args;
  const named = first !== '' && !first.startsWith('-');
  const command = named ? await (Object.hasOwn(commands, first) ? commands[first]?.() : undefined) : stdioCommand;
  if (command === undefined) {
    terminal.printError(unknownCommand(first, Object.keys(commands)));
    return 2;
  }
  const split = splitArguments(command, named ? rest : args);
  const loaded = loadConfig({
    env: terminal.env,
    flags: split.settings,
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

/** Mutations under way get this long to end when the process is asked to. */
const graceMs = 10_000;

async function serve(config: Config): Promise<void> {
  const log = createLog(config.logLevel, now, (line) => process.stderr.write(line));
  const runtime = await startRuntime(config, version, log, now);
  const { drain, server } = runtime;
  log('info', 'start', { version, sandbox: config.sandbox });
  const stop = stopSignal(log);
  // Where it happened, but not the message, which may quote anything.
  process.on('uncaughtException', ({ name, stack = '' }) => {
    log('error', 'crash', { error: name, stack: stack.split('\n').filter((line) => line.startsWith('    at ')) });
    drain.begin();
    void drain.finish(graceMs).finally(() => process.exit(1));
  });
  // A host that closed our log has not closed the connection.
  process.stderr.on('error', () => undefined);
  await serveStdio(() => createServer(server), {
    stdin: process.stdin,
    stdout: process.stdout,
    stop,
    onEnd: drain.begin,
    log,
  });
  await runtime.close(graceMs);
}

/** Aborts on the first request to end the process; a second one ends it at once. */
function stopSignal(log: Log): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => {
      log('info', 'stop', { signal: name });
      controller.abort();
    });
  return controller.signal;
}

async function helpText(): Promise<string> {
  const loaded = Object.entries(commands).map(async ([name, load]) => ({ name, ...(await load()) }));
  const usages = [{ name: '', ...stdioCommand }, ...(await Promise.all(loaded))].map(({ name, usage, about }) => {
    const line = ['cloudops-mcp', name, usage, '[settings]'].filter((part) => part !== '').join(' ');
    return `  ${line.padEnd(58)}  ${about}`;
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

process.exitCode = await main(process.argv.slice(2), {
  print: (text) => process.stdout.write(text),
  printError: (text) => process.stderr.write(text),
  now,
  isTty: process.stdout.isTTY === true,
  env: process.env,
  version,
});
