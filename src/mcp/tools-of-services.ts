import * as z from 'zod';
import { type Accounts, accountsFor, accountsOf } from '../calls/account.js';
import type { EndedOutcome, Success } from '../calls/outcome.js';
import { checkPolicy, isAllowed, type Principal } from '../calls/policy.js';
import { Refusal, refusalAfter, refusalFailure } from '../calls/refusal.js';
import { type ArgumentName, parsedBy } from '../calls/validate.js';
import { findOperation, type ServiceCatalog } from '../models/service-catalog.js';
import { exampleOf, type Operation, type OperationOutline } from '../tools/define-operation.js';
import { next } from '../tools/next.js';
import { withoutUndefined } from '../util/objects.js';
import { own, type SafeText, say, words } from '../util/safe-text.js';
import { toolArguments } from './server-tools.js';

/** This file answers the tools with which agents find and call the operations of whole services. */

interface ServiceDependencies {
  readonly operations: readonly Operation[];
  readonly services: ServiceCatalog;
  readonly accounts: Accounts;
  readonly principal?: Principal | undefined;
}

/** The result of one of these tools, or the call of an operation that the tool asks for. */
export type ServiceCall =
  | { readonly kind: 'found'; readonly text: SafeText; readonly data: Readonly<Record<string, unknown>> }
  | { readonly kind: 'ended'; readonly outcome: EndedOutcome }
  | {
      readonly kind: 'call';
      readonly operation: Operation;
      readonly args: Readonly<Record<string, unknown>>;
      readonly argumentName: ArgumentName;
    };

export async function serviceCall(
  tool: string,
  args: unknown,
  dependencies: ServiceDependencies,
): Promise<ServiceCall> {
  const { find_operations, describe_operation } = toolArguments();
  try {
    if (tool === 'find_operations') return await find(parsedBy(find_operations, args), dependencies);
    if (tool === 'describe_operation') return await describe(parsedBy(describe_operation, args), dependencies);
    return await callOf(tool, args, dependencies);
  } catch (error) {
    const refusal = refusalAfter(error);
    if (refusal === undefined) throw error;
    const failure = refusalFailure(tool, refusal, { isChange: tool === 'change_operation' });
    return { kind: 'ended', outcome: { kind: 'failed', failure } };
  }
}

const ended = (success: Pick<Success, 'summary' | 'next' | 'answer'>): ServiceCall => ({
  kind: 'ended',
  outcome: { kind: 'succeeded', success: { warnings: [], requestIds: {}, ...success } },
});

/** @throws Refusal */
async function operationNamed(given: string, dependencies: ServiceDependencies): Promise<Operation> {
  const tool = given.includes(':') ? undefined : await findOperation(given, dependencies);
  if (tool !== undefined) return tool;
  const found = await dependencies.services.find(given);
  if (found.kind === 'found') return found.operation;
  throw new Refusal('InvalidArguments', [say`name: ${found.problem}`], {
    next: next('agent', 'call', 'Call find_operations to find the name.'),
  });
}

async function find(
  query: z.output<ReturnType<typeof toolArguments>['find_operations']>,
  { services, operations, accounts: allAccounts, principal }: ServiceDependencies,
): Promise<ServiceCall> {
  const state = await services.search();
  if (state.kind === 'building')
    return ended({
      summary: say`The operations are being indexed, after a change of the models: ${state.services} of ${state.of} services are done.`,
      next: next('agent', 'wait', 'Call again in half a minute.'),
    });

  if (query.service !== undefined && !services.services.some(({ name }) => name === query.service)) {
    const lookup = await services.find(`${query.service}:`);
    if (lookup.kind === 'unknown') throw new Refusal('InvalidArguments', [say`service: ${lookup.problem}`]);
  }
  const accounts = accountsOf(allAccounts, principal);
  // Once for each service, because there may be thousands of operations.
  const configured = new Map(
    services.services.map(({ name, api }) => [
      name,
      accounts.all.filter(({ missingFor }) => missingFor(api).length === 0),
    ]),
  );
  const tools = new Map(operations.map((operation) => [operation.serviceName, operation]));
  const found = state.search.search(query, ({ service, operation, effect }) => {
    const name = `${service}:${operation}`;
    const subject = tools.get(name) ?? { name, effect };
    return configured.get(service)?.some(({ policy }) => isAllowed(policy, subject, principal)) === true;
  });
  // Loaded late, as the search itself.
  const { foundData, foundText } = await import('../models/search/found-answer.js');
  return { kind: 'found', text: foundText(found), data: { ...foundData(found) } };
}

/** @throws Refusal */
async function callOf(tool: string, args: unknown, dependencies: ServiceDependencies): Promise<ServiceCall> {
  const isRead = tool === 'read_operation';
  const { read_operation: reading, change_operation: changing } = toolArguments();
  const schema = (isRead ? reading : changing).extend({ account: z.unknown().optional() });
  const { name: given, arguments: inner, fields, ...others } = { fields: undefined, ...parsedBy(schema, args) };
  const operation = await operationNamed(given, dependencies);
  const otherTool = isRead ? 'change_operation' : 'read_operation';
  if ((operation.effect === 'read') !== isRead)
    throw new Refusal(
      'InvalidArguments',
      [say`name: ${own(given)} ${words(isRead ? 'changes something' : 'only reads')}`],
      { next: next('agent', 'call', say`Call ${own(otherTool)} with the same name and arguments.`) },
    );
  const { fieldsArgument = 'fields' } = operation;
  return {
    kind: 'call',
    operation,
    // Agents also put what belongs beside the arguments inside.
    args: withoutUndefined({ ...inner, ...others, ...(fields !== undefined && { [fieldsArgument]: fields }) }),
    argumentName: (argument) => {
      if (argument === fieldsArgument) return 'fields';
      return ['account', 'planOnly', 'allowRepeat', 'replaces'].includes(argument) ? argument : `arguments.${argument}`;
    },
  };
}

/** @throws Refusal */
async function describe(
  { name: given, path = '' }: z.output<ReturnType<typeof toolArguments>['describe_operation']>,
  dependencies: ServiceDependencies,
): Promise<ServiceCall> {
  const operation = await operationNamed(given, dependencies);
  const { principal } = dependencies;
  const accounts = accountsOf(dependencies.accounts, principal);
  const [first] = accounts.all;
  if (first === undefined) throw new Refusal('NotAllowed', [say`the token names no account of this server`]);
  if (accountsFor(accounts, operation, principal).length === 0)
    checkPolicy(first.policy, operation, principal, accounts.areNamed ? first.name : undefined);

  const { effect, description, secretNames = {} } = operation;
  const outline = await outlineOf(operation, path);
  if (path !== '') return ended({ summary: say`${own(given)}, inside ${path}:`, answer: outline.arguments });
  const isRead = effect === 'read';
  return ended({
    summary: say`${own(given)}: call ${own(isRead ? 'read_operation' : 'change_operation')}.`,
    answer: withoutUndefined({
      about: description,
      effect,
      ...(!isRead && { risks: risksOf(operation) }),
      arguments: outline.arguments,
      more: ifAny(outline.more),
      // A call may name a secret that only this server knows.
      secretsByName: ifAny(Object.keys(secretNames)),
      masked: ifAny([...new Set(outline.hidden)]),
      example: exampleOf(operation),
    }),
  });
}

const ifAny = (names: readonly string[]) => (names.length === 0 ? undefined : names);

/** @throws Refusal */
async function outlineOf(operation: Operation, path: string): Promise<OperationOutline> {
  if (operation.outline === undefined) {
    // Loaded late, as for the reference.
    const { argumentRows } = await import('./reference.js');
    const rows = argumentRows(operation).filter((row) => row.path.startsWith(path));
    const texts = rows.map((row) => [row.path, [row.type, ...row.rules].join(', ')]);
    return { arguments: Object.fromEntries(texts), more: [], hidden: [] };
  }
  try {
    return operation.outline(path);
  } catch (error) {
    // The class is loaded only for operations of models. Its message quotes names.
    if (!(error instanceof Error) || error.name !== 'ModelError') throw error;
    throw new Refusal('InvalidArguments', [say`path: ${error.message}`]);
  }
}

function risksOf({ effect, change }: Operation): string {
  const costs = change?.costsMoney === undefined ? 'may cost money' : change.costsMoney && 'costs money';
  const isIrreversible = change?.irreversible ?? (effect === 'delete' || undefined);
  const undo = isIrreversible === undefined ? 'may not be undone' : isIrreversible && 'cannot be undone';
  return [costs, undo].filter((risk) => risk !== false).join(', ') || 'none known';
}
