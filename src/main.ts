import packageJson from '../package.json' with { type: 'json' };
import { runCommandLine } from './cli/run.js';
import { stopSignal } from './cli/run-until-signal.js';

// A client that stops reading our output or our log has not asked us to stop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

process.exitCode = await runCommandLine(process.argv.slice(2), {
  print: (text) => process.stdout.write(text),
  printError: (text) => process.stderr.write(text),
  now: () => new Date(),
  isTty: process.stdout.isTTY === true,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  interrupted: () => stopSignal(() => undefined),
  platform: process.platform,
  env: process.env,
  version: packageJson.version,
});
