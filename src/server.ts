import {
  type CallToolResult,
  completable,
  type InputRequiredResult,
  inputRequired,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type StandardSchemaWithJSON,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { CallTool } from './calls/call-tool.js';
import type { EndedOutcome } from './calls/context.js';
import { isAllowed, type Policy } from './calls/policy.js';
import { traceOrigin } from './calls/tracing.js';
import { clientName, consentForm, elicitorFor } from './consent/elicitation.js';
import { type ConsentTokens, createConsentTokens } from './consent/tokens.js';
import { type ResourceTexts, referenceTemplate, registerResources } from './resources.js';
import { textOf } from './results/text.js';
import type { ToolSchemas } from './results/tool-schemas.js';
import type { Effect, Operation } from './tools/define-operation.js';
import { instructionsFor } from './tools/instructions.js';
import { type Prompt, prompts, promptText } from './tools/prompts.js';
import type { JsonSchema } from './tools/schema/json-schema.js';
import generatedSchemas from './tools/schemas.generated.json' with { type: 'json' };
import { isObject } from './util/objects.js';
import { decide } from './views/decide.js';
import { decideToolListing, decisionJsonSchema, registerViews, showsViews, viewOf, viewOfTool } from './views/offer.js';
import { viewMeta } from './views/results.js';
import { createTickets, type Tickets } from './views/tickets.js';

export interface ServerDependencies extends ResourceTexts {
  readonly version: string;
  readonly operations: readonly Operation[];
  readonly policy: Policy;
  readonly call: CallTool;
  readonly now: () => Date;
  /** Signs what comes back from clients; at least 32 bytes. */
  readonly stateKey: Uint8Array | string;
}

/** What is on offer stays as it is while the server runs. */
const unchanging = { listChanged: false };

/** An operation with its schemas as hosts see them. */
interface Tool extends ToolSchemas {
  readonly operation: Operation;
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
    return { operation, ...found };
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
  const connection = { server, tokens, tickets: createTickets(stateKey, principal?.name ?? '', now), dependencies };
  // All of them: whoever calls one that is not offered learns why not.
  for (const tool of tools) registerTool(connection, tool);
  if (operations.some(({ change }) => change !== undefined)) registerDecideTool(connection, operations);
  listTools(server, offered);
  registerResources(server, operations, dependencies);
  registerViews(server, [...new Set(operations.flatMap((operation) => viewOf(operation) ?? []))]);
  // Views are a template to the SDK only, so that their list can depend on the client.
  server.server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [referenceTemplate] }));
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

/** What the tools of one connection share. */
interface Connection {
  readonly server: McpServer;
  readonly dependencies: ServerDependencies;
  readonly tokens: ConsentTokens;
  readonly tickets: Tickets;
}

function registerTool(connection: Connection, { operation, input, output }: Tool): void {
  const { server, dependencies, tokens } = connection;
  const { name, title, description, effect } = operation;
  const [inputSchema, outputSchema] = [advertised(input), advertised(output)];
  server.registerTool(
    name,
    { title, description, inputSchema, outputSchema, annotations: annotations[effect] },
    async (args, context): Promise<CallToolResult | InputRequiredResult> => {
      const given = contextOf(connection, context);
      const stillAsking = () => given.report('waiting for the answer of the user');
      const elicitor = effect === 'read' ? undefined : elicitorFor(server, context, stillAsking);
      const outcome = await dependencies.call(operation, args, { ...given, elicitor });
      if (outcome.kind === 'inputRequired') {
        const { message, claims, accept } = outcome;
        const consent = inputRequired.elicit({ message, requestedSchema: consentForm(accept) });
        return inputRequired({ inputRequests: { consent }, requestState: tokens.issue(claims) });
      }
      const call = { tool: name, args: isObject(args) ? args : {} };
      return toolResult(outcome, given.hasView ? viewMeta(outcome, call, connection.tickets) : undefined);
    },
  );
}

/** The tool behind the buttons of the change view. */
function registerDecideTool(connection: Connection, operations: readonly Operation[]): void {
  const { server, dependencies, tickets } = connection;
  const { name, _meta, ...listing } = decideToolListing;
  const inputSchema = advertised(decisionJsonSchema);
  server.registerTool(name, { ...listing, inputSchema, _meta }, async (args, context): Promise<CallToolResult> => {
    const given = contextOf(connection, context);
    if (!given.hasView) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool ${name} not found`);
    const outcome = await decide(args, tickets, operations, (operation, callArgs, click) =>
      dependencies.call(operation, callArgs, { ...given, click }),
    );
    return toolResult(outcome, viewMeta(outcome, { tool: name, args: {} }, tickets));
  });
}

/** Lists the tools as the SDK would, but for what only clients that show views are told. */
function listTools(server: McpServer, offered: readonly Tool[]): void {
  const listing = ({ operation, input, output }: Tool, views: boolean) => {
    const { name, title, description, effect } = operation;
    const view = views ? viewOf(operation) : undefined;
    return {
      name,
      title,
      description,
      inputSchema: objectSchema(input),
      annotations: annotations[effect],
      ...(view !== undefined && { _meta: viewOfTool(view) }),
      outputSchema: objectSchema(output),
    };
  };
  const changes = offered.some(({ operation }) => operation.change !== undefined);
  server.server.setRequestHandler('tools/list', (_request, context) => {
    const views = showsViews(server, context);
    const tools = offered.map((tool) => listing(tool, views));
    return { tools: views && changes ? [...tools, { ...decideToolListing, inputSchema: decisionJsonSchema }] : tools };
  });
}

/** What a request says about its call. */
function contextOf({ server, dependencies: { principal }, tokens }: Connection, context: ServerContext) {
  const report = progressOf(context);
  return {
    report,
    signal: context.mcpReq.signal,
    onPage: (pages: number, entries: number) =>
      report(`${pages} ${pages === 1 ? 'page' : 'pages'} read, ${entries} entries`),
    tokens,
    hasView: showsViews(server, context),
    client: clientName(server, context),
    principal,
    trace: () => traceOrigin(context),
  };
}

/** One value, shown twice: hosts hand models the structure, the text, or both. `meta` is for views. */
function toolResult(outcome: EndedOutcome, meta: Record<string, unknown> | undefined): CallToolResult {
  const failed = outcome.kind === 'failed';
  const result = failed ? outcome.failure : outcome.success;
  const content = [{ type: 'text' as const, text: textOf(result) }];
  return {
    content,
    structuredContent: { ...result },
    ...(meta !== undefined && { _meta: meta }),
    ...(failed && { isError: true }),
  };
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

type PromptField = z.ZodType<string | undefined>;

function promptSchema({ args }: Prompt): z.ZodObject<Record<string, PromptField>> {
  const fields = Object.entries(args).map(([argument, { description, required, values }]): [string, PromptField] => {
    const text = z.string('is required').describe(description);
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

/** The JSON Schema that hosts are shown. */
const objectSchema = (schema: JsonSchema) => ({ ...schema, type: 'object' as const });
