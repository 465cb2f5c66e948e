import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { allowChanges } from '../calls/account.js';
import type { Config } from '../config/load-config.js';
import type { DecisionPage } from '../consent/decision-page.js';
import { reportJournal } from '../journal/health-check.js';
import type { Runtime } from '../runtime.js';
import { createServer } from '../server.js';
import { errorName, type Log, reasonOf } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { type Command, type Terminal, validConfig } from './command.js';
import { printLine } from './layout.js';
import { hasDesktop, openBrowser } from './open-browser.js';
import { runUntilSignal } from './run-until-signal.js';

/** `cloudops-mcp` serves the client that started it until the client closes stdin. stdout carries only messages of the protocol. */
export const stdioCommand: Command = {
  usage: '',
  about: 'serve MCP on stdin and stdout',
  serves: true,
  run: async (invocation) => {
    const { stdin, stdout, stderr } = invocation.terminal;
    const config = validConfig(invocation);
    if (stdin.isTTY)
      printLine(stderr, 'Waiting for an MCP client on stdin. Ctrl-C ends it. To use it yourself: cloudops-mcp --help');
    const local = localPageFor(config, invocation.terminal);
    return runUntilSignal(
      config,
      invocation.terminal,
      async (runtime, log, stop) => {
        const { inFlight, server, journal } = runtime;
        local?.attach(runtime, log);
        if (allowChanges(server.accounts, server.operations)) void reportJournal(journal, log);
        const ended = new Promise<void>((resolve) => {
          const end = () => {
            inFlight.detach();
            resolve();
          };
          // Added before the listeners of the transport, which abort running calls.
          for (const event of ['end', 'close', 'error']) stdin.once(event, end);
          stdout.once('error', end);
          stop.addEventListener('abort', end);
        });
        const connection = serveStdio(() => createServer(server), {
          // The message is left out, because it may quote anything.
          onerror: (error) => log('warn', 'connection', { error: textAt(error, 'code') ?? errorName(error) }),
        });
        await ended;
        await connection.close();
        await local?.close();
        return 0;
      },
      local?.page,
    );
  },
};

/** The page for decisions in the browser of this machine. Its code is loaded with the first plan that waits. */
interface LocalPage {
  readonly page: DecisionPage;
  /** Sets the runtime. Called before the first call of a tool. */
  attach(runtime: Runtime, log: Log): void;
  close(): Promise<void>;
}

/** Undefined if there is no desktop, if OPEN_BROWSER is off, and if people sign in to a page over HTTP. */
function localPageFor(config: Config, terminal: Terminal): LocalPage | undefined {
  if (!config.opensBrowser || config.publicUrl !== undefined || !hasDesktop(terminal)) return undefined;
  let attached: { readonly runtime: Runtime; readonly log: Log } | undefined;
  let served: ReturnType<typeof serve> | undefined;
  const serve = async ({ runtime, log }: NonNullable<typeof attached>) => {
    const { serveLocalPage } = await import('../http/local-decision-page.js');
    const { accounts, operations, call, stateKeys, now } = runtime.server;
    const open = (url: string) => openBrowser(url, terminal.platform);
    return serveLocalPage({ plans: runtime.plans, accounts, operations, call, stateKeys, now, open, log });
  };
  const show = async ({ runtime, log }: NonNullable<typeof attached>) => {
    try {
      served ??= serve({ runtime, log });
      await (await served).show();
    } catch (error) {
      served = undefined;
      log('warn', 'page', { error: reasonOf(error) });
    }
  };
  return {
    page: { kind: 'local', show: () => void (attached && show(attached)) },
    attach(runtime, log) {
      attached = { runtime, log };
    },
    close: async () => (await served?.catch(() => undefined))?.close(),
  };
}
