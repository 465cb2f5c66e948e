import { PassThrough } from 'node:stream';
import type { Terminal } from '../../src/cli/command.js';

/** A terminal for commands that run in this process, and what they printed on it. */
export function fakeTerminal(changes: Partial<Terminal> = {}) {
  const printed = { stdout: '', stderr: '' };
  const terminal: Terminal = {
    print: (text) => {
      printed.stdout += text;
    },
    printError: (text) => {
      printed.stderr += text;
    },
    now: () => new Date(),
    isTty: false,
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    interrupted: () => new AbortController().signal,
    platform: 'linux',
    script: '/clone/dist/main.js',
    env: {},
    version: '0',
    ...changes,
  };
  return { terminal, printed };
}
