import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { appsExtension, decideTool, viewMimeType } from '../../ui/contract/apps.js';
import { createPeer, type Peer } from '../../ui/contract/json-rpc.js';
import { startRuntime } from '../runtime.js';
import { createServer, type ServerDependencies } from '../server.js';
import { serveViewPage } from '../serving/view-page.js';
import { isObject, textAt } from '../util/objects.js';
import { readView, viewOf } from '../views/offer.js';
import { type Call, logFor, readCall } from './call.js';
import { type Command, portOf, type Terminal, UsageError } from './command.js';

/** `cloudops-mcp view`: a call of a tool, shown in the browser by the view that chats show, for people without such a chat. */
export const viewCommand: Command = {
  usage: '<tool> [<json>|@<file>|-] [--port N] [--no-open]',
  about: 'show an upload, or a change to decide on, in the browser, until a signal ends it',
  positionals: 2,
  options: { port: 'value', 'no-open': 'switch' },
  async run(invocation) {
    const { port = '0', 'no-open': noOpen } = invocation.options;
    const call = await readCall(invocation);
    return show(call, portOf(port), noOpen === undefined, invocation.terminal);
  },
};

/** Changes under way get this long to end. */
const graceMs = 10_000;

/** The server ends each call before this. */
const answerMs = 15 * 60_000;

async function show(
  { operation, args, config }: Call,
  port: number,
  open: boolean,
  terminal: Terminal,
): Promise<number> {
  const { version, now, stdout } = terminal;
  const name = viewOf(operation);
  if (name === undefined) throw new UsageError(`${operation.name} has no view.`);
  const log = logFor(config, terminal);
  // The page is for deciding: nothing is done before its button is clicked, whatever is set for agents.
  const runtime = await startRuntime({ ...config, confirm: 'human' }, version, log, now);
  const { peer, close } = await connect(runtime.server, version);
  const call = (params: unknown) => peer.request('tools/call', isObject(params) ? params : {}, answerMs);
  const result = call({ name: operation.name, arguments: args });
  // The page asks for it, and shows what went wrong.
  result.catch(() => undefined);
  const page = await serveViewPage({
    port,
    host: await readView('page'),
    view: await readView(name),
    call: async () => ({ args, result: await result }),
    callTool(params) {
      const tool = textAt(params, 'name') ?? '';
      const callable = operation.effect === 'read' ? [operation.name] : [decideTool];
      return callable.includes(tool) ? call(params) : Promise.reject(new Error('this view calls no other tool'));
    },
  });
  const stop = terminal.interrupted();
  stdout.write(`${page.url}\n`);
  if (open && stdout.isTTY) openBrowser(page.url, terminal.platform);
  if (!stop.aborted) await once(stop, 'abort');
  await page.close();
  await close();
  await runtime.close(graceMs);
  return 0;
}

/** Connects to a server of this process as a client that shows views, so that it answers as it answers a chat. */
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

/** Opens the browser where the system knows how to. The address is printed in any case. */
function openBrowser(url: string, platform: NodeJS.Platform): void {
  const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
    darwin: ['open'],
    win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  };
  const [command, ...before] = openers[platform] ?? ['xdg-open'];
  spawn(command, [...before, url], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref();
}
