import { PassThrough, Writable } from 'node:stream';
import type { Terminal } from '../../src/cli/command.js';

/** A terminal for commands that run in this process. It records their output. */
export function fakeTerminal(changes: Partial<Terminal> = {}) {
  const printed = { stdout: '', stderr: '' };
  const keptAs = (name: keyof typeof printed) =>
    new Writable({
      write(chunk, _encoding, done) {
        printed[name] += chunk;
        done();
      },
    });
  const terminal: Terminal = {
    now: () => new Date(),
    stdin: new PassThrough(),
    stdout: keptAs('stdout'),
    stderr: keptAs('stderr'),
    abortOnSignal: () => new AbortController().signal,
    platform: 'linux',
    script: '/clone/dist/main.js',
    node: '/opt/node/bin/node',
    timeZone: 'UTC',
    env: {},
    version: '0',
    ...changes,
  };
  return { terminal, printed };
}
