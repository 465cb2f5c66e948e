import type { Config } from '../config/load-config.js';
import type { DecisionPage } from '../consent/decision-page.js';
import type { Runtime } from '../runtime.js';
import { type Log, reasonOf } from '../util/log.js';
import type { Terminal } from './command.js';
import { hasDesktop } from './has-desktop.js';

/** The page for decisions in the browser of this machine. What it takes is loaded with the first plan that waits for it. */
export interface LocalPage {
  readonly page: DecisionPage;
  /** Says what to decide with, before any call is made. */
  attach(runtime: Runtime, log: Log): void;
  close(): Promise<void>;
}

/** Undefined where there is no browser to show it in, where it is not wanted, and where people sign in to a page. */
export function localPageFor(config: Config, terminal: Terminal): LocalPage | undefined {
  if (!config.opensBrowser || config.publicUrl !== undefined || !hasDesktop(terminal)) return undefined;
  let attached: { readonly runtime: Runtime; readonly log: Log } | undefined;
  let served: ReturnType<typeof serve> | undefined;
  const serve = async ({ runtime, log }: NonNullable<typeof attached>) => {
    const { serveLocalPage } = await import('../http/local-decision-page.js');
    const { openBrowser } = await import('./open-browser.js');
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
