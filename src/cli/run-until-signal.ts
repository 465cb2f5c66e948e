import { accountsForServices, allowChanges, nothingConfigured } from '../calls/account.js';
import { type Config, hiddenBySandbox } from '../config/load-config.js';
import { type Runtime, startRuntime } from '../runtime.js';
import { crashFacts, type Log } from '../util/log.js';
import { join, say, words } from '../util/safe-text.js';
import type { Terminal } from './command.js';
import { localPageFor } from './local-page.js';
import { serverLog } from './terminal-log.js';

/** Time limit for running changes after a termination signal (milliseconds). */
const graceMs = 10_000;

export interface Serving {
  readonly runtime: Runtime;
  readonly log: Log;
  /** Aborts at a signal. */
  readonly stop: AbortSignal;
  readonly allowsChanges: boolean;
}

/**
 * Starts the runtime, serves until a signal, and shuts down. Resolves with the exit code.
 * @param pageOfMachine for the page for decisions in this machine's browser. `printsLink` needs a stderr that only a person reads
 */
export async function runUntilSignal(
  config: Config,
  terminal: Terminal,
  serve: (serving: Serving) => Promise<void>,
  pageOfMachine: { readonly printsLink: boolean } | undefined,
): Promise<number> {
  const { version, now, abortOnSignal } = terminal;
  const log = serverLog(config, terminal);
  const localPage = pageOfMachine && localPageFor(config, terminal, pageOfMachine.printsLink, log, () => runtime);
  const runtime: Runtime = await startRuntime(config, version, log, now, localPage?.page);

  log('info', 'start', { version, sandbox: config.values.SANDBOX });
  const ignored = hiddenBySandbox(config);
  if (ignored.length > 0)
    log('warn', 'sandbox', { message: say`The sandbox is in use, and these are ignored: ${join(ignored, ', ')}.` });
  const { accounts, operations, services } = runtime.server;
  const apis = (services?.services ?? []).map(({ api }) => api);
  const missing = nothingConfigured(accounts, [...operations, ...apis.map((service) => ({ service }))]);
  const isSearchOffered =
    accountsForServices(accounts, apis, { name: 'find_operations', effect: 'read' }, undefined).length > 0;
  // Clients first get their answers. The index is built only if it is not cached.
  if (isSearchOffered) setTimeout(() => void services?.prepareSearch().catch(() => undefined), 2_000).unref();
  if (missing !== undefined) log('warn', 'configuration', { message: missing });
  if (config.insecureTls) log('warn', 'insecure TLS', { message: insecureTlsWarning });

  const stop = abortOnSignal((signalName) => log('info', 'stop', { signal: signalName }));
  // The state of the process is not known now, so the process ends as soon as the changes under way have ended.
  process.on('uncaughtException', (error: unknown) => {
    log('error', 'crash', crashFacts(error));
    runtime.inFlight.detach();
    void runtime.inFlight.finish(graceMs).finally(() => process.exit(1));
  });
  try {
    await serve({ runtime, log, stop, allowsChanges: allowChanges(accounts, operations, apis) });
    await localPage?.close();
    return 0;
  } finally {
    await runtime.close(graceMs);
  }
}

export const insecureTlsWarning = words(
  'NODE_TLS_REJECT_UNAUTHORIZED=0 accepts any certificate: attackers on the network can read and change requests and answers',
);
