#!/usr/bin/env node
import * as module from 'node:module';
import { fileURLToPath } from 'node:url';
import packageJson from '../package.json' with { type: 'json' };
import { enableCompileCache } from './cli/compile-cache.js';

// A client that stops reading our output or our log has not asked us to stop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

// Before the modules that it is for.
enableCompileCache('enableCompileCache' in module ? module.enableCompileCache : undefined, process);
const { runCommandLine } = await import('./cli/run.js');

/** See `Terminal.interrupted`. */
function interrupted(onSignal: (name: string) => void = () => undefined): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'])
    process.once(name, () => {
      onSignal(name);
      controller.abort();
    });
  return controller.signal;
}

process.exitCode = await runCommandLine(process.argv.slice(2), {
  print: (text) => process.stdout.write(text),
  printError: (text) => process.stderr.write(text),
  now: () => new Date(),
  isTty: process.stdout.isTTY === true,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  interrupted,
  platform: process.platform,
  script: fileURLToPath(import.meta.url),
  env: process.env,
  version: packageJson.version,
});

/** With the three seconds that a collector has to take the last spans: ten. */
const lingerMs = 7_000;

// What is still open now, such as a collector's answer that never ends, does not keep the process. What was written does.
setTimeout(() => process.stdout.write('', () => process.exit()), lingerMs).unref();
