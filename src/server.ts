import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { CallTool, ChangeTools } from './call-stack.js';
import type { Accounts } from './calls/account.js';
import { type AnsweredCall, withinBudget } from './calls/answer-budget.js';
import type { CallContext } from './calls/context.js';
import type { EndedOutcome, Question } from './calls/outcome.js';
import { plainResult, resultText } from './calls/result-text.js';
import type { ArgumentName } from './calls/validate.js';
import { type Client, clientOf, tasksExtension } from './mcp/client.js';
import { argumentNameSwapFor, swapArguments, withoutAddedArguments } from './mcp/client-quirks.js';
import { broughtBy, consentForm, waysToAsk } from './mcp/elicitation.js';
import type { Read, ReadTasks } from './mcp/read-tasks.js';
import { type ResourceTexts, serveResources } from './mcp/resources.js';
import { changeToolNames, clickTool, serviceToolNames } from './mcp/server-tools.js';
import { type CacheLife, serveSkills, skillsExtension, skillsFor } from './mcp/skills.js';
import { serveTasks, taskAfterCall } from './mcp/tasks.js';
import { clickToolListing, type Offer, offerTo, schemasOf, toolListing } from './mcp/tool-catalog.js';
import { callChangeTool, decideInView } from './mcp/tools-of-changes.js';
import { type ServiceCall, serviceCall } from './mcp/tools-of-services.js';
import { type Showing, viewMeta } from './mcp/views/results.js';
import type { ServiceCatalog } from './models/service-catalog.js';
import type { JsonSchema, Operation } from './tools/define-operation.js';
import { countText } from './util/human.js';
import { english, type Translator } from './util/language.js';

export interface ServerDependencies extends ResourceTexts, Pick<CallContext, 'stop' | 'wait'> {
  readonly version: string;
  readonly operations: readonly Operation[];
  readonly services?: ServiceCatalog | undefined;
  readonly accounts: Accounts;
  readonly call: CallTool;
  readonly changes: ChangeTools;
  /** Reads that became tasks. All connections share them. */
  readonly reads: ReadTasks;
  /** Called for each change of a client whose session is not known. */
  readonly noteUnknownClient: () => void;
  /** Offers views even to clients that do not declare support for views. */
  readonly viewsForAll?: boolean;
  readonly sessionClient?: Client | undefined;
  /** Before 2026-07-28, the newest first. Default: the SDK's versions. */
  readonly protocolVersions?: readonly string[];
  /** How long clients may keep lists (milliseconds). Default: an hour. */
  readonly listLifeMs?: number;
}

/** Tools and resources do not change while this server runs. */
const unchanging = { listChanged: false };

/** Makes the MCP server of a connection. Uses the low-level `Server`, because the lists of `McpServer` cannot depend on the client. */
export function createServer(dependencies: ServerDependencies): Server {
  const { version, principal, protocolVersions, changes, reads } = dependencies;
  const offer = offerTo(principal, dependencies);
  const listLife: CacheLife = { ttlMs: dependencies.listLifeMs ?? 60 * 60_000, cacheScope: 'private' };

  const server = new Server(
    { name: 'cloudops-mcp', title: 'Cloud operations', version },
    {
      instructions: offer.instructions,
      ...(protocolVersions !== undefined && { supportedProtocolVersions: [...protocolVersions] }),
      // The call itself compares the proof with the row of its change.
      requestState: { verify: async (state) => state },
      capabilities: {
        tools: unchanging,
        resources: unchanging,
        extensions: { [skillsExtension]: {}, [tasksExtension]: {} },
      },
      // `resources/read` gets no hint, because a resource such as the journal may change at any time.
      cacheHints: { 'tools/list': listLife, 'resources/list': listLife, 'resources/templates/list': listLife },
    },
  );

  const requestOf = (context: ServerContext) => toolRequestOf(server, dependencies, context);
  serveTools(server, dependencies, offer, requestOf);
  serveTasks(server, { changes, reads, requestOf });
  const skills = skillsFor(offer.tools.map(({ name }) => name));
  const hasViews = (context: ServerContext) => requestOf(context).client.views;
  serveResources(server, offer.operations, skills, { ...dependencies, accounts: offer.accounts }, hasViews);
  // The SDK adds `cacheHints` only to the protocol's own methods.
  serveSkills(server, skills, listLife);
  return server;
}

interface ToolRequest {
  readonly client: Client;
  readonly requestContext: ServerContext;
  /** Sends progress if the client asked for it. */
  readonly report: (progress: string) => void;
  readonly context: CallContext;
  /** Has the data for views, if the client shows them. */
  readonly resultOf: (outcome: EndedOutcome, call?: AnsweredCall) => CallToolResult;
}

/** The client may differ between the requests of a connection. */
function toolRequestOf(server: Server, dependencies: ServerDependencies, requestContext: ServerContext): ToolRequest {
  const { principal, sessionClient, stop, wait, viewsForAll, translator } = dependencies;
  const declared = clientOf(server, requestContext, sessionClient);
  const client = { ...declared, views: declared.views || viewsForAll === true };
  const { signal, envelope, _meta, notify } = requestContext.mcpReq;

  const progressToken = _meta?.progressToken;
  let progress = 0;
  const report = (message: string) => {
    if (progressToken === undefined) return;
    progress += 1;
    notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined);
  };

  return {
    client,
    requestContext,
    report,
    resultOf: (outcome, call) => toolResult(outcome, client.views ? { translator } : undefined, call),
    context: {
      signal,
      stop,
      wait,
      client: {
        ...client,
        // Since protocol 2026-07-28, each request declares its client. Before, over HTTP, only its session does.
        isUnknown: requestContext.http !== undefined && envelope === undefined && sessionClient === undefined,
        ...waysToAsk(client, requestContext, () => report('waiting for the answer of the user'), translator),
      },
      principal,
      watch: { onPage: pageReporter(report), tracedRequest: requestContext },
    },
  };
}

/** Not called for the last page, because some clients cannot handle progress and answer together. */
const pageReporter = (report: (progress: string) => void) => (pages: number, entries: number) =>
  report(`${countText(pages, 'page')} read, ${countText(entries, 'entry')}`);

type ToolResult = CallToolResult | InputRequiredResult;

/** Lists the offered tools, but calls any tool, because `dependencies.call` says why it refuses a tool. */
function serveTools(
  server: Server,
  dependencies: ServerDependencies,
  offer: Offer,
  requestOf: (requestContext: ServerContext) => ToolRequest,
): void {
  const { operations, services, changes, translator } = dependencies;
  const allTools = operations.map((operation) => ({ operation, input: schemasOf(operation).input }));
  const hasChanges = offer.tools.some(({ effect }) => effect !== 'read');
  // Only for clients that show views, because the tool is behind the buttons of the change view.
  const hasClickTool = (client: Client) => client.views && hasChanges;

  server.setRequestHandler('tools/list', (_request, requestContext) => {
    const { client } = requestOf(requestContext);
    const tools = offer.tools.map((tool) => toolListing(tool, client));
    return { tools: hasClickTool(client) ? [...tools, clickToolListing(client)] : tools };
  });

  server.setRequestHandler('tools/call', async ({ params }, requestContext): Promise<ToolResult> => {
    const { name } = params;
    const request = requestOf(requestContext);
    const { client, context } = request;
    const tool = allTools.find(({ operation }) => operation.name === name);
    const args = withoutAddedArguments(params.arguments ?? {}, client, tool?.input);
    if (tool !== undefined) return callOperation(dependencies, { ...tool, args }, request);
    if (services !== undefined && serviceToolNames.includes(name)) {
      const found = await serviceCall(name, args, { ...dependencies, services });
      return found.kind === 'call'
        ? callOperation(dependencies, { ...found, input: {} }, request)
        : resultOfService(found);
    }
    if (changeToolNames.includes(name)) return callToolOfChanges(changes, name, args, request);
    if (name === clickTool.name && hasClickTool(client)) {
      const answer = await decideInView(args, changes, context);
      return toolResult(answer.outcome, { ...answer, translator });
    }
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool ${name} not found`);
  });
}

const resultOfService = (found: Exclude<ServiceCall, { kind: 'call' }>): CallToolResult =>
  found.kind === 'ended'
    ? toolResult(found.outcome)
    : { content: [{ type: 'text', text: found.text.text }], structuredContent: { ...found.data } };

async function callToolOfChanges(
  changes: ChangeTools,
  name: string,
  args: unknown,
  { client, context }: ToolRequest,
): Promise<CallToolResult> {
  const outcome = await callChangeTool(name, args, changes, context);
  const mayBeTask = client.tasks === true && name === 'confirm_change';
  const task = mayBeTask ? await taskAfterCall(outcome, changes, context) : undefined;
  return task ?? toolResult(outcome, undefined, { args });
}

interface OperationCall {
  readonly operation: Operation;
  /** As hosts see it. */
  readonly input: JsonSchema;
  readonly args: Readonly<Record<string, unknown>>;
  readonly argumentName?: ArgumentName;
}

/** Since protocol 2026-07-28, the result may be a question to the user. */
async function callOperation(
  { call, changes, reads, principal, noteUnknownClient, translator }: ServerDependencies,
  { operation, input, args: clientArgs, argumentName }: OperationCall,
  { client, requestContext, report, context, resultOf }: ToolRequest,
): Promise<ToolResult> {
  const swapName = argumentNameSwapFor(client, input);
  const args = swapArguments(clientArgs, swapName);
  const callContext = { ...context, client: { ...context.client, argumentName: argumentName ?? swapName } };

  if (operation.effect === 'read') {
    const read: Read = async (signal, reportTo) => {
      const watch = { ...context.watch, onPage: pageReporter(reportTo) };
      const outcome = await call(operation, args, { ...callContext, signal, watch });
      if (outcome.kind === 'inputRequired') throw new Error('A read asks nobody.');
      return resultOf(outcome, { operation, args });
    };
    const origin = { tool: operation.name, caller: principal?.name };
    // Over HTTP, the next request may reach another replica, which does not have the task.
    const mayBeTask = client.tasks === true && requestContext.http === undefined;
    return mayBeTask ? reads.run(read, origin, context.signal, report) : read(context.signal, report);
  }

  if (context.client.isUnknown) noteUnknownClient();
  const brought = broughtBy(requestContext, translator);
  const outcome = await call(operation, args, { ...callContext, brought });
  if (outcome.kind === 'inputRequired') return questionResult(outcome, client, translator);
  const task = client.tasks === true ? await taskAfterCall(outcome, changes, context) : undefined;
  return task ?? resultOf(outcome, { operation, args });
}

/** The client's next call brings the answer, and the proof as `requestState`. */
function questionResult(
  { message, answer, state }: Question,
  client: Client,
  translator: Translator = english,
): InputRequiredResult {
  const { text } = translator.translate(message);
  const consent =
    'address' in answer
      ? inputRequired.elicitUrl({ message: text, url: answer.address })
      : inputRequired.elicit({
          message: text,
          requestedSchema: consentForm(client, answer.accept, answer.nameToType, translator),
        });
  return inputRequired({ inputRequests: { consent }, requestState: state });
}

/**
 * Returns a result as text and as structured content, because hosts pass either or both to models.
 * @param showing set if the result has data for a view
 */
function toolResult(outcome: EndedOutcome, showing?: Showing, call?: AnsweredCall): CallToolResult {
  const failed = outcome.kind === 'failed';
  const result = failed ? outcome.failure : withinBudget(outcome.success, call);
  return {
    content: [{ type: 'text', text: resultText(result) }],
    structuredContent: plainResult(result),
    ...(showing !== undefined && { _meta: viewMeta(outcome, showing) }),
    ...(failed && { isError: true }),
  };
}
