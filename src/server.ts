import {
  type CallToolResult,
  completable,
  type InputRequiredResult,
  inputRequired,
  McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
  type ServerContext,
  type StandardSchemaWithJSON,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { CallTool } from './calls/call-tool.js';
import type { CallOutcome } from './calls/context.js';
import { isAllowed, type Policy } from './calls/policy.js';
import { type Principal, visibleCaller } from './calls/principal.js';
import { traceOrigin } from './calls/trace-origin.js';
import { clientName, consentForm, elicitorFor } from './consent/elicitation.js';
import { type ConsentTokens, createConsentTokens } from './consent/tokens.js';
import { failureText, successText } from './results/text.js';
import type { ToolSchemas } from './results/tool-schemas.js';
import type { Effect, Operation } from './tools/define-operation.js';
import { instructionsFor } from './tools/instructions.js';
import { type Prompt, prompts, promptText } from './tools/prompts.js';
import { instanceTypesReference, operationReference, statesReference } from './tools/reference.js';
import type { JsonSchema } from './tools/schema/json-schema.js';
import generatedSchemas from './tools/schemas.generated.json' with { type: 'json' };

export interface ServerDependencies {
  readonly version: string;
  readonly operations: readonly Operation[];
  readonly policy: Policy;
  readonly call: CallTool;
  readonly now: () => Date;
  /** Who calls; absent where callers are not told apart. */
  readonly principal?: Principal | undefined;
  /** Signs what comes back from clients; at least 32 bytes. */
  readonly stateKey: Uint8Array | string;
  /** The effective configuration as Markdown, without secrets. */
  readonly configuration: () => string;
  /** The last entries of the journal as Markdown: those of one caller, or all. */
  readonly journal: (caller: string | undefined) => Promise<string>;
  /** What the sandbox holds and was asked, as Markdown, where it is in use. */
  readonly sandbox?: (() => Promise<string>) | undefined;
}

/** What is on offer stays as it is while the server runs. */
const unchanging = { listChanged: false };

/** An operation with its schemas as hosts see them. */
interface Tool {
  readonly operation: Operation;
  readonly inputSchema: StandardSchemaWithJSON;
  readonly outputSchema: StandardSchemaWithJSON;
}

/** What servers offer, before policy and scopes. */
export interface Offer {
  readonly tools: readonly Tool[];
  readonly prompts: readonly {
    readonly prompt: Prompt;
    readonly argsSchema: z.ZodObject<Record<string, PromptField>>;
  }[];
}

/** The schemas of the tools by tool. */
const schemas: Readonly<Record<string, ToolSchemas>> = generatedSchemas;

/** Makes what any number of servers offer. */
export const makeOffer = (operations: readonly Operation[]): Offer => ({
  tools: operations.map((operation) => {
    const found = schemas[operation.name];
    if (found === undefined) throw new Error(`${operation.name} is not in src/tools/schemas.generated.json.`);
    return { operation, inputSchema: advertised(found.input), outputSchema: advertised(found.output) };
  }),
  prompts: prompts.map((prompt) => ({ prompt, argsSchema: promptSchema(prompt) })),
});

/** Makes an MCP server that offers the operations as tools. Each connection gets one of its own. */
export function createServer(
  dependencies: ServerDependencies,
  { tools, prompts }: Offer = makeOffer(dependencies.operations),
): McpServer {
  const { version, policy, principal, stateKey, now } = dependencies;
  const tokens = createConsentTokens(stateKey, principal?.name ?? '', now);
  const offered = tools.filter(({ operation }) => isAllowed(policy, operation, principal));
  const operations = offered.map(({ operation }) => operation);
  const server = new McpServer(
    { name: 'cloudops-mcp', title: 'Cloud operations', version },
    {
      instructions: instructionsFor(operations, policy.readOnly),
      requestState: { verify: async (state) => tokens.verify(state) },
      capabilities: { tools: unchanging, resources: unchanging, prompts: unchanging },
    },
  );
  for (const tool of offered) registerTool(server, tool, dependencies, tokens);
  registerResources(server, operations, dependencies);
  const names = operations.map(({ name }) => name);
  for (const { prompt, argsSchema } of prompts) {
    const { name, title, description } = prompt;
    if (names.includes(prompt.tool))
      server.registerPrompt(name, { title, description, argsSchema }, (given) => ({
        messages: [{ role: 'user', content: { type: 'text', text: promptText(prompt, given) } }],
      }));
  }
  return server;
}

function registerTool(
  server: McpServer,
  { operation, inputSchema, outputSchema }: Tool,
  { call, principal }: ServerDependencies,
  tokens: ConsentTokens,
): void {
  const { name, title, description, effect } = operation;
  server.registerTool(
    name,
    { title, description, inputSchema, outputSchema, annotations: annotations[effect] },
    async (args, context): Promise<CallToolResult | InputRequiredResult> => {
      const report = progressOf(context);
      const stillAsking = () => report('waiting for the answer of the user');
      const outcome = await call(operation, args, {
        signal: context.mcpReq.signal,
        onPage: (pages, entries) => report(`${pages} ${pages === 1 ? 'page' : 'pages'} read, ${entries} entries`),
        elicitor: effect === 'read' ? undefined : elicitorFor(server, context, stillAsking),
        tokens,
        client: clientName(server, context),
        principal,
        trace: traceOrigin(context),
      });
      if (outcome.kind === 'inputRequired') {
        const { message, claims, accept } = outcome;
        const consent = inputRequired.elicit({ message, requestedSchema: consentForm({ accept }) });
        return inputRequired({ inputRequests: { consent }, requestState: tokens.issue(claims) });
      }
      return toolResult(outcome);
    },
  );
}

/** One value, shown twice: hosts hand models the structure, the text, or both. */
function toolResult(outcome: Exclude<CallOutcome, { kind: 'inputRequired' }>): CallToolResult {
  const failed = outcome.kind === 'failed';
  const text = failed ? failureText(outcome.failure) : successText(outcome.success);
  const structuredContent = { ...(failed ? outcome.failure : outcome.success) };
  return { content: [{ type: 'text', text }], structuredContent, ...(failed && { isError: true }) };
}

/** Tells a client that wants to know how far its call is. */
function progressOf({ mcpReq: { _meta, notify } }: ServerContext): (message: string) => void {
  const progressToken = _meta?.progressToken;
  let progress = 0;
  return (message) => {
    if (progressToken === undefined) return;
    progress += 1;
    notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined);
  };
}

/** The reference as the server knows it, and how it is configured. */
function registerResources(
  server: McpServer,
  operations: readonly Operation[],
  { principal, configuration, journal, sandbox }: ServerDependencies,
): void {
  const mimeType = 'text/markdown';
  const contents = (uri: URL, text: string) => ({ contents: [{ uri: uri.href, mimeType, text }] });
  const fixed: [string, string, string, () => string | Promise<string>][] = [
    [
      'instance-types',
      'cloudops://reference/instance-types',
      'Instance types that each operation accepts',
      instanceTypesReference,
    ],
    [
      'states',
      'cloudops://reference/states',
      'States of groups, clusters and servers, with their meanings',
      statesReference,
    ],
    [
      'configuration',
      'cloudops://configuration',
      'Effective configuration and where each value comes from; no secrets',
      configuration,
    ],
    [
      'journal',
      'cloudops://journal',
      'The last changes that were asked for, and what came of them',
      () => journal(visibleCaller(principal)),
    ],
  ];
  if (sandbox !== undefined)
    fixed.push(['sandbox', 'cloudops://sandbox', 'What the built-in sandbox holds, and what it was asked', sandbox]);
  for (const [name, uri, description, text] of fixed)
    server.registerResource(name, uri, { title: description, mimeType }, async (address) =>
      contents(address, await text()),
    );

  const names = operations.map(({ name }) => name);
  const template = new ResourceTemplate('cloudops://reference/{operation}', {
    list: () => ({
      resources: operations.map(({ name, title }) => ({
        uri: `cloudops://reference/${name}`,
        name,
        title: `Reference: ${title}`,
        mimeType,
      })),
    }),
    complete: { operation: (value) => names.filter((name) => name.startsWith(value)) },
  });
  const title = 'Arguments, rules, defaults and what is not documented, of one operation';
  server.registerResource('reference', template, { title, mimeType }, (uri, { operation }) => {
    const found = operations.find(({ name }) => name === operation);
    if (found === undefined) throw new ResourceNotFoundError(uri.href, `The operations are ${names.join(', ')}.`);
    return contents(uri, operationReference(found));
  });
}

type PromptField = z.ZodType<string | undefined>;

function promptSchema({ args }: Prompt): z.ZodObject<Record<string, PromptField>> {
  const fields = Object.entries(args).map(([argument, { description, required, values }]): [string, PromptField] => {
    const text = z.string().describe(description);
    const complete = (typed: string) => (values ?? []).filter((value) => value.startsWith(typed));
    const field = values === undefined ? text : completable(text, complete);
    return [argument, required ? field : field.optional()];
  });
  return z.object(Object.fromEntries(fields));
}

const annotations: Readonly<Record<Effect, ToolAnnotations>> = {
  read: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  create: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  change: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  delete: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
};

/**
 * Shows hosts a schema without letting the SDK check by it: the call pipeline validates arguments with better messages,
 * and an answer of the cloud must never be turned into an error.
 */
function advertised(jsonSchema: JsonSchema): StandardSchemaWithJSON {
  return {
    '~standard': {
      version: 1,
      vendor: 'cloudops-mcp',
      validate: (value) => ({ value }),
      jsonSchema: { input: () => jsonSchema, output: () => jsonSchema },
    },
  };
}
