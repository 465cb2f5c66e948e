import {
  type Account,
  type Accounts,
  accountsFor,
  accountsOf,
  nothingConfigured,
  presetAmong,
} from '../calls/account.js';
import type { Principal } from '../calls/policy.js';
import type { JsonSchema, Operation } from '../tools/define-operation.js';
import { isObject } from '../util/objects.js';
import { instructionsFor } from './instructions.js';
import generatedSchemas from './schemas.generated.json' with { type: 'json' };
import type { ToolSchemas } from './tool-schemas.js';

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
export function createToolCatalog(operations: readonly Operation[], accounts: Accounts): ToolCatalog {
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
      const offer = makeOffer(tools, accounts, principal);
      offers.set(scopesJson, offer);
      return offer;
    },
  };
}

function makeOffer(allTools: readonly Tool[], allAccounts: Accounts, principal: Principal | undefined): Offer {
  const accounts = accountsOf(allAccounts, principal);
  const tools: OfferedTool[] = [];
  for (const tool of allTools) {
    const allowingAccounts = accountsFor(accounts, tool.operation, principal);
    if (allowingAccounts.length === 0) continue;
    const description = descriptionFor(tool.operation, accounts, allowingAccounts);
    tools.push({ ...tool, description, input: inputFor(tool, accounts, allowingAccounts) });
  }

  const operations = tools.map(({ operation }) => operation);
  const notConfigured = nothingConfigured(
    accounts,
    allTools.map(({ operation }) => operation),
  );
  return { accounts, tools, operations, instructions: instructionsFor(operations, accounts, notConfigured) };
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
  { operation: { effect }, input: schema }: Tool,
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

/** Small, because every tool repeats the descriptions. */
const maximumWeight = 80;
const weightOfName = 12;

/** `prod: live customers; staging: trials`, unless this is too long. */
function describeAccounts(accounts: readonly Account[]): string {
  const text = accounts
    .filter(({ description }) => description !== undefined)
    .map(({ name, description }) => `${name}: ${description}`)
    .join('; ');
  const weightLimit = maximumWeight - weightOfName * (accounts.length - 2);
  return text === '' || weightOf(text) > weightLimit ? 'Account to act in' : text;
}

/** About four per token. Latin letters share tokens, and other scripts take more. */
const weightOf = (text: string) =>
  Buffer.byteLength(text.replace(/[^a-z\s]/giu, (character) => (character < '\u0080' ? '####' : `${character}#`)));
