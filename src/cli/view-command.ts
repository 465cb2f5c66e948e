import { once } from 'node:events';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { withConfirm } from '../config/load-config.js';
import { serveViewPage } from '../http/view-page.js';
import { appsExtension, decideTool, viewMimeType } from '../mcp/views/contract/apps.js';
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
import { startRuntime } from '../runtime.js';
import { createServer, type ServerDependencies } from '../server.js';
import { isObject, textAt } from '../util/objects.js';
import { exact, fromServer, join, own, type SafeText, say, words } from '../util/safe-text.js';
import { type Call, failureCode, partlyCode, readCall } from './call-command.js';
import { type Command, portOf, type Terminal, UsageError } from './command.js';
import { printLine } from './layout.js';
import { openBrowser } from './open-browser.js';
import { commandLog } from './terminal-log.js';

/** `cloudops-mcp view` shows a call of a tool in the browser, with the view that chat clients show. */
export const viewCommand: Command = {
  usage: '<tool> [<json>|@<file>|-] [--account <name>] [--port N] [--no-open]',
  about: 'show an upload, or a change to decide on, in the browser',
  details: 'It ends when the change is decided, or with Ctrl-C.',
  subjects: (operations) => operations.map(({ name }) => name),
  positionals: 2,
  options: { account: 'value', port: 'value', 'no-open': 'switch' },
  async run(invocation) {
    const { port = '0', 'no-open': noOpen } = invocation.options;
    const call = await readCall(invocation);
    return show(call, { port: portOf(port), opens: noOpen === undefined }, invocation.terminal);
  },
};

const graceMs = 10_000;

/** After a decision, the page can be loaded again for this time (milliseconds). */
const lingerMs = 20_000;

/** Time limit of a request to the server, which ends each call earlier (milliseconds). */
const answerMs = 15 * 60_000;

async function show(
  { operation, args, config }: Call,
  { port, opens }: { readonly port: number; readonly opens: boolean },
  terminal: Terminal,
): Promise<number> {
  const { version, now, stdout, stderr } = terminal;
  const viewName = viewOf(operation);
  if (viewName === undefined) throw new UsageError(say`${own(operation.name)} has no view.`);
  // Only a click on the page sends the change, even if agents need no consent.
  const runtime = await startRuntime(withConfirm(config, 'human'), version, commandLog(config, terminal), now);
  const { peer, close } = await connect(runtime.server, version);
  try {
    const callTool: CallTool = (params) => peer.request('tools/call', isObject(params) ? params : {}, answerMs);
    const result = await callTool({ name: operation.name, arguments: args });
    const failure = failureOf(result);
    if (failure !== undefined) {
      printLine(stderr, fromServer(failure.text));
      return failure.exitCode;
    }
    const stop = terminal.interrupted();
    const over = new AbortController();
    const shown =
      operation.effect === 'read'
        ? showRead(operation.name, args, result, callTool)
        : showChange(result, callTool, terminal, () => setTimeout(() => over.abort(), lingerMs).unref());
    const page = await serveViewPage({
      port,
      host: await readView('page'),
      view: await readView(viewName),
      call: shown.load,
      callTool: shown.callTool,
    });
    const url = say`${exact(page.url)}`;
    // In a line of its own, so that no terminal breaks it.
    printLine(stdout, stdout.isTTY ? join([shown.hint, url], '\n') : url);
    const opened =
      opens && stdout.isTTY ? await openBrowser(page.url, terminal.platform).catch(() => undefined) : undefined;
    const end = AbortSignal.any([stop, over.signal]);
    if (!end.aborted) await once(end, 'abort');
    runtime.inFlight.detach();
    if (runtime.inFlight.count() > 0) printLine(stderr, 'A change is under way: it gets ten seconds to end.');
    await runtime.inFlight.finish(graceMs);
    await page.close();
    await opened?.remove();
    return shown.exitCode();
  } finally {
    await close();
    await runtime.close(graceMs);
  }
}

type CallTool = (params: unknown) => Promise<object>;

/** A result on the page. */
interface ShownResult {
  /** The text before the address of the page. */
  readonly hint: SafeText;
  /** Returns the call and its result each time that the page is loaded. */
  readonly load: () => Promise<{ readonly args?: unknown; readonly result: unknown }>;
  /** Calls a tool for the view. */
  readonly callTool: CallTool;
  readonly exitCode: () => number;
}

const showRead = (tool: string, args: unknown, result: unknown, callTool: CallTool): ShownResult => ({
  hint: words('It is shown in the browser until you press Ctrl-C:'),
  load: async () => ({ args, result }),
  callTool: onlyTool(tool, callTool),
  exitCode: () => 0,
});

/** Shows a plan until a click decides on it. Then the page shows the outcome, and `end` is called. */
function showChange(plan: unknown, callTool: CallTool, { stdout, stderr }: Terminal, end: () => void): ShownResult {
  let shown = plan;
  let decided: unknown;
  const keep = (answer: unknown) => {
    const outcome = decisionIn(answer);
    if (outcome === undefined) {
      if (readProposedChange(metaOf(answer)) !== undefined) shown = answer;
      return;
    }
    // The first decision stands.
    if (decided !== undefined) return;
    shown = { ...Object(answer), _meta: { ...metaOf(shown), ...metaOf(answer) } };
    decided = answer;
    printLine(stdout, say`${words(outcomeTitles[outcome.kind])}: ${fromServer(textInUtc(outcome.sentence))}`);
    if (stdout.isTTY)
      printLine(stderr, 'It ends in 20 seconds; until then the page can be loaded again. Ctrl-C ends it now.');
    end();
  };
  const callDecideTool = onlyTool(decideTool, callTool);
  return {
    hint: words('Decide in the browser, or press Ctrl-C to end without a decision:'),
    // The arguments are left out, because they may hold a secret and the view of a change does not need them.
    load: async () => ({ result: shown }),
    callTool: async (params) => {
      const answer = await callDecideTool(params);
      keep(answer);
      return answer;
    },
    exitCode: () =>
      decided === undefined ? withoutDecision : (failureOf(decided)?.exitCode ?? partlyCode(decisionIn(decided)?.kind)),
  };
}

const onlyTool =
  (tool: string, callTool: CallTool): CallTool =>
  async (params) => {
    if (textAt(params, 'name') !== tool) throw new Error('this view calls no other tool');
    return callTool(params);
  };

/** The exit code without a decision. `call` has the same exit code without consent. */
const withoutDecision = 3;

const decisions: readonly OutcomeKind[] = ['accepted', 'partly', 'rejected', 'unknown', 'declined'];

const decisionIn = (result: unknown): ChangeOutcome | undefined => {
  const outcome = readOutcome(metaOf(result));
  return outcome !== undefined && decisions.includes(outcome.kind) ? outcome : undefined;
};

const metaOf = (result: unknown) => Object(toolResult.parse(result)._meta);

/** The text and the exit code of an error result. Undefined for other results. */
function failureOf(result: unknown): { readonly text: string; readonly exitCode: number } | undefined {
  const { isError, content, structuredContent } = toolResult.parse(result);
  if (!isError) return undefined;
  return { text: content.map(({ text }) => text).join('\n'), exitCode: failureCode(structuredContent) };
}

const toolResult = z.object({
  _meta: z.unknown(),
  isError: z.boolean().default(false),
  content: z.array(z.object({ text: z.string() })),
  structuredContent: z.object({
    code: z.string().default(''),
    status: z.number().optional(),
    mayHaveHappened: z.boolean().optional(),
  }),
});

/** Connects to a server in this process as a client that shows views. */
async function connect(
  dependencies: ServerDependencies,
  version: string,
): Promise<{ peer: Peer; close(): Promise<void> }> {
  const server = createServer(dependencies);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const peer = createPeer((message) => void ours.send(JSON.parse(JSON.stringify(message))), {
    onRequest: (method) => (method === 'ping' ? Promise.resolve({}) : undefined),
    onNotification: () => undefined,
  });
  ours.onmessage = (message) => peer.receive(message);
  await server.connect(theirs);
  await ours.start();
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
