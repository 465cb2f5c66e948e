import { type Cloud, resolveEndpoint, wireRequest } from '../calls/endpoint.js';
import { isAllowed } from '../calls/policy.js';
import { requestLines } from '../calls/request-lines.js';
import { partsToShow } from '../calls/resolve-call.js';
import { makePlan, planText } from '../changes/plan.js';
import { withDefaults } from '../config/setting-values.js';
import { toolSchemas } from '../mcp/tool-schemas.js';
import { effectDoubt } from '../operations/model/guess-effect.js';
import { fixedKeys } from '../signing/keys.js';
import { type ExampleInput, exampleOf, type Operation, type Service } from '../tools/define-operation.js';
import { defaultAccount } from '../transport/request.js';
import { counted, defined, linesOf, own, quoted, type SafeText, say } from '../util/safe-text.js';
import { type Command, type Invocation, type Terminal, UsageError, validConfig } from './command.js';
import { columnsOf, printLine, wrapped } from './layout.js';
import { loadOperationFiles } from './load-operation-files.js';

/** `cloudops-mcp operations` lists the tools, or checks or drafts a file of operations. */
export const operationsCommand: Command = {
  usage: '[--json] | check <file> | draft <model> [--operations <names>]',
  about: 'list the tools, or check or draft a file of operations',
  details: 'Exit code 0 done, 1 the file that was checked has problems, 2 usage.',
  positionals: 2,
  options: { json: 'switch', operations: 'value' },
  run: async (invocation) => {
    const { positionals, options, terminal } = invocation;
    const [action = 'list', file] = positionals;
    if (action === 'list' && file === undefined) return list(invocation);
    if (action === 'draft' && file !== undefined) {
      const { draftOperations } = await import('./draft-operations.js');
      return draftOperations(file, options.operations, terminal);
    }
    if (action !== 'check' || file === undefined)
      throw new UsageError(say`operations takes nothing, or: check <file>, or: draft <model>.`);
    return check(file, terminal);
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
  if (invocation.options.json !== undefined) stdout.write(`${JSON.stringify(tools, null, 2)}\n`);
  else for (const tool of tools) stdout.write(`${toolLines(tool, columnsOf(stdout)).join('\n')}\n`);
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

function toolLines(
  { name, effect, service, tokens, arguments: names }: ReturnType<typeof describeTool>,
  width: number,
) {
  const head = say`${own(name)}  (${own(service)}, ${own(effect)}, about ${tokens} tokens)`;
  return [
    ...wrapped(head, width, { start: 0, indent: 4 }),
    ...wrapped(say`${defined(names.join(' ') || 'no arguments')}`, width, { indent: 4 }),
  ];
}

/** Checks a file, or all files of a folder. Prints problems, and the plan and the request of each operation's example. */
async function check(path: string, { stdout }: Terminal): Promise<number> {
  const { operations, follows = {}, problems } = await loadOperationFiles(path);
  printLines(
    stdout,
    problems.map((problem) => say`problem  ${problem}`),
  );
  for (const operation of operations) await printChecked(operation, stdout);
  const extended = Object.entries(follows).map(
    ([change, { read }]) => say`${own(change)}: leads to ${quoted(read, 100)}`,
  );
  printLines(stdout, [
    ...extended,
    say``,
    say`operations: ${operations.length + extended.length}, problems: ${problems.length}`,
  ]);
  return problems.length === 0 ? 0 : 1;
}

/** Prints the notes on an operation, and its example. */
async function printChecked(operation: Operation, stdout: Terminal['stdout']): Promise<void> {
  const example = exampleOf(operation);
  const notes = [...notesOn(operation), ...(example === undefined ? [noExample] : [])];
  const lines = example === undefined ? [] : await exampleLines(operation, example);
  printLines(stdout, [
    say`${own(operation.name)}: ${defined(operation.title)}`,
    ...notes.map((note) => say`note  ${defined(note)}`),
    say``,
    ...lines.map((line) => (line.text === '' ? line : say`  ${line}`)),
    ...(lines.length > 0 ? [say``] : []),
  ]);
}

const noExample =
  'No example could be made up that keeps to the rules of the arguments, so neither plan nor request is shown.';

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
  // An operation never gets control arguments, such as `planOnly`.
  const input = Object.fromEntries(
    Object.entries(operation.input().parse(example)).filter(([name]) => !controlArguments.includes(name)),
  );
  // Operations of models take secrets as values, which a plan hides.
  const nameBySecretPath = {};
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
