import { once } from 'node:events';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { withConfirm } from '../config/load-config.js';
import type { Failure } from '../calls/outcome.js';
import { serveViewPage } from '../http/view-page.js';
import { appsExtension, decideTool, type ViewName, viewMimeType } from '../mcp/views/contract/apps.js';
import {
  type ChangeOutcome,
  type OutcomeKind,
  outcomeTitles,
  readOutcome,
  readProposedChange,
} from '../mcp/views/contract/change-data.js';
import { createPeer, type Peer } from '../mcp/views/contract/json-rpc.js';
import { textInUtc } from '../mcp/views/contract/read-fields.js';
import { readView, viewOf } from '../mcp/views/view-of-tool.js';
import { type Runtime, startRuntime } from '../runtime.js';
import { createServer, type ServerDependencies } from '../server.js';
import { isObject, textAt } from '../util/objects.js';
import { exact, fromServer, own, type SafeText, say, words } from '../util/safe-text.js';
import { failureText } from './answer-for-people.js';
import { type Call, failureCode, noConsentCode, readCall, successCode } from './call-command.js';
import { type Command, layoutOf, portOf, type Terminal, UsageError } from './command.js';
import { printLine } from './layout.js';
import { openBrowser } from './open-browser.js';
import { commandLog } from './terminal-log.js';

/** `cloudops-mcp view` calls a tool and shows the result in the browser, with the view that chat clients show. */
export const viewCommand: Command = {
  usage: '<tool> [<json>|@<file>|-] [--account <name>] [--port N] [--no-open]',
  about: 'show an upload, or a change to decide on, in the browser',
  details: 'It ends with Ctrl-C.',
  forChanges: { details: 'For a change, it also ends when the change is decided.' },
  subjects: (operations) => operations.map(({ name }) => name),
  positionals: 2,
  options: { account: 'value', port: 'value', 'no-open': 'switch' },
  async run(invocation) {
    const { port = '0', 'no-open': noOpen } = invocation.options;
    const call = await readCall(invocation);
    return callAndShow(call, { port: portOf(port), opensBrowser: noOpen === undefined }, invocation.terminal);
  },
};

interface PageOptions {
  readonly port: number;
  /** True if the page is opened in the browser. */
  readonly opensBrowser: boolean;
}

/** Time limit for a change that still runs when the command ends (milliseconds). A text in `showInBrowser` names it. */
const graceMs = 10_000;

/** Time after a decision in which the page can still be loaded again, to read the outcome (milliseconds). */
const lingerMs = 20_000;

/** Time limit of a request to the server in this process (milliseconds). Each call has a shorter time limit of its own. */
const answerMs = 15 * 60_000;

/** Calls the tool, and shows the result in the browser until Ctrl-C or a decision. Resolves with the exit code. */
async function callAndShow(
  { operation, args, config }: Call,
  pageOptions: PageOptions,
  terminal: Terminal,
): Promise<number> {
  const { version, now } = terminal;
  const viewName = viewOf(operation);
  if (viewName === undefined) throw new UsageError(say`${own(operation.name)} has no view.`);

  // With `human`, only a click on the page sends the change, even if agents need no consent.
  const runtime = await startRuntime(withConfirm(config, 'human'), version, commandLog(config, terminal), now);
  // The result of a failed call is a text for models, so the failure itself is kept for the person at this terminal.
  let lastFailure: Failure | undefined;
  const call: ServerDependencies['call'] = async (...given) => {
    const outcome = await runtime.server.call(...given);
    lastFailure = outcome.kind === 'failed' ? outcome.failure : undefined;
    return outcome;
  };
  const { peer, close } = await connect({ ...runtime.server, call }, version);
  try {
    const requestTool: RequestTool = (params) => peer.request('tools/call', params, answerMs);
    const result = await requestTool({ name: operation.name, arguments: args });
    if (lastFailure !== undefined) {
      terminal.stderr.write(failureText(lastFailure, layoutOf(terminal, 'stderr')));
      return failureCode(lastFailure);
    }

    const content =
      operation.effect === 'read'
        ? contentOfRead(operation.name, args, result, requestTool)
        : contentOfChange(result, requestTool, terminal);
    return await showInBrowser(content, viewName, pageOptions, runtime, terminal);
  } finally {
    await close();
    await runtime.close(graceMs);
  }
}

/** Serves the page until Ctrl-C, or until `content.over` aborts. Resolves with the exit code. */
async function showInBrowser(
  content: PageContent,
  viewName: ViewName,
  { port, opensBrowser }: PageOptions,
  { inFlight }: Runtime,
  terminal: Terminal,
): Promise<number> {
  const { stdout, stderr, platform } = terminal;
  const end = AbortSignal.any([terminal.abortOnSignal(), content.over]);
  const page = await serveViewPage({
    port,
    // The outer page takes the part of the chat client, which MCP Apps calls the host: it has the view in a frame.
    pageHtml: await readView('page'),
    viewHtml: await readView(viewName),
    loadContent: content.load,
    callTool: content.callTool,
  });

  // The address has a line of its own, so that no terminal breaks it. A program that reads stdout gets only the address.
  printLine(stderr, content.hint);
  printLine(stdout, exact(page.url));
  // `openBrowser` may write the address into a file, which is removed at the end. Without a browser, the person can still open the address.
  const addressFile =
    opensBrowser && stdout.isTTY ? await openBrowser(page.url, platform).catch(() => undefined) : undefined;
  if (!end.aborted) await once(end, 'abort');

  // A change that a click has started goes on without the page.
  inFlight.detach();
  if (inFlight.count() > 0) printLine(stderr, 'A change is under way: it gets ten seconds to end.');
  await inFlight.finish(graceMs);
  await page.close();
  await addressFile?.remove();
  return content.exitCode();
}

/** Calls a tool of the server in this process. `params` are those of an MCP request: the name of the tool and its arguments. */
type RequestTool = (params: Readonly<Record<string, unknown>>) => Promise<object>;

/** The content of the page, and how the command that shows it ends. */
interface PageContent {
  /** The line that is printed before the address of the page. */
  readonly hint: SafeText;
  /** Returns the call and its result each time that the page is loaded. */
  readonly load: () => Promise<{ readonly args?: unknown; readonly result: unknown }>;
  /** Calls a tool when the view asks for it. Rejects if the view may not call this tool. */
  readonly callTool: (params: unknown) => Promise<object>;
  /** Aborts when the page is not needed any more. For a read, it never aborts. */
  readonly over: AbortSignal;
  readonly exitCode: () => number;
}

const contentOfRead = (tool: string, args: unknown, result: object, requestTool: RequestTool): PageContent => ({
  hint: words('It is shown in the browser until you press Ctrl-C:'),
  load: async () => ({ args, result }),
  callTool: onlyTool(tool, requestTool),
  over: new AbortController().signal,
  exitCode: () => 0,
});

/**
 * The content of a page with a plan to decide on. After a click has decided, the page has the outcome too, and the command ends after
 * `lingerMs`. `planResult` is the result of the tool, which has the plan.
 */
function contentOfChange(planResult: object, requestTool: RequestTool, { stdout, stderr }: Terminal): PageContent {
  /** The result that the page shows when it is loaded: the newest plan, or the plan with its outcome. */
  let shownResult = planResult;
  /** The exit code of the final outcome. Undefined while nobody has decided. */
  let decidedCode: number | undefined;
  const over = new AbortController();

  /** Shows the outcome on the page and at this terminal, and ends the command after `lingerMs`. `result` is the result of the call that decided. */
  const onDecided = (outcome: ChangeOutcome, result: object): void => {
    // A second tab may have sent a click, too. The first outcome stands.
    if (decidedCode !== undefined) return;
    // A change that was rejected, declined or may have failed is an error result.
    const { isError, structuredContent } = toolResult.parse(result);
    decidedCode = isError ? failureCode(structuredContent) : successCode(outcome.kind);
    // To show the outcome with the plan, the view needs the `_meta` of both results.
    shownResult = { ...result, _meta: { ...metaOf(shownResult), ...metaOf(result) } };

    printLine(stdout, say`${words(outcomeTitles[outcome.kind])}: ${fromServer(textInUtc(outcome.sentence))}`);
    // If stdout is no terminal, a program reads it, which does not need this note.
    if (stdout.isTTY)
      printLine(
        stderr,
        say`It ends in ${lingerMs / 1000} seconds; until then the page can be loaded again. Ctrl-C ends it now.`,
      );
    // The server of the page keeps this process alive until then.
    setTimeout(() => over.abort(), lingerMs).unref();
  };

  const callDecideTool = onlyTool(decideTool, requestTool);
  return {
    hint: words('Decide in the browser, or press Ctrl-C to end without a decision:'),
    // Has no arguments of the call (`args`), because they may hold a secret, and the view of a change does not need them.
    load: async () => ({ result: shownResult }),
    callTool: async (params) => {
      // By this call, the view accepts, declines or renews the plan, or asks for its state.
      const result = await callDecideTool(params);
      const outcome = finalOutcomeIn(result);
      if (outcome !== undefined) onDecided(outcome, result);
      // An expired plan was renewed, so the new plan is shown from now on.
      else if (readProposedChange(metaOf(result)) !== undefined) shownResult = result;
      return result;
    },
    over: over.signal,
    exitCode: () => decidedCode ?? noConsentCode,
  };
}

/** Wraps `requestTool` for a view, which may call only the tool with this name. */
const onlyTool =
  (name: string, requestTool: RequestTool): PageContent['callTool'] =>
  async (params) => {
    if (!isObject(params) || textAt(params, 'name') !== name) throw new Error('this view calls no other tool');
    return requestTool(params);
  };

/** Outcomes after which nothing is left to decide. */
const finalOutcomes: readonly OutcomeKind[] = ['accepted', 'partly', 'rejected', 'unknown', 'declined'];

const finalOutcomeIn = (result: unknown): ChangeOutcome | undefined => {
  const outcome = readOutcome(metaOf(result));
  return outcome !== undefined && finalOutcomes.includes(outcome.kind) ? outcome : undefined;
};

const metaOf = (result: unknown) => Object(toolResult.parse(result)._meta);

const toolResult = z.object({
  _meta: z.unknown(),
  isError: z.boolean().default(false),
  structuredContent: z.object({
    code: z.string().default(''),
    status: z.number().optional(),
    mayHaveHappened: z.boolean().optional(),
  }),
});

/** Creates an MCP server in this process, and connects to it as a client that shows views. */
async function connect(
  dependencies: ServerDependencies,
  version: string,
): Promise<{ peer: Peer; close(): Promise<void> }> {
  const server = createServer(dependencies);
  const [clientTransport, serverTransport] = InMemoryTransport.createLinkedPair();
  // A message is copied through JSON, as on a real connection, so that fields without a value are left out.
  const peer = createPeer((message) => void clientTransport.send(JSON.parse(JSON.stringify(message))), {
    onRequest: (method) => (method === 'ping' ? Promise.resolve({}) : undefined),
    onNotification: () => undefined,
  });
  clientTransport.onmessage = (message) => peer.receive(message);
  await server.connect(serverTransport);
  await clientTransport.start();

  const capabilities = { extensions: { [appsExtension]: { mimeTypes: [viewMimeType] } } };
  const clientInfo = { name: 'cloudops-mcp view', version };
  await peer.request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo }, answerMs);
  peer.notify('notifications/initialized', {});
  return {
    peer,
    close: async () => {
      await server.close();
      peer.close();
    },
  };
}
