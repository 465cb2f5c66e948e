import { spawn } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { resolveEndpoint, wireRequest } from '../calls/endpoint.js';
import { makePlan, type PlannedCall, planText } from '../consent/plan.js';
import { requestLines } from '../consent/request-lines.js';
import { toolSchemas } from '../mcp/tool-schemas.js';
import { contractProblems } from '../operations/check-by-trial.js';
import { loadOperations } from '../operations/load-operations.js';
import { fixedKeys } from '../signing/keys.js';
import type { Operation } from '../tools/define-operation.js';
import { defaultAccount } from '../transport/request.js';
import { defined, exact, linesOf, own, type Shown, said, say } from '../util/safe-text.js';
import { type Command, type Invocation, type Terminal, UsageError, validConfig } from './command.js';
import { printLine } from './layout.js';

/** `cloudops-mcp operations`: what tools there are, and whether a file of operations holds what it promises. */
export const operationsCommand: Command = {
  usage: '[check <file>] [--json]',
  about: 'list the tools with their arguments and cost in tokens, or check a file of operations',
  positionals: 2,
  options: { json: 'switch', inside: 'switch' },
  run: async (invocation) => {
    const { positionals, options, terminal } = invocation;
    const [what = 'list', file] = positionals;
    if (what === 'list' && file === undefined) return list(invocation);
    if (what !== 'check' || file === undefined) throw new UsageError(say`operations takes nothing, or: check <file>.`);
    return options.inside === undefined ? checkInChild(file, terminal) : check(file, terminal);
  },
};

/** Characters of JSON for each token that a model reads: measured with the encoding o200k_base. */
const charactersPerToken = 4.4;

function list(invocation: Invocation): number {
  const { operations } = validConfig(invocation);
  const { stdout } = invocation.terminal;
  const rows = operations.map((operation) => {
    const { name, title, description, effect, service } = operation;
    const { input, output } = operation.schemas ?? toolSchemas(operation);
    const listed = JSON.stringify({ name, title, description, input, output });
    const { shape } = operation.input();
    const names = Object.entries(shape).map(([argument, rule]) =>
      rule.safeParse(undefined).success ? `[${argument}]` : argument,
    );
    return { name, effect, service, tokens: Math.round(listed.length / charactersPerToken), arguments: names };
  });
  if (invocation.options.json !== undefined) stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  else
    for (const { name, effect, service, tokens, arguments: names } of rows)
      printLine(
        stdout,
        say`${own(name)}  (${own(service)}, ${own(effect)}, about ${tokens} tokens)\n    ${defined(names.join(' ') || 'no arguments')}`,
      );
  return 0;
}

/** A file that never ends is given up after this time, in milliseconds. */
const patienceMs = 60_000;
const maximumMegabytes = 512;
/** Timers and promises that functions leave behind may go wrong as long (milliseconds). */
const lingerMs = 100;

/** Checks a file in a process of its own, so that one that loops or takes all memory ends there. */
async function checkInChild(file: string, { script, stdout, stderr }: Terminal): Promise<number> {
  const args = [`--max-old-space-size=${maximumMegabytes}`, script, 'operations', 'check', file, '--inside'];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: patienceMs,
    killSignal: 'SIGKILL',
  });
  child.stdout.on('data', (chunk: Buffer) => stdout.write(chunk));
  // The last words of a process that ends for lack of memory help nobody.
  child.stderr.resume();
  const code = await new Promise<number | undefined>((resolve) => {
    child.once('error', () => resolve(undefined));
    child.once('close', (exitCode) => resolve(exitCode === 0 || exitCode === 1 ? exitCode : undefined));
  });
  if (code !== undefined) return code;
  printLine(
    stderr,
    say`The check did not end: the file took more than ${patienceMs / 1000} seconds or ${maximumMegabytes} MiB, or ended the process.`,
  );
  return 1;
}

/** Loads a file, prints plan and request of each example, and what the contract finds. */
async function check(file: string, terminal: Terminal): Promise<number> {
  const { stdout } = terminal;
  const { containFiles } = await import('./contain-operation-files.js');
  const files = containFiles(terminal);
  const print = (...lines: readonly Shown[]) => {
    for (const line of lines) printLine(stdout, line);
  };
  const { operations, problems } = await loadOperations(file);
  if (problems.length > 0) {
    print(...problems.map((problem) => say`problem  ${said(problem)}`));
    files.end();
    return 1;
  }
  let found = 0;
  for (const operation of operations) {
    const broken = await contractProblems(operation);
    found += broken.length;
    const heading = say`${own(operation.name)}: ${defined(operation.title)}`;
    print(heading, ...broken.map((problem) => say`problem  ${defined(problem)}`), say``);
    print(...exampleLines(operation).map((line) => (line === '' ? line : say`  ${said(line)}`)));
  }
  // What functions left behind ends a moment later.
  await setTimeout(lingerMs);
  files.end();
  const stray = new Set(files.problems);
  found += stray.size;
  print(say``, ...[...stray].map((problem) => say`problem  ${said(problem)}`));
  print(say`operations: ${operations.length}, problems: ${found}`);
  return found === 0 ? 0 : 1;
}

/** The plan of a change, or the request of a read, with the example's arguments. */
function exampleLines(operation: Operation): Shown[] {
  const {
    planOnly: _,
    planId: __,
    allowRepeat: ___,
    withdraw: ____,
    ...input
  } = operation.input().parse(operation.example);
  const wanted = operation.request(input);
  const { service, change } = operation;
  const keyId = 'EXAMPLE';
  const cloud = {
    account: defaultAccount,
    region: 'jp-east-1',
    keys: fixedKeys({ accessKeyId: keyId, secretAccessKey: keyId }),
    endpoints: { [service]: `https://${service}.example.com` },
    signingServices: {},
    storageHeaders: 'amz',
  } as const;
  const endpoint = resolveEndpoint(cloud, operation, wanted.region);
  const request = wireRequest(operation, wanted, endpoint);
  if (change !== undefined)
    return shownPlan({ operation, change, input, args: input, request, endpoint, keyId, regionSource: 'default' });
  return [say`${own(request.method)} ${exact(endpoint.origin + request.target)}`];
}

function shownPlan(call: PlannedCall): Shown[] {
  const plan = makePlan(call);
  return [...linesOf(planText(plan, undefined)), say``, say`Request:`, ...requestLines(plan)];
}
