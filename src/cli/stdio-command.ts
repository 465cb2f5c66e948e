import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { allowChanges } from '../calls/account.js';
import type { DecisionPage } from '../changes/decision-page.js';
import { reportStore } from '../changes/watch-store.js';
import type { Config } from '../config/load-config.js';
import { createEscapedOutput } from '../mcp/escaped-output.js';
import { createMessageLines } from '../mcp/message-lines.js';
import type { Runtime } from '../runtime.js';
import { createServer } from '../server.js';
import { errorName, type Log, reasonOf } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { type Command, type Terminal, validConfig } from './command.js';
import { hasDesktop } from './has-desktop.js';
import { printLine } from './layout.js';
import { runUntilSignal } from './run-until-signal.js';

/** `cloudops-mcp` without a command serves the client that started it, until the client closes stdin. stdout carries only the protocol. */
export const stdioCommand: Command = {
  usage: '',
  about: 'serve MCP on stdin and stdout',
  serves: true,
  run: async (invocation) => {
    const { terminal } = invocation;
    const config = validConfig(invocation);
    if (terminal.stdin.isTTY)
      printLine(
        terminal.stderr,
        'Waiting for an MCP client on stdin. Ctrl-C ends it. To use it yourself: cloudops-mcp --help',
      );
    const localPage = localPageFor(config, terminal);
    const serve = async (runtime: Runtime, log: Log, stop: AbortSignal) => {
      const { server, store } = runtime;
      localPage?.attach(runtime, log);
      if (allowChanges(server.accounts, server.operations)) void reportStore(store, log);
      await serveClient(runtime, log, stop, terminal);
      await localPage?.close();
      return 0;
    };
    return runUntilSignal(config, terminal, serve, localPage?.page);
  },
};

/** Serves one client until it closes its end of stdin or stdout, or until `stop` aborts. */
async function serveClient(
  { server, inFlight }: Runtime,
  log: Log,
  stop: AbortSignal,
  { stdin, stdout }: Terminal,
): Promise<void> {
  const output = createEscapedOutput(stdout);
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      // A running change goes on without its client, so that its outcome is known and recorded.
      inFlight.detach();
      resolve();
    };
    // These listeners are added before the transport adds its own, which abort running calls. So changes are detached first.
    for (const event of ['end', 'close', 'error']) stdin.once(event, end);
    output.once('error', end);
    // No abort can be missed, because `runUntilSignal` creates `stop` just before it calls `serve`, and nothing is awaited in between.
    stop.addEventListener('abort', end);
  });

  const lines = createMessageLines({
    answer: (answer) => void output.write(`${JSON.stringify(answer)}\n`),
    onTooLong: () => log('warn', 'connection', { error: 'a line was skipped, because it is too large' }),
  });
  // `lines` limits the length of a line. A line that it writes may be longer than the line that it read, because numbers may have more digits.
  const options = { maxBufferSize: Number.POSITIVE_INFINITY };
  const transport = new StdioServerTransport(stdin.pipe(lines), output, options);
  const connection = serveStdio(() => createServer(server), {
    transport,
    // The error's message is not logged, because it may quote any text that the client sent.
    onerror: (error) => log('warn', 'connection', { error: textAt(error, 'code') ?? errorName(error) }),
  });
  await ended;
  await connection.close();
  // The transport stops reading `lines`. A stdin that is still read would keep the process from ending.
  stdin.unpipe(lines).pause();
}

/** The page for decisions in the browser of this machine. Its server starts when the first plan waits for a decision. */
interface LocalPage {
  /** The page for the runtime, which calls its `show` when a plan waits. */
  readonly page: DecisionPage;
  /** Gives the page its runtime, which is started after the page is created. Called before the first call of a tool. */
  attach(runtime: Runtime, log: Log): void;
  close(): Promise<void>;
}

/** Prepares a page for decisions in this machine's browser. Undefined without a desktop, or if the settings exclude such a page. */
function localPageFor(config: Config, terminal: Terminal): LocalPage | undefined {
  // With a public URL (CLOUDOPS_HTTP_PUBLIC_URL), people sign in there to decide.
  if (!config.opensBrowser || config.publicUrl !== undefined || !hasDesktop(terminal)) return undefined;
  // Set by `attach`, because the runtime is started only after this function has returned.
  let attached: { readonly runtime: Runtime; readonly log: Log } | undefined;
  /** Resolves with the server of the page. Undefined until the first plan is shown, and after a failure to start the server. */
  let serverStart: ReturnType<typeof startPageServer> | undefined;

  const showChange = async (id: string): Promise<void> => {
    // Never happens, because only the call of a tool shows a change, and `attach` is called before the first call.
    if (attached === undefined) return;
    const { runtime, log } = attached;
    try {
      serverStart ??= startPageServer(runtime, log, terminal.platform, terminal.now).catch((error: unknown) => {
        // The next change tries to start the server again.
        serverStart = undefined;
        throw error;
      });
      const server = await serverStart;
      // Opens a browser tab, unless one is open. If the browser fails, the next change tries to open a tab again.
      await server.show(id);
    } catch (error) {
      log('warn', 'page', { error: reasonOf(error) });
    }
  };

  return {
    page: { kind: 'local', show: (id) => void showChange(id) },
    attach(runtime, log) {
      attached = { runtime, log };
    },
    async close() {
      // A server that could not be started needs no closing.
      const server = await serverStart?.catch(() => undefined);
      await server?.close();
    },
  };
}

async function startPageServer(
  { store, changes, server: { accounts, operations } }: Runtime,
  log: Log,
  platform: NodeJS.Platform,
  now: () => Date,
) {
  const { serveLocalPage } = await import('../http/local-decision-page.js');
  const { openBrowser } = await import('./open-browser.js');
  const open = (url: string) => openBrowser(url, platform);
  return serveLocalPage({ store, changes, accounts, operations, now, open, log });
}
