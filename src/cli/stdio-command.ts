import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { allowChanges } from '../calls/account.js';
import { reportJournal } from '../journal/health-check.js';
import { createServer } from '../server.js';
import { type Command, validConfig } from './command.js';
import { printLine } from './layout.js';
import { localPageFor } from './open-decision-page.js';
import { runUntilSignal } from './run-until-signal.js';

/** `cloudops-mcp`: serves the client that started it, until it ends stdin. stdout carries protocol messages and nothing else. */
export const stdioCommand: Command = {
  usage: '',
  about: 'serve MCP on stdin and stdout',
  serves: true,
  run: async (invocation) => {
    const { stdin, stdout, stderr } = invocation.terminal;
    const config = validConfig(invocation);
    if (stdin.isTTY)
      printLine(stderr, 'Waiting for an MCP client on stdin. Ctrl-C ends it. To use it yourself: cloudops-mcp --help');
    const local = localPageFor(config, invocation.terminal);
    return runUntilSignal(
      config,
      invocation.terminal,
      async (runtime, log, stop) => {
        const { inFlight, server, journal } = runtime;
        local?.attach(runtime, log);
        if (allowChanges(server.accounts, server.operations)) void reportJournal(journal, log);
        const ended = new Promise<void>((resolve) => {
          const end = () => {
            inFlight.detach();
            resolve();
          };
          // Before the transport's own listeners, which abort what is under way.
          for (const event of ['end', 'close', 'error']) stdin.once(event, end);
          stdout.once('error', end);
          stop.addEventListener('abort', end);
        });
        const connection = serveStdio(() => createServer(server), {
          onerror: (error) => log('warn', 'connection', { error: error.message }),
        });
        await ended;
        await connection.close();
        await local?.close();
        return 0;
      },
      local?.page,
    );
  },
};
