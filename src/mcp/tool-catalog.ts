import { type Accounts, accountsFor, accountsOf } from '../calls/account.js';
import type { Principal } from '../calls/policy.js';
import type { Operation } from '../tools/define-operation.js';
import { describedFor, withAccount } from './account-argument.js';
import { instructionsFor } from './instructions.js';
import { type Prompt, prompts } from './prompt-texts.js';
import generatedSchemas from './schemas.generated.json' with { type: 'json' };
import type { ToolSchemas } from './tool-schemas.js';

/** An operation with its schemas as hosts see them. */
export interface Tool extends ToolSchemas {
  readonly operation: Operation;
}

/** A tool as a caller is shown it. */
export interface OfferedTool extends Tool {
  readonly description: string;
}

/** Everything that a server offers to a caller. */
export interface Offer {
  readonly accounts: Accounts;
  readonly tools: readonly OfferedTool[];
  /** Those of the tools. */
  readonly operations: readonly Operation[];
  readonly prompts: readonly Prompt[];
  readonly instructions: string;
}

export interface ToolCatalog {
  /** All tools, before policy and scopes. */
  readonly tools: readonly Tool[];
  to(principal: Principal | undefined): Offer;
}

const schemas: Readonly<Record<string, ToolSchemas>> = generatedSchemas;

/** Scopes come from tokens. These are more sets of scopes than anybody grants. */
const mostKept = 100;

/**
 * The offers to callers, which depend on their scopes alone. They are kept, because over HTTP each request has a
 * server of its own.
 */
export function createToolCatalog(operations: readonly Operation[], accounts: Accounts): ToolCatalog {
  const tools = operations.map((operation) => {
    const found = operation.schemas ?? schemas[operation.name];
    if (found === undefined) throw new Error(`${operation.name} is not in src/mcp/schemas.generated.json.`);
    return { operation, ...found };
  });
  const kept = new Map<string, Offer>();
  return {
    tools,
    to: (principal) => {
      const key = JSON.stringify(principal?.scopes);
      const known = kept.get(key);
      if (known !== undefined) return known;
      if (kept.size === mostKept) kept.clear();
      const offer = makeOffer(tools, accounts, principal);
      kept.set(key, offer);
      return offer;
    },
  };
}

function makeOffer(all: readonly Tool[], everyAccount: Accounts, principal: Principal | undefined): Offer {
  const accounts = accountsOf(everyAccount, principal);
  const tools = all.flatMap((tool) => {
    const allowing = accountsFor(accounts, tool.operation, principal);
    if (allowing.length === 0) return [];
    const description = describedFor(tool.operation.description, accounts, allowing);
    return [{ ...tool, description, input: withAccount(tool.input, accounts, allowing) }];
  });
  const operations = tools.map(({ operation }) => operation);
  return {
    accounts,
    tools,
    operations,
    prompts: prompts.filter(({ tool }) => operations.some(({ name }) => name === tool)),
    instructions: instructionsFor(operations, accounts),
  };
}
