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
import type { ServiceCatalog } from '../models/service-catalog.js';
import type { JsonSchema, Operation } from '../tools/define-operation.js';
import { isObject } from '../util/objects.js';
import { instructionsFor } from './instructions.js';
import generatedSchemas from './schemas.generated.json' with { type: 'json' };
import type { ToolSchemas } from './tool-schemas.js';
import { type ServiceTool, serviceTools } from './tools-of-services.js';

/** An operation with its schemas as hosts see them. */
export interface Tool extends ToolSchemas {
  readonly operation: Operation;
}

/** A tool as the caller sees it. */
export interface OfferedTool extends Tool {
  readonly description: string;
}

/** Everything that this server offers to a caller. */
export interface Offer {
  readonly accounts: Accounts;
  readonly tools: readonly OfferedTool[];
  readonly operations: readonly Operation[];
  /** The tools for whole services. */
  readonly serviceTools: readonly ServiceTool[];
  readonly instructions: string;
}

export interface ToolCatalog {
  /** Includes tools that the caller may not use. */
  readonly tools: readonly Tool[];
  offerTo(principal: Principal | undefined): Offer;
}

const schemas: Readonly<Record<string, ToolSchemas>> = generatedSchemas;

/** Bounds the cache, because tokens may have any scopes. */
const maximumOffers = 100;

/** Creates the tool catalog. Offers are cached, because each HTTP request has its own MCP server. */
export function createToolCatalog(
  operations: readonly Operation[],
  accounts: Accounts,
  services: ServiceCatalog['services'] = [],
): ToolCatalog {
  const tools = operations.map((operation) => {
    // Operations from files bring their schemas.
    const toolSchemas = operation.schemas ?? schemas[operation.name];
    if (toolSchemas === undefined) throw new Error(`${operation.name} is not in src/mcp/schemas.generated.json.`);
    return { operation, ...toolSchemas };
  });
  /** By the scopes; `null` if callers are not authenticated. */
  const offers = new Map<string, Offer>();

  return {
    tools,
    offerTo: (principal) => {
      const scopesJson = JSON.stringify(principal?.scopes ?? null);
      const cached = offers.get(scopesJson);
      if (cached !== undefined) return cached;

      if (offers.size === maximumOffers) offers.clear();
      const offer = makeOffer(tools, services, accounts, principal);
      offers.set(scopesJson, offer);
      return offer;
    },
  };
}

function makeOffer(
  allTools: readonly Tool[],
  services: ServiceCatalog['services'],
  allAccounts: Accounts,
  principal: Principal | undefined,
): Offer {
  const accounts = accountsOf(allAccounts, principal);
  const tools: OfferedTool[] = [];
  for (const tool of allTools) {
    const allowingAccounts = accountsFor(accounts, tool.operation, principal);
    if (allowingAccounts.length === 0) continue;
    const description = descriptionFor(tool.operation, accounts, allowingAccounts);
    tools.push({ ...tool, description, input: inputFor(tool, accounts, allowingAccounts) });
  }

  const operations = tools.map(({ operation }) => operation);
  const offered = serviceTools.flatMap((tool) => {
    const allowing = accountsForServices(
      accounts,
      services.map(({ api }) => api),
      tool,
      principal,
    );
    if (allowing.length === 0) return [];
    const input = tool.takesAccount ? inputFor({ operation: tool, input: tool.input }, accounts, allowing) : tool.input;
    return [{ ...tool, input }];
  });
  const notConfigured = nothingConfigured(accounts, [
    ...allTools.map(({ operation }) => operation),
    ...services.map(({ api }) => ({ service: api })),
  ]);
  const service = nameList(services.map(({ name }) => name));
  const mentioned = [...operations, ...offered.map((tool) => ({ ...tool, service }))];
  const instructions = instructionsFor(mentioned, accounts, notConfigured);
  return { accounts, tools, operations, serviceTools: offered, instructions };
}

const mostNames = 12;

/** Some clients search the instructions for tools. */
function nameList(services: readonly string[]): string {
  const more = services.length - mostNames;
  return [...services.slice(0, mostNames), ...(more > 0 ? [`${more} more services`] : [])].join(', ');
}

/** Names the account if only one of several allows the tool. */
function descriptionFor(
  { description }: Operation,
  { all, areNamed }: Pick<Accounts, 'all' | 'areNamed'>,
  allowingAccounts: readonly Account[],
): string {
  const [account, other] = allowingAccounts;
  if (!areNamed || all.length < 2 || account === undefined || other !== undefined) return description;
  return `For the account ${account.name} only. ${description}`;
}

/** Adds the argument `account` if several accounts allow the tool. */
function inputFor(
  {
    operation: { effect },
    input: schema,
  }: { readonly operation: Pick<Operation, 'effect'>; readonly input: JsonSchema },
  { byDefault, areNamed }: Pick<Accounts, 'byDefault' | 'areNamed'>,
  allowingAccounts: readonly Account[],
): JsonSchema {
  if (!areNamed || allowingAccounts.length < 2) return schema;

  const preset = presetAmong(allowingAccounts, byDefault);
  // Before a change, models are told to ask.
  const advisesPreset = preset !== undefined && effect === 'read';
  const advice = advisesPreset ? `The one the user means, else ${preset.name}` : 'Ask if the user named none';
  const account = {
    type: 'string',
    enum: allowingAccounts.map(({ name }) => name),
    description: `${describeAccounts(allowingAccounts)}. ${advice}`,
  };

  const { properties, required } = schema;
  const others = Array.isArray(required) ? required : [];
  return {
    ...schema,
    properties: { account, ...(isObject(properties) && properties) },
    ...(preset === undefined && { required: ['account', ...others] }),
  };
}

/** Characters of descriptions, which every tool repeats. */
const longestDescriptions = 64;

/** `prod: live customers; staging: trials`, unless this is too long. */
function describeAccounts(accounts: readonly Account[]): string {
  const text = accounts
    .filter(({ description }) => description !== undefined)
    .map(({ name, description }) => `${name}: ${description}`)
    .join('; ');
  return text === '' || Buffer.byteLength(text) > longestDescriptions ? 'Account to act in' : text;
}
