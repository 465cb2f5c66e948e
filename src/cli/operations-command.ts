import { relative } from 'node:path';
import { type Cloud, resolveEndpoint, wireRequest } from '../calls/endpoint.js';
import { withSecret } from '../calls/insert-secrets.js';
import { isAllowed } from '../calls/policy.js';
import { requestLines } from '../calls/result-text.js';
import { withDefaults } from '../config/read-settings.js';
import { toolSchemas } from '../mcp/tool-schemas.js';
import { draftFile } from '../models/draft.js';
import { openModel } from '../models/from-model.js';
import { effectDoubt } from '../models/guess-effect.js';
import { createServiceCatalog } from '../models/service-catalog.js';
import type { ServiceSources } from '../models/service-sources.js';
import { UnusableFile } from '../models/settings-schema.js';
import { fixedKeys } from '../signing/keys.js';
import { type ExampleInput, exampleOf, type Operation } from '../tools/define-operation.js';
import { defaultAccount } from '../transport/request.js';
import { parseJson, textAt } from '../util/objects.js';
import { secretNamed } from '../util/quote.js';
import { counted, defined, own, quoted, type SafeText, say } from '../util/safe-text.js';
import { type Command, type Invocation, notOneOf, type Terminal, UsageError, validConfig } from './command.js';
import { columnsOf, printLine, wrapped } from './layout.js';
import { hostRules, loadOperationFiles } from './load-operation-files.js';

/** `cloudops-mcp operations` lists the tools, or checks or drafts a file of operations. */
export const operationsCommand: Command = {
  usage: '[--json] | check <file> | draft <model> [--operations <names>]',
  about: 'list the tools, or check or draft a file of operations',
  example: 'operations check my.operations.json',
  exitCodes: { 0: 'done', 1: 'the file that was checked has problems', 2: 'wrong usage or configuration' },
  positionals: 2,
  options: { json: 'switch', operations: 'value' },
  run: async (invocation) => {
    const { positionals, options, terminal } = invocation;
    const [action = 'list', file] = positionals;
    if (action === 'list' && file === undefined) return list(invocation);
    if (action === 'draft' && file !== undefined) return draftOperations(file, options.operations, terminal);
    if (action !== 'check' || file === undefined)
      throw new UsageError(say`operations takes nothing, or: check <file>, or: draft <model>.`);
    return check(file, terminal);
  },
};

/** Measured with the encoding o200k_base. */
const charactersPerToken = 4.4;

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

/** The names of optional arguments are in brackets. */
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

async function check(path: string, { stdout }: Terminal): Promise<number> {
  const { operations, follows = {}, services = new Map(), problems: problemsOfFiles } = await loadOperationFiles(path);
  const checked = await checkServices(services);
  const problems = [...problemsOfFiles, ...checked.problems];
  for (const problem of problems) printLine(stdout, say`problem  ${problem}`);
  for (const operation of operations) for (const line of await checkedLines(operation)) printLine(stdout, line);
  const extended = Object.entries(follows);
  for (const [change, { read }] of extended) printLine(stdout, say`${own(change)}: leads to ${quoted(read, 100)}`);
  for (const line of checked.lines) printLine(stdout, line);
  const count = operations.length + extended.length;
  printLine(stdout, say`\noperations: ${count}, problems: ${problems.length}`);
  return problems.length === 0 ? 0 : 1;
}

/** Loads each model, and finds each operation that has settings. */
async function checkServices(services: ServiceSources) {
  const catalog = createServiceCatalog(services, [], {
    listsSecretNames: false,
    version: '',
    log: () => undefined,
    cacheFolder: () => undefined,
  });
  const lines: SafeText[] = [];
  const problems: SafeText[] = [];
  for (const [service, { settings }] of services) {
    const { names } = await catalog.open(service).then(
      ({ model }) => model,
      (error: unknown) => {
        if (!(error instanceof UnusableFile)) throw error;
        problems.push(say`services.${own(service)}: ${defined(error.message)}`);
        return { names: [] };
      },
    );
    lines.push(say`service ${own(service)}: ${counted(names.length, 'operation')}`);
    for (const operation of names.length === 0 ? [] : Object.keys(Object(settings.operations))) {
      const found = await catalog.find(`${service}:${operation}`);
      if (found.kind === 'unknown') problems.push(found.problem);
    }
  }
  return { lines, problems };
}

async function checkedLines(operation: Operation): Promise<SafeText[]> {
  const doubt = effectDoubt(operation);
  const example = exampleOf(operation);
  const notes = [...(doubt === undefined ? [] : [doubt.text]), ...operation.limitations];
  if (example === undefined) notes.push(noExample);
  const request = example === undefined ? [] : await exampleRequest(operation, example);
  return [
    say`${own(operation.name)}: ${defined(operation.title)}`,
    ...notes.map((note) => say`note  ${defined(note)}`),
    say``,
    ...request.flatMap((line) => (line.text === '' ? line : say`  ${line}`)),
    ...(request.length > 0 ? [say``] : []),
  ];
}

const noExample = 'No example could be made up that keeps to the rules of the arguments, so no request is shown.';

async function exampleRequest(operation: Operation, example: ExampleInput): Promise<SafeText[]> {
  // An operation never gets the control arguments.
  const { planOnly: _, allowRepeat: __, replaces: ___, ...given } = operation.input().parse(example);
  const input = Object.entries(operation.secretNames ?? {}).reduce<unknown>((args, [namePath, path]) => {
    const name = textAt(args, namePath);
    return name === undefined ? args : withSecret(args, namePath, path, secretNamed(name));
  }, given);
  const apiRequest = await operation.request({ ...Object(input) });
  const { STORAGE_SERVICE: storage, CATALOG_SERVICE: catalog, DEVOPS_SERVICE: devops } = withDefaults({});
  const cloud: Cloud = {
    account: defaultAccount,
    region: 'jp-east-1',
    keys: fixedKeys({ accessKeyId: 'EXAMPLE', secretAccessKey: 'EXAMPLE' }),
    endpoints: { [operation.service]: `https://${operation.service}.example.com` },
    signingServices: { storage, catalog, devops },
    storageHeaders: 'amz',
  };
  const endpoint = resolveEndpoint(cloud, operation, apiRequest.region);
  const { method, headers, target, body } = wireRequest(operation, apiRequest, endpoint);
  const { service, region } = endpoint;
  return requestLines({
    method,
    url: endpoint.origin + target,
    headers: { ...headers, authorization: `signed as EXAMPLE for service ${service} in ${region}` },
    body: body === undefined ? undefined : (parseJson(String(body)) ?? body),
  });
}

/** Prints a file of operations for a model, and on stderr what a person has to decide. `chosen` has names separated by commas. @throws UsageError or UnusableFile */
async function draftOperations(path: string, chosen: string | undefined, { stdout, stderr }: Terminal) {
  const model = await openModel('.', path);
  const isAll = chosen === undefined || chosen === 'all';
  const operations = isAll ? model.names : chosen.split(',').map((name) => name.trim());
  for (const name of operations)
    if (!model.names.includes(name)) throw new UsageError(notOneOf('operation', name, model.names));
  const { json, toDecide, leftOut } = draftFile({ model, path: pathFromFolder(path), operations }, hostRules(false));
  stdout.write(json);
  for (const { operation, reason } of leftOut) printLine(stderr, say`left out: ${own(operation)}: ${defined(reason)}.`);
  for (const { operation, reason } of toDecide)
    printLine(stderr, say`to decide: the effect of ${own(operation)}, which ${defined(reason)}.`);
  return 0;
}

/** The draft is expected in the current folder. */
function pathFromFolder(path: string): string {
  const fromFolder = relative('.', path).replaceAll('\\', '/');
  return fromFolder.startsWith('../') ? fromFolder : `./${fromFolder}`;
}
