import type { Config } from '../config/config.js';
import { type Runtime, startRuntime } from '../runtime.js';
import { createLog, type Log } from '../util/log.js';
import type { Terminal } from './command.js';

/** Mutations under way get this long to end when the process is asked to. */
const graceMs = 10_000;

/** Starts everything, serves until it is asked to stop, and ends in good order. Resolves with the exit code of `serve`. */
export async function runUntilSignal(
  config: Config,
  { version, now }: Terminal,
  serve: (runtime: Runtime, log: Log, stop: AbortSignal) => Promise<number>,
): Promise<number> {
  const log = createLog(config.logLevel, now, (line) => process.stderr.write(line));
  const runtime = await startRuntime(config, version, log, now);
  log('info', 'start', { version, sandbox: config.sandbox });
  const stop = stopSignal(log);
  // Where it happened, but not the message, which may quote anything.
  process.on('uncaughtException', ({ name, stack = '' }) => {
    log('error', 'crash', { error: name, stack: stack.split('\n').filter((line) => line.startsWith('    at ')) });
    runtime.inFlight.begin();
    void runtime.inFlight.finish(graceMs).finally(() => process.exit(1));
  });
  const code = await serve(runtime, log, stop);
  await runtime.close(graceMs);
  return code;
}

/** Aborts on the first request to end the process; a second one ends it at once. */
export function stopSignal(log: Log): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => {
      log('info', 'stop', { signal: name });
      controller.abort();
    });
  return controller.signal;
}
