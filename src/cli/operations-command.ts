import { relative } from 'node:path';
import { accountsFor } from '../calls/account.js';
import { isAllowed } from '../calls/policy.js';
import { openAccounts } from '../config/open-accounts.js';
import { toolSchemas } from '../mcp/tool-schemas.js';
import { draftFile } from '../models/draft.js';
import { openModel } from '../models/from-model.js';
import { effectDoubt } from '../models/guess-effect.js';
import { UnusableFile } from '../models/model-settings.js';
import { createServiceCatalog } from '../models/service-catalog.js';
import type { ServiceSources } from '../models/service-sources.js';
import type { Operation } from '../tools/define-operation.js';
import { counted, defined, namesOf, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { type Command, type Invocation, notOneOf, type Terminal, UsageError, validConfig } from './command.js';
import { printLine, printWrapped } from './layout.js';
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

function list(invocation: Invocation): number {
  const config = validConfig(invocation);
  const { stdout, stderr, now } = invocation.terminal;
  const sandbox = () => Promise.reject(new Error('nothing is called'));
  const accounts = openAccounts(config.accounts, {
    env: config.otherVariables,
    now,
    log: () => undefined,
    sandbox: config.values.SANDBOX ? sandbox : undefined,
  });
  const allowed = config.operations.filter((operation) =>
    accounts.all.some(({ policy }) => isAllowed(policy, operation)),
  );
  const isConfigured = (operation: Operation) => accountsFor(accounts, operation, undefined).length > 0;
  const tools = allowed.filter(isConfigured).map(describeTool);
  if (invocation.options.json !== undefined) stdout.write(`${JSON.stringify(tools, null, 2)}\n`);
  else
    for (const { name, effect, service, tokens, arguments: names } of tools) {
      const head = say`${own(name)}  (${own(service)}, ${own(effect)}, about ${tokens} tokens)`;
      printWrapped(stdout, head, { start: 0, indent: 4 });
      printWrapped(stdout, say`${defined(names.join(' ') || 'no arguments')}`, { indent: 4 });
    }

  const leftOut = allowed.filter((operation) => !isConfigured(operation));
  const missing = leftOut.flatMap(({ service }) => accounts.all.flatMap(({ missingFor }) => missingFor(service)));
  const step = words(config.values.SANDBOX ? 'unset' : 'set');
  if (missing.length > 0) {
    const names = namesOf([...new Set(missing)]);
    printWrapped(stderr, say`${counted(leftOut.length, 'tool')} left out. To offer all, ${step} ${names}.`);
  }
  return 0;
}

/** The names of optional arguments are in brackets. A token of o200k_base has about 4.4 characters. */
function describeTool(operation: Operation) {
  const { name, title, description, effect, service } = operation;
  const { input, output } = operation.schemas ?? toolSchemas(operation);
  const listing = JSON.stringify({ name, title, description, input, output });
  const argumentNames = Object.entries(operation.input().shape).map(([argument, rule]) =>
    rule.safeParse(undefined).success ? `[${argument}]` : argument,
  );
  return { name, effect, service, tokens: Math.round(listing.length / 4.4), arguments: argumentNames };
}

async function check(path: string, { stdout }: Terminal): Promise<number> {
  const { operations, follows = {}, services = new Map(), problems: problemsOfFiles } = await loadOperationFiles(path);
  const checked = await checkServices(services);
  const problems = [...problemsOfFiles, ...checked.problems];
  for (const problem of problems) printLine(stdout, say`problem  ${problem}`);
  for (const operation of operations) {
    printLine(stdout, say`${own(operation.name)}: ${defined(operation.title)}`);
    const doubt = effectDoubt(operation);
    for (const note of [...(doubt === undefined ? [] : [doubt.text]), ...operation.limitations])
      printLine(stdout, say`note  ${defined(note)}`);
  }
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

/** Prints a file of operations for a model, and on stderr what a person has to decide. `chosen` has names separated by commas. @throws UsageError or UnusableFile */
async function draftOperations(path: string, chosen: string | undefined, { stdout, stderr }: Terminal) {
  const model = await openModel('.', path);
  const isAll = chosen === undefined || chosen === 'all';
  const operations = isAll ? model.names : chosen.split(',').map((name) => name.trim());
  for (const name of operations)
    if (!model.names.includes(name)) throw new UsageError(notOneOf('operation', name, model.names));
  // The draft is expected in the current folder.
  const fromFolder = relative('.', path).replaceAll('\\', '/');
  const modelPath = fromFolder.startsWith('../') ? fromFolder : `./${fromFolder}`;
  const { json, toDecide, leftOut } = draftFile({ model, path: modelPath, operations }, hostRules(false));
  stdout.write(json);
  for (const { operation, reason } of leftOut) printLine(stderr, say`left out: ${own(operation)}: ${defined(reason)}.`);
  for (const { operation, reason } of toDecide)
    printLine(stderr, say`to decide: the effect of ${own(operation)}, which ${defined(reason)}.`);
  return 0;
}
