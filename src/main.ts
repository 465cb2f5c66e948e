import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import packageJson from '../package.json' with { type: 'json' };
import { createCaller } from './call/call.js';
import { createDrain } from './call/drain.js';
import { abandonedMs, type Journal, orphans } from './call/journal.js';
import { createFileJournal } from './call/journal-file.js';
import { createSecretFiles } from './call/secret-files.js';
import type { Cloud } from './call/target.js';
import { journalResource, printJournal } from './cli/journal.js';
import { type Config, describeConfig, flagName, helpOf, loadConfig, settingNames, settings } from './config.js';
import { createLog, type Log } from './log.js';
import { startSandbox } from './sandbox/sandbox.js';
import { createServer } from './server.js';
import { serveStdio } from './serving/stdio.js';
import { catalogue } from './tools/catalogue.js';
import { createExchanger } from './transport/exchange.js';
import { createSender } from './transport/send.js';

const { version } = packageJson;

/** Runs a command line. Resolves with the exit code. */
async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) return print(helpText());
  if (args.includes('--version')) return print(`${version}\n`);
  const wantsJournal = args[0] === 'journal';
  const { flags, since } = wantsJournal ? withoutSince(args.slice(1)) : { flags: args, since: undefined };
  const loaded = loadConfig({
    env: process.env,
    flags: wantsJournal ? flags.filter((flag) => flag !== '--json') : flags,
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  if (!loaded.ok) {
    process.stderr.write(`cloudops-mcp cannot start:\n${loaded.problems.map((problem) => `- ${problem}\n`).join('')}`);
    return 2;
  }
  if (wantsJournal) {
    const journal = createFileJournal(loaded.config.journalPath, now);
    return printJournal(journal, { json: flags.includes('--json'), since }, now(), print, (text) =>
      process.stderr.write(text),
    );
  }
  await serve(loaded.config);
  return 0;
}

const now = () => new Date();

/** Takes `--since TIME` out of the options, which are settings otherwise. */
function withoutSince(args: readonly string[]): { flags: readonly string[]; since: string | undefined } {
  const split = args.flatMap((arg) => (arg.startsWith('--since=') ? ['--since', arg.slice(8)] : [arg]));
  const at = split.indexOf('--since');
  return at < 0 ? { flags: split, since: undefined } : { flags: split.toSpliced(at, 2), since: split[at + 1] ?? '' };
}

/** Mutations under way get this long to end when the process is asked to. */
const graceMs = 10_000;

async function serve(config: Config): Promise<void> {
  const started = now();
  const log = createLog(config.logLevel, now, (line) => process.stderr.write(line));
  const sandbox = config.sandbox ? await startSandbox({ now }) : undefined;
  const cloud: Cloud = sandbox === undefined ? config.cloud : { ...config.cloud, ...sandbox.cloud };
  const exchanger = createExchanger(config.proxies);
  const journal = createFileJournal(config.journalPath, now);
  const drain = createDrain();
  // A process of which nothing but its age can be known is taken to be gone when its call must have ended.
  const settle = () => settleOrphans(journal, started, config.timeoutMs + 60_000, log);
  let unresolved = settle();
  const { policy, confirm } = config;
  const call = createCaller({
    cloud,
    policy,
    confirm,
    newNonce: randomUUID,
    journal,
    drain,
    secretFiles: createSecretFiles(config.secretsDir),
    now,
    process: { pid: process.pid, host: hostname() },
    takeReports: async () => {
      const reports = await unresolved;
      unresolved = settle();
      return reports;
    },
    send: createSender({
      exchanger,
      now,
      sleep: (milliseconds, signal) => delay(milliseconds, undefined, { signal }).catch(() => undefined),
      random: Math.random,
      log,
      timeoutMs: config.timeoutMs,
      maximumAttempts: config.maximumAttempts,
    }),
    log,
  });
  log('info', 'start', { version, sandbox: config.sandbox });
  const server = {
    version,
    operations: catalogue,
    policy,
    call,
    stateKey: config.stateKey ?? randomBytes(32),
    configuration: () => describeConfig(config),
    journal: () => journalResource(journal),
  };
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
  await drain.finish(graceMs);
  await unresolved;
  await exchanger.close();
  await sandbox?.close();
}

/** Ends what a process before this one left open as of unknown outcome, and says so. */
async function settleOrphans(journal: Journal, started: Date, goneMs: number, log: Log): Promise<string[]> {
  try {
    const left = orphans(await journal.read(now().getTime() - abandonedMs), ({ process: { pid, host }, time }) => {
      if (host === hostname() && pid === process.pid) return Date.parse(time) < started.getTime();
      return now().getTime() - Date.parse(time) > goneMs || (host === hostname() && !isAlive(pid));
    });
    for (const mutation of left) {
      log('warn', 'unresolved', { id: mutation.id, tool: mutation.tool, time: mutation.time, target: mutation.target });
      await journal.end({ id: mutation.id, time: now().toISOString(), outcome: 'unknown', code: 'ProcessEnded' });
    }
    return left.map(
      ({ tool, what, target, time }) =>
        `${tool} of ${time} (${what} ${target}) ended without a known outcome when its process did. Look in the console whether it happened.`,
    );
  } catch (error) {
    log('warn', 'journal', { error: error instanceof Error ? error.message : 'unknown' });
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
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

function helpText(): string {
  const rows = settingNames.map((name) => {
    const flag = settings[name].kind === 'secret' ? '' : flagName(name);
    return `  ${`CLOUDOPS_${name}`.padEnd(28)}${flag.padEnd(22)}${helpOf(name)}`;
  });
  return [
    'Usage: cloudops-mcp [options]',
    '       cloudops-mcp journal [--json] [--since 24h] [options]',
    '',
    'An MCP server on stdin and stdout: signed cloud operations as tools for AI agents.',
    'Try it without an account: cloudops-mcp --sandbox',
    '',
    'Settings, as environment variables or options (options win):',
    ...rows,
    '',
    '  --help      this text',
    '  --version   the version',
    '',
  ].join('\n');
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
