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

/** A tool as a caller sees it. */
export interface OfferedTool extends Tool {
  readonly description: string;
}

/** Everything that a server offers to a caller. */
export interface Offer {
  readonly accounts: Accounts;
  readonly tools: readonly OfferedTool[];
  /** The operations of `tools`. */
  readonly operations: readonly Operation[];
  readonly instructions: string;
}

export interface ToolCatalog {
  /** All tools, before policy and scopes. */
  readonly tools: readonly Tool[];
  offerTo(principal: Principal | undefined): Offer;
}

const schemas: Readonly<Record<string, ToolSchemas>> = generatedSchemas;

/** Size of the cache of offers. Tokens bring the scopes, and no operator grants this many different sets of scopes. */
const maximumOffers = 100;

/** Creates the tool catalog. It caches an offer per set of scopes, because over HTTP each request has a server of its own. */
export function createToolCatalog(operations: readonly Operation[], accounts: Accounts): ToolCatalog {
  const tools = operations.map((operation) => {
    const toolSchemas = operation.schemas ?? schemas[operation.name];
    if (toolSchemas === undefined) throw new Error(`${operation.name} is not in src/mcp/schemas.generated.json.`);
    return { operation, ...toolSchemas };
  });
  const offers = new Map<string, Offer>();
  return {
    tools,
    offerTo: (principal) => {
      const scopes = JSON.stringify(principal?.scopes);
      const cached = offers.get(scopes);
      if (cached !== undefined) return cached;
      if (offers.size === maximumOffers) offers.clear();
      const offer = makeOffer(tools, accounts, principal);
      offers.set(scopes, offer);
      return offer;
    },
  };
}

/** Selects what a caller may use. */
function makeOffer(allTools: readonly Tool[], allAccounts: Accounts, principal: Principal | undefined): Offer {
  const accounts = accountsOf(allAccounts, principal);
  const tools = allTools.flatMap((tool) => {
    const allowingAccounts = accountsFor(accounts, tool.operation, principal);
    if (allowingAccounts.length === 0) return [];
    const description = descriptionFor(tool.operation, accounts, allowingAccounts);
    return [{ ...tool, description, input: withAccountArgument(tool, accounts, allowingAccounts) }];
  });
  const operations = tools.map(({ operation }) => operation);
  return {
    accounts,
    tools,
    operations,
    instructions: instructionsFor(operations, accounts),
  };
}

/** The description of a tool. If only one of several accounts allows the tool, it names that account, because no argument does. */
function descriptionFor(
  { description }: Operation,
  { all, areNamed }: Pick<Accounts, 'all' | 'areNamed'>,
  [only, ...others]: readonly Account[],
): string {
  if (only === undefined || others.length > 0 || !areNamed || all.length < 2) return description;
  return `For the account ${only.name} only. ${description}`;
}

/**
 * Returns the schema of a tool's arguments, with the argument `account` if several accounts allow the tool.
 * @param allowing the caller's accounts that allow the tool
 */
function withAccountArgument(
  { operation: { effect }, input: schema }: Tool,
  { byDefault, areNamed }: Pick<Accounts, 'byDefault' | 'areNamed'>,
  allowing: readonly Account[],
): JsonSchema {
  if (!areNamed || allowing.length < 2) return schema;
  const { properties, required } = schema;
  const preset = presetAmong(allowing, byDefault);
  const canLeaveOut = preset !== undefined && effect === 'read';
  const advice = canLeaveOut ? `The one the user means, else ${preset.name}` : 'Ask if the user named none';
  const account = {
    type: 'string',
    enum: allowing.map(({ name }) => name),
    description: `${describeAccounts(allowing)}. ${advice}`,
  };
  const others = Array.isArray(required) ? required : [];
  return {
    ...schema,
    properties: { account, ...(isObject(properties) && properties) },
    ...(preset === undefined && { required: ['account', ...others] }),
  };
}

/** The maximum weight of the descriptions of two accounts, because every tool repeats them. The instructions have them in full. */
const maximumWeight = 80;
/** The weight of an account's name. Each account after the second leaves this much less for the descriptions. */
const weightOfName = 12;

/** Describes the accounts (`prod: live customers; staging: trials`) if that is short. */
function describeAccounts(accounts: readonly Account[]): string {
  const text = accounts
    .flatMap(({ name, description }) => (description === undefined ? [] : [`${name}: ${description}`]))
    .join('; ');
  const room = maximumWeight - weightOfName * (accounts.length - 2);
  return text === '' || weightOf(text) > room ? 'Account to act in' : text;
}

/**
 * The weight of a text, about four for each token. Latin letters share a token, digits and other ASCII characters mostly have their own,
 * and characters of other scripts take more.
 */
const weightOf = (text: string) =>
  Buffer.byteLength(text.replace(/[^a-z\s]/giu, (character) => (character < '\u0080' ? '####' : `${character}#`)));
