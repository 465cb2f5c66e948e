import type { DecisionPage } from '../changes/decision-page.js';
import type { Config } from '../config/load-config.js';
import type { Runtime } from '../runtime.js';
import { type Log, reasonOf } from '../util/log.js';
import { exact, say } from '../util/safe-text.js';
import type { Terminal } from './command.js';
import { hasDesktop } from './has-desktop.js';
import { printLine } from './layout.js';

/** This file prepares the page for decisions in the browser of this machine. */

type Open = (url: string) => Promise<{ remove(): Promise<void> } | undefined>;

/**
 * Prepares the page. Its server starts when the first plan waits for a decision. Undefined if the settings exclude it, or if its link can reach
 * nobody.
 * @param printsLink true if the link may be printed where there is no desktop, because stderr is read by a person only
 */
export function localPageFor(config: Config, terminal: Terminal, { printsLink = false } = {}) {
  // With a public URL (CLOUDOPS_HTTP_PUBLIC_URL), people sign in there to decide.
  if (!config.opensBrowser || config.publicUrl !== undefined) return undefined;
  const open = openFor(terminal, printsLink);
  if (open === undefined) return undefined;

  // Set by `attach`, because the runtime is started only after this function has returned.
  let attached: { readonly runtime: Runtime; readonly log: Log } | undefined;
  /** Resolves with the server of the page. Undefined until the first plan is shown, and after a failure to start the server. */
  let serverStart: ReturnType<typeof startServer> | undefined;

  const startServer = async ({ store, changes, server: { accounts, operations } }: Runtime, log: Log) => {
    const { serveLocalPage } = await import('../http/local-decision-page.js');
    return serveLocalPage({ store, changes, accounts, operations, now: terminal.now, open, log });
  };
  const showChange = async (id: string): Promise<void> => {
    // Never happens, because only the call of a tool shows a change, and `attach` is called before the first call.
    if (attached === undefined) return;
    const { runtime, log } = attached;
    try {
      serverStart ??= startServer(runtime, log).catch((error: unknown) => {
        // The next change tries to start the server again.
        serverStart = undefined;
        throw error;
      });
      // Opens a browser tab, unless one is open. If the browser fails, the next change tries to open a tab again.
      await (await serverStart).show(id);
    } catch (error) {
      log('warn', 'page', { error: reasonOf(error) });
    }
  };

  const page: DecisionPage = { kind: 'local', show: (id) => void showChange(id) };
  return {
    page,
    /** Gives the page its runtime, which is started after the page is created. Called before the first call of a tool. */
    attach(runtime: Runtime, log: Log): void {
      attached = { runtime, log };
    },
    async close(): Promise<void> {
      // A server that could not be started needs no closing.
      const server = await serverStart?.catch(() => undefined);
      await server?.close();
    },
  };
}

/** Returns the function that brings the link of the page to the person: in a browser, or printed at a terminal. */
function openFor(terminal: Terminal, printsLink: boolean): Open | undefined {
  if (hasDesktop(terminal))
    return async (url) => (await import('./open-browser.js')).openBrowser(url, terminal.platform);
  // A log file could be read by an agent, so the link is printed for a person only.
  if (!printsLink || !terminal.stderr.isTTY) return undefined;
  return async (url) => {
    printLine(terminal.stderr, say`A change waits for your decision at ${exact(url)}`);
    return undefined;
  };
}
