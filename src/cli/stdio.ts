import { createServer } from '../server.js';
import { serveStdio } from '../serving/stdio.js';
import { type Command, withConfig } from './command.js';
import { runUntilSignal } from './run-until-signal.js';

/** `cloudops-mcp`: serves the client that started it. */
export const stdioCommand: Command = {
  usage: '',
  about: 'serve MCP on stdin and stdout',
  run: withConfig(({ terminal }, config) =>
    runUntilSignal(config, terminal, async ({ inFlight, server }, log, stop) => {
      const { stdin, stdout } = terminal;
      await serveStdio(() => createServer(server), { stdin, stdout, stop, onEnd: inFlight.detach, log });
      return 0;
    }),
  ),
};
