#!/usr/bin/env node
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import packageJson from '../package.json' with { type: 'json' };
import { enableCompileCache } from './util/cache-folder.js';

/** The exit code of a command whose output was lost, for example because the disk is full. */
const outputLost = 5;

// This process continues if a client stops reading the output or the log.
process.stderr.on('error', () => undefined);
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`The output could not be written (${error.code}).\n`);
  process.once('exit', () => (process.exitCode ||= outputLost));
});

// Before the import of `run.js`, because only modules that are imported later are cached.
enableCompileCache('enableCompileCache' in module ? module.enableCompileCache : undefined, process);
const { runCommandLine } = await import('./cli/run.js');

/** A terminal that is closed sends SIGHUP. */
function abortOnSignal(onSignal: (name: string) => void = () => undefined): AbortSignal {
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
  abortOnSignal,
  platform: process.platform,
  script: fileURLToPath(import.meta.url),
  node: process.execPath,
  env: process.env,
  version: packageJson.version,
});

/** Time until the process ends after the command (milliseconds). */
const lingerMs = 1_000;

// Ends the process even if a request is open, but not before all output is written.
setTimeout(() => process.stdout.write('', () => process.exit()), lingerMs).unref();
