#!/usr/bin/env node
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import packageJson from '../package.json' with { type: 'json' };
import { enableCompileCache } from './cli/compile-cache.js';

/** The exit code where all went well, but for what was to be printed: the disk is full, for example. */
const unwritten = 5;

// A client that stops reading our output or our log has not asked us to stop.
process.stderr.on('error', () => undefined);
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`The output could not be written (${error.code}).\n`);
  process.once('exit', () => (process.exitCode ||= unwritten));
});

// Before the modules that it is for.
enableCompileCache('enableCompileCache' in module ? module.enableCompileCache : undefined, process);
const { runCommandLine } = await import('./cli/run.js');

/** See `Terminal.interrupted`. A terminal that is closed sends SIGHUP. */
function interrupted(onSignal: (name: string) => void = () => undefined): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(name, () => {
      onSignal(name);
      controller.abort();
    });
  return controller.signal;
}

process.exitCode = await runCommandLine(process.argv.slice(2), {
  now: () => new Date(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  interrupted,
  platform: process.platform,
  script: fileURLToPath(import.meta.url),
  node: process.execPath,
  env: process.env,
  version: packageJson.version,
});

/** With the three seconds that a collector has to take the last spans: ten. */
const lingerMs = 7_000;

// Output that was written keeps the process; whatever else is still open, such as a collector's answer that never ends, does not.
setTimeout(() => process.stdout.write('', () => process.exit()), lingerMs).unref();
