import { type Account, type Accounts, accountsFor, accountsOf, presetAmong } from '../calls/account.js';
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

/** A tool as the caller sees it. The schema of the arguments and the description depend on the caller's accounts. */
export interface OfferedTool extends Tool {
  readonly description: string;
}

/** Everything that this server offers to a caller. */
export interface Offer {
  readonly accounts: Accounts;
  readonly tools: readonly OfferedTool[];
  /** The operations of `tools`. */
  readonly operations: readonly Operation[];
  readonly instructions: string;
}

export interface ToolCatalog {
  /** All tools, including those that policies or the caller's scopes do not allow. */
  readonly tools: readonly Tool[];
  offerTo(principal: Principal | undefined): Offer;
}

const schemas: Readonly<Record<string, ToolSchemas>> = generatedSchemas;

/** Maximum number of cached offers. No operator grants this many sets of scopes, but tokens may have any scopes. */
const maximumOffers = 100;

/**
 * Creates the tool catalog. The offer to a caller depends only on the caller's scopes. Offers are cached, because each HTTP request has its own
 * MCP server.
 */
export function createToolCatalog(operations: readonly Operation[], accounts: Accounts): ToolCatalog {
  const tools = operations.map((operation) => {
    // The build generates the schemas of our own operations. An operation from a file of operations brings its schemas.
    const toolSchemas = operation.schemas ?? schemas[operation.name];
    if (toolSchemas === undefined) throw new Error(`${operation.name} is not in src/mcp/schemas.generated.json.`);
    return { operation, ...toolSchemas };
  });
  /** Cached offers, by the scopes as JSON: `null` if callers are not authenticated. */
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

/** Selects the accounts and tools that a caller may use. */
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
  return { accounts, tools, operations, instructions: instructionsFor(operations, accounts) };
}

/** Returns the description of a tool. If only one of several accounts allows the tool, the description names this account. */
function descriptionFor(
  { description }: Operation,
  { all, areNamed }: Pick<Accounts, 'all' | 'areNamed'>,
  allowingAccounts: readonly Account[],
): string {
  const [account, other] = allowingAccounts;
  if (!areNamed || all.length < 2 || account === undefined || other !== undefined) return description;
  return `For the account ${account.name} only. ${description}`;
}

/**
 * Returns the schema of a tool's arguments, with the argument `account` if several accounts allow the tool.
 * @param allowingAccounts the caller's accounts that allow the tool
 */
function inputFor(
  { operation: { effect }, input: schema }: Tool,
  { byDefault, areNamed }: Pick<Accounts, 'byDefault' | 'areNamed'>,
  allowingAccounts: readonly Account[],
): JsonSchema {
  if (!areNamed || allowingAccounts.length < 2) return schema;

  /** The account of a call without the argument `account`. If there is none, the argument is required. */
  const preset = presetAmong(allowingAccounts, byDefault);
  // Models are told of the preset only for reads. Before a change, they are told to ask, although the call could leave out the argument.
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

/** The largest weight (see `weightOf`) of the descriptions of two accounts. It is small, because every tool repeats the descriptions. */
const maximumWeight = 80;
/** The weight of an account's name. Each account after the second reduces the largest weight of the descriptions by this weight. */
const weightOfName = 12;

/** Describes the accounts: `prod: live customers; staging: trials`. Returns a general text if this text is too long. */
function describeAccounts(accounts: readonly Account[]): string {
  const text = accounts
    .filter(({ description }) => description !== undefined)
    .map(({ name, description }) => `${name}: ${description}`)
    .join('; ');
  const weightLimit = maximumWeight - weightOfName * (accounts.length - 2);
  return text === '' || weightOf(text) > weightLimit ? 'Account to act in' : text;
}

/** The weight of a text, about four per token. Latin letters share tokens, other ASCII characters have their own, other scripts take more. */
const weightOf = (text: string) =>
  Buffer.byteLength(text.replace(/[^a-z\s]/giu, (character) => (character < '\u0080' ? '####' : `${character}#`)));
