import type { ToolAnnotations } from '@modelcontextprotocol/server';
import {
  type Account,
  type Accounts,
  accountsFor,
  accountsForServices,
  accountsOf,
  nothingConfigured,
  presetAmong,
} from '../calls/account.js';
import type { Principal } from '../calls/policy.js';
import { mayConfirm } from '../changes/required-consent.js';
import type { ServiceCatalog } from '../models/service-catalog.js';
import type { Effect, JsonSchema, Operation } from '../tools/define-operation.js';
import { isObject } from '../util/objects.js';
import type { Client } from './client.js';
import { schemaFor } from './client-quirks.js';
import { instructionsFor } from './instructions.js';
import generatedSchemas from './schemas.generated.json' with { type: 'json' };
import { changeTools, clickTool, type ServerTool, serviceTools } from './server-tools.js';
import type { ToolSchemas } from './tool-schemas.js';
import type { ViewName } from './views/view-contract.js';
import { viewMetaOfTool, viewOf } from './views/view-of-tool.js';

/** This file says which tools a caller is offered, and lists them as clients see them. */

export interface OfferedTool extends Omit<ServerTool, 'takesAccount'>, ToolSchemas {
  /** For clients that show views. */
  readonly view?: ViewName | undefined;
}

export interface Offer {
  readonly accounts: Accounts;
  readonly operations: readonly Operation[];
  readonly tools: readonly OfferedTool[];
  readonly instructions: string;
}

interface Offered {
  readonly operations: readonly Operation[];
  readonly services?: Pick<ServiceCatalog, 'services'> | undefined;
  readonly accounts: Accounts;
}

const schemas: Readonly<Record<string, ToolSchemas>> = generatedSchemas;

/** Operations from files bring their schemas. */
export function schemasOf({ name, schemas: own }: Pick<Operation, 'name' | 'schemas'>): ToolSchemas {
  const found = own ?? schemas[name];
  if (found === undefined) throw new Error(`${name} is not in src/mcp/schemas.generated.json.`);
  return found;
}

/** Names of services in the instructions, in which some clients search for tools. */
const mostNames = 12;

export function offerTo(
  principal: Principal | undefined,
  { operations: all, services: { services } = { services: [] }, accounts: allAccounts }: Offered,
): Offer {
  const accounts = accountsOf(allAccounts, principal);
  const allowed = all
    .map((operation) => ({ operation, allowing: accountsFor(accounts, operation, principal) }))
    .filter(({ allowing }) => allowing.length > 0);
  const operations = allowed.map(({ operation }) => operation);

  const apis = services.map(({ api }) => api);
  const ofServices = serviceTools.flatMap((tool) => {
    const allowing = accountsForServices(accounts, apis, tool, principal);
    if (allowing.length === 0) return [];
    const view = tool.effect === 'read' ? undefined : 'change';
    return offeredTool({ ...tool, ...schemasOf(tool), view }, accounts, tool.takesAccount ? allowing : []);
  });
  const names = services.slice(0, mostNames).map(({ name }) => name);
  if (services.length > mostNames) names.push(`${services.length - mostNames} more services`);
  const mentioned = [...operations, ...ofServices.map((tool) => ({ ...tool, service: names.join(', ') }))];

  return {
    accounts,
    operations,
    tools: [
      ...allowed.map(({ operation, allowing }) => {
        const { name, title, description, effect } = operation;
        const tool = { name, title, description, effect, ...schemasOf(operation), view: viewOf(operation) };
        return offeredTool(tool, accounts, allowing);
      }),
      ...ofServices,
      ...changeToolsFor(mentioned, services.length > 0 ? [...all, ...serviceTools] : all, accounts),
    ],
    instructions: instructionsFor(
      mentioned,
      accounts,
      nothingConfigured(accounts, [...all, ...apis.map((service) => ({ service }))]),
    ),
  };
}

/** The tools of changes for a caller. A caller whose accounts only read can still read earlier changes. */
function changeToolsFor(
  offered: readonly Pick<Operation, 'effect'>[],
  all: readonly Pick<Operation, 'effect'>[],
  accounts: Accounts,
): readonly OfferedTool[] {
  const isChange = ({ effect }: Pick<Operation, 'effect'>) => effect !== 'read';
  const hasChanges = offered.some(isChange);
  const onlyReads = accounts.all.some(({ policy }) => policy.readOnly) && all.some(isChange);
  const isConfirmable = accounts.all.some(({ policy, confirm }) => !policy.readOnly && mayConfirm(confirm));
  const isOffered: Readonly<Record<string, boolean>> = {
    get_change: hasChanges || onlyReads,
    withdraw_change: hasChanges,
    confirm_change: hasChanges && isConfirmable,
  };
  return changeTools.filter(({ name }) => isOffered[name]).map((tool) => ({ ...tool, ...schemasOf(tool) }));
}

/**
 * Adds the argument `account` if several accounts allow the tool, and names the account if only one of several does.
 * @param allowing empty for a tool that takes no account
 */
function offeredTool(
  tool: OfferedTool,
  { all, byDefault, areNamed }: Accounts,
  allowing: readonly Account[],
): OfferedTool {
  const [first, second] = allowing;
  if (!areNamed || first === undefined) return tool;
  if (second === undefined)
    return all.length < 2 ? tool : { ...tool, description: `For the account ${first.name} only. ${tool.description}` };

  const preset = presetAmong(allowing, byDefault);
  // Before a change, models are told to ask.
  const advisesPreset = preset !== undefined && tool.effect === 'read';
  const advice = advisesPreset ? `The one the user means, else ${preset.name}` : 'Ask if the user named none';
  const account = {
    type: 'string',
    enum: allowing.map(({ name }) => name),
    description: `${describeAccounts(allowing)}. ${advice}`,
  };

  const { properties, required } = tool.input;
  const others = Array.isArray(required) ? required : [];
  const input = {
    ...tool.input,
    properties: { account, ...(isObject(properties) && properties) },
    ...(preset === undefined && { required: ['account', ...others] }),
  };
  return { ...tool, input };
}

/** `prod: live customers; staging: trials`, unless this is too long. */
function describeAccounts(accounts: readonly Account[]): string {
  const text = accounts
    .filter(({ description }) => description !== undefined)
    .map(({ name, description }) => `${name}: ${description}`)
    .join('; ');
  // Short, because every tool repeats it.
  return text === '' || Buffer.byteLength(text) > 64 ? 'Account to act in' : text;
}

const hintsOfChange = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
const annotations: Readonly<Record<Effect, ToolAnnotations>> = {
  read: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  create: { ...hintsOfChange, destructiveHint: false },
  alter: hintsOfChange,
  delete: hintsOfChange,
};

/** Returns a tool as `tools/list` has it for a client. */
export function toolListing(
  { name, title, description, effect, hints, input, output, view }: OfferedTool,
  client: Client,
) {
  const object = (schema: JsonSchema) => ({ ...schema, type: 'object' as const });
  return {
    name,
    title,
    description,
    inputSchema: object(schemaFor(client, input)),
    annotations: { ...annotations[effect], ...hints },
    ...(output !== undefined && { outputSchema: object(output) }),
    ...(client.views && view !== undefined && { _meta: viewMetaOfTool(view) }),
  };
}

/** `decide_change`, which only clients with views list. */
export const clickToolListing = (client: Client) => ({
  ...toolListing({ ...clickTool, ...schemasOf(clickTool) }, client),
  _meta: { ui: { visibility: ['app'] } },
});
