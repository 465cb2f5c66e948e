import { createServer } from '../server.js';
import { serveStdio } from '../serving/stdio.js';
import { type Command, validConfig } from './command.js';
import { runUntilSignal } from './run-until-signal.js';

/** `cloudops-mcp`: serves the client that started it. */
export const stdioCommand: Command = {
  usage: '',
  about: 'serve MCP on stdin and stdout',
  run: async (invocation) => {
    const { stdin, stdout } = invocation.terminal;
    return runUntilSignal(validConfig(invocation), invocation.terminal, async ({ inFlight, server }, log, stop) => {
      await serveStdio(() => createServer(server), { stdin, stdout, stop, onEnd: inFlight.detach, log });
      return 0;
    });
  },
};
