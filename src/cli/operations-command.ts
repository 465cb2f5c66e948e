import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cloud, resolveEndpoint, wireRequest } from '../calls/endpoint.js';
import { insertSecrets } from '../calls/insert-secrets.js';
import { isAllowed } from '../calls/policy.js';
import { requestLines } from '../calls/request-lines.js';
import { partsToShow } from '../calls/resolve-call.js';
import { makePlan, planText } from '../changes/plan.js';
import { allOperations } from '../config/own-operations.js';
import { withDefaults } from '../config/setting-values.js';
import { toolSchemas } from '../mcp/tool-schemas.js';
import { loadOperations, type OwnOperations } from '../operations/load-operations.js';
import { effectDoubt } from '../operations/model/guess-effect.js';
import { fixedKeys } from '../signing/keys.js';
import { type ExampleInput, exampleOf, type Operation, type Service } from '../tools/define-operation.js';
import { operations as builtIn } from '../tools/index.js';
import { defaultAccount } from '../transport/request.js';
import { counted, defined, distinct, linesOf, own, type SafeText, say } from '../util/safe-text.js';
import { checkOperation, exampleAnswer, madeUpSecrets } from './check-operation.js';
import { type Command, type Invocation, layoutOf, type Terminal, UsageError, validConfig } from './command.js';
import { printLine, type TextLayout, wrapped } from './layout.js';
import { hostRules, withContainedFiles } from './load-operation-files.js';

/** `cloudops-mcp operations` lists the tools, or checks or drafts a file of operations. */
export const operationsCommand: Command = {
  usage: '[check <file> | draft <model> [--operations <names>]] [--json]',
  about: 'list the tools, or check or draft a file of operations',
  details: 'Exit code 0 done, 1 the file that was checked has problems, 2 usage.',
  positionals: 2,
  options: { json: 'switch', operations: 'value', inside: 'switch' },
  run: async (invocation) => {
    const { positionals, options, terminal } = invocation;
    const [action = 'list', file] = positionals;
    if (action === 'list' && file === undefined) return list(invocation);
    if (action === 'draft' && file !== undefined) {
      const { draftOperations } = await import('./draft-operations.js');
      return draftOperations(
        { path: file, operations: options.operations, asJson: options.json !== undefined },
        terminal,
      );
    }
    if (action !== 'check' || file === undefined)
      throw new UsageError(say`operations takes nothing, or: check <file>, or: draft <model>.`);
    return options.inside === undefined ? checkInChild(file, terminal) : checkInside(file, terminal);
  },
};

/** Average number of characters of JSON in a token, measured with the encoding o200k_base. */
const charactersPerToken = 4.4;

/** Prints a list of the tools that the settings offer, as JSON with `--json`. */
function list(invocation: Invocation): number {
  const { operations, accounts } = validConfig(invocation);
  const { stdout } = invocation.terminal;
  const offered = operations.filter((operation) => accounts.all.some(({ policy }) => isAllowed(policy, operation)));
  const tools = offered.map(describeTool);
  const layout = layoutOf(invocation.terminal, 'stdout');
  if (invocation.options.json !== undefined) stdout.write(`${JSON.stringify(tools, null, 2)}\n`);
  else for (const tool of tools) stdout.write(`${toolLines(tool, layout).join('\n')}\n`);
  const hidden = operations.length - offered.length;
  if (hidden > 0 && stdout.isTTY) printLine(stdout, say`The settings do not offer ${counted(hidden, 'other tool')}.`);
  return 0;
}

/** Returns the facts about a tool for the list. The names of optional arguments are in brackets. */
function describeTool(operation: Operation) {
  const { name, title, description, effect, service } = operation;
  const { input, output } = operation.schemas ?? toolSchemas(operation);
  const listing = JSON.stringify({ name, title, description, input, output });
  const argumentNames = Object.entries(operation.input().shape).map(([argument, rule]) =>
    rule.safeParse(undefined).success ? `[${argument}]` : argument,
  );
  return { name, effect, service, tokens: Math.round(listing.length / charactersPerToken), arguments: argumentNames };
}

function toolLines(tool: ReturnType<typeof describeTool>, { width, paint }: TextLayout): string[] {
  const { name, effect, service, tokens } = tool;
  const argumentText = tool.arguments.join(' ') || 'no arguments';
  const head = wrapped(say`${own(name)}  (${own(service)}, ${own(effect)}, about ${tokens} tokens)`, width, {
    start: 0,
    indent: 4,
  });
  const [first = '', ...others] = head;
  return [
    first.replace(name, paint('bold', name)),
    ...others,
    ...wrapped(say`${defined(argumentText)}`, width, { indent: 4 }),
  ];
}

/**
 * Time limit of each function that the check calls (milliseconds), and of an import that blocks. It is longer than the limit of
 * `loadOperations` for an import that only waits, so that the child process can report such an import itself.
 */
const timeLimitMs = 7_000;
const maximumMegabytes = 512;
/** The check waits for this time at its end, for errors in timers and promises of the operations (milliseconds). */
const lateErrorsMs = 100;
/** File descriptor of the pipe for progress. The child process writes the name of each function to it before the call, one per line. */
const progressFd = 3;

/** Checks a file in a child process, because an endless loop or a lack of memory would stop this process. Resolves with the exit code. */
async function checkInChild(file: string, { script, node, stdout, stderr }: Terminal): Promise<number> {
  // With `--inside`, the child runs `checkInside`.
  const args = [`--max-old-space-size=${maximumMegabytes}`, script, 'operations', 'check', file, '--inside'];
  // The child's stderr is ignored, because it explains nothing when the memory runs out. The last pipe has the index `progressFd`.
  const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'ignore', 'pipe'] });

  const progress = child.stdio[progressFd];
  /** The function of the file, or the import of the file, that the child began last. Undefined before the import. */
  let lastBegun: string | undefined;
  const timer = setTimeout(() => child.kill('SIGKILL'), timeLimitMs);
  // The child writes to this pipe what it begins, such as the name of a function before its call. Then the time limit begins again.
  progress?.on('data', (chunk: Buffer) => {
    lastBegun = chunk.toString().trimEnd().split('\n').at(-1);
    timer.refresh();
  });
  child.stdout?.on('data', (chunk: Buffer) => stdout.write(chunk));

  const code = await new Promise<number | null>((resolve) => {
    // Node.js cannot be started. This hardly ever happens, because the same Node.js runs this process, so only the general message is printed.
    child.once('error', () => resolve(null));
    child.once('close', resolve);
  });
  clearTimeout(timer);
  // Any other code, or null, means that the child was killed, ran out of memory, or was ended by an operation.
  if (code === 0 || code === 1) return code;
  printLine(
    stderr,
    say`The check did not end: ${own(lastBegun ?? 'it')} took more than ${timeLimitMs / 1000} seconds or ${maximumMegabytes} MiB, or ended the process.`,
  );
  return 1;
}

/** Checks a file in the child process of `checkInChild`. Prints problems and the example of each operation. Resolves with the exit code. */
async function checkInside(file: string, { stdout, stderr }: Terminal): Promise<number> {
  // Writes synchronously, so that the parent knows of a function that blocks.
  const observer = { calling: (name: string) => void writeSync(progressFd, `${name}\n`) };
  const { result: counts, uncaughtErrors } = await withContainedFiles({ stderr }, async () => {
    const loaded = await loadOperations(file, hostRules, { observer });
    const loadedCounts = await checkLoaded(loaded, stdout);
    // Timers and promises of the operations get time to fail. Their errors are in `uncaughtErrors`.
    await sleep(lateErrorsMs);
    return loadedCounts;
  });

  const distinctErrors = distinct(uncaughtErrors);
  const totalProblems = counts.problemCount + distinctErrors.length;
  printLines(stdout, [
    say``,
    ...distinctErrors.map((error) => say`problem  ${error}`),
    say`operations: ${counts.operationCount}, problems: ${totalProblems}`,
  ]);
  return totalProblems === 0 ? 0 : 1;
}

/** Checks the operations of a file, and prints their problems and examples. Counts the printed operations and the problems. */
async function checkLoaded(loaded: OwnOperations, stdout: Terminal['stdout']) {
  const { operations, follows = {}, problems, fileNotes = [] } = loaded;
  // Only notes about files, because `printChecked` prints the notes on each operation below its name.
  printLines(stdout, [
    ...problems.map((problem) => say`problem  ${problem}`),
    ...fileNotes.map((note) => say`note  ${note}`),
  ]);

  const all = allOperations(builtIn, loaded);
  let problemCount = problems.length;
  for (const operation of operations) {
    const problemsOfOperation = await checkOperation(operation);
    problemCount += problemsOfOperation.length;
    await printChecked(operation, problemsOfOperation, all, stdout);
  }

  // Built-in changes to which the file adds a read of their progress. They need no check, but their examples show the answer with this read.
  const extendedBuiltIns = all.filter(({ name }) => Object.hasOwn(follows, name));
  const noProblems: readonly string[] = [];
  for (const operation of extendedBuiltIns) await printChecked(operation, noProblems, all, stdout);
  return { operationCount: operations.length + extendedBuiltIns.length, problemCount };
}

/** Prints the problems and the example of an operation. */
async function printChecked(
  operation: Operation,
  problems: readonly string[],
  all: readonly Operation[],
  stdout: Terminal['stdout'],
): Promise<void> {
  printLines(stdout, [
    say`${own(operation.name)}: ${defined(operation.title)}`,
    ...problems.map((problem) => say`problem  ${defined(problem)}`),
    ...notesOn(operation).map((limitation) => say`note  ${defined(limitation)}`),
    say``,
  ]);

  const example = exampleOf(operation);
  if (example === undefined) return;
  // If a function of the operation throws, no example is shown. The fault is among the problems above.
  const lines = await exampleLines(operation, example).catch((error: unknown) => {
    if (problems.length === 0) throw error;
    return undefined;
  });
  if (lines === undefined) return;
  // With a problem, the operation may be unable to read an answer, so no answer is shown.
  if (problems.length === 0) lines.push(say``, say`Answer:`, ...(await exampleAnswer(operation, example, all)));
  const indented = lines.map((line) => (line.text === '' ? line : say`  ${line}`));
  printLines(stdout, [...indented, say``]);
}

/** Facts about an operation that its author should know although they are no problems. */
const notesOn = (operation: Operation): readonly string[] => {
  const doubt = effectDoubt(operation);
  return [...(doubt === undefined ? [] : [doubt.text]), ...operation.limitations];
};

function printLines(stdout: Terminal['stdout'], lines: readonly SafeText[]): void {
  for (const line of lines) printLine(stdout, line);
}

/** Arguments that tell this server what to do with a call. They are no part of the request to the cloud. */
const controlArguments = ['planOnly', 'allowRepeat', 'replaces'];

/** Shows the example's call with a made-up account: the plan and the request of a change, or only the request of a read. */
async function exampleLines(operation: Operation, example: ExampleInput): Promise<SafeText[]> {
  const { input, nameBySecretPath } = await exampleInputOf(operation, example);
  const apiRequest = await operation.request(input);
  const { service, change } = operation;
  const endpoint = resolveEndpoint(exampleCloud(service), operation, apiRequest.region);
  const request = wireRequest(operation, apiRequest, endpoint);

  if (change === undefined) {
    const { method, headers, target, body } = request;
    return requestLines({ method, url: endpoint.origin + target, headers, body });
  }
  const partsShown = await partsToShow({ operation, input, request, endpoint, nameBySecretPath });
  const plan = makePlan({
    operation,
    change,
    // The call has no control arguments, so its arguments (`args`) are the input.
    input,
    args: input,
    nameBySecretPath,
    request,
    ...partsShown,
    endpoint,
    keyId: exampleKey,
    regionSource: 'default',
  });
  // No call can carry out this plan, so the text names no time at which the plan expires.
  const expiry = undefined;
  // A plan has the method, URL, headers and body of its request, besides the texts for people.
  return [...linesOf(planText(plan, expiry)), say``, say`Request:`, ...requestLines(plan)];
}

/** The validated arguments of the example, with a made-up secret in place of each name of a secret file, and without control arguments. */
async function exampleInputOf(operation: Operation, example: ExampleInput) {
  const exampleArgs = operation.input().parse(example);
  // `insertSecrets` throws if the rules of an argument refuse a made-up secret. Then the request is shown without secrets.
  const withSecrets = insertSecrets(operation, exampleArgs, madeUpSecrets, exampleRegion);
  const { input: allArgs, nameBySecretPath } = await withSecrets.catch(() => ({
    input: exampleArgs,
    nameBySecretPath: {},
  }));
  // An operation never gets control arguments, such as `planOnly`.
  const input = Object.fromEntries(Object.entries(allArgs).filter(([name]) => !controlArguments.includes(name)));
  return { input, nameBySecretPath };
}

const exampleRegion = 'jp-east-1';
/** The key ID and the secret key of the made-up account. */
const exampleKey = 'EXAMPLE';

function exampleCloud(service: Service): Cloud {
  const { STORAGE_SERVICE: storage, CATALOG_SERVICE: catalog, DEVOPS_SERVICE: devops } = withDefaults({});
  return {
    account: defaultAccount,
    region: exampleRegion,
    keys: fixedKeys({ accessKeyId: exampleKey, secretAccessKey: exampleKey }),
    endpoints: { [service]: `https://${service}.example.com` },
    signingServices: { storage, catalog, devops },
    storageHeaders: 'amz',
  };
}
