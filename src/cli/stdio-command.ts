import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { reportStore } from '../changes/watch-store.js';
import { createEscapedOutput, createMessageLines } from '../mcp/messages.js';
import { createServer } from '../server.js';
import { errorName } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { type Command, type Terminal, validConfig } from './command.js';
import { printLine } from './layout.js';
import { runUntilSignal, type Serving } from './run-until-signal.js';

/** `cloudops-mcp` without a command serves the client that started it, until the client closes stdin. stdout carries only the protocol. */
export const stdioCommand: Command = {
  usage: '',
  about: 'serve MCP on stdin and stdout',
  example: '--sandbox',
  serves: true,
  run: async (invocation) => {
    const { terminal } = invocation;
    const config = validConfig(invocation);
    if (terminal.stdin.isTTY)
      printLine(
        terminal.stderr,
        'Waiting for an MCP client on stdin. Ctrl-C ends it. To use it yourself: cloudops-mcp --help',
      );
    const serve = (serving: Serving) => serveClient(serving, terminal);
    return runUntilSignal(config, terminal, serve, { printsLink: false });
  },
};

async function serveClient(
  { runtime: { server, inFlight, store }, log, stop, allowsChanges }: Serving,
  { stdin, stdout }: Terminal,
): Promise<void> {
  if (allowsChanges) void reportStore(store, log);
  const output = createEscapedOutput(stdout);
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      // A running change goes on without its client, so that its outcome is recorded.
      inFlight.detach();
      resolve();
    };
    // The transport's own listeners abort running calls, so changes are detached first.
    for (const event of ['end', 'close', 'error']) stdin.once(event, end);
    output.once('error', end);
    // No abort can be missed, because nothing is awaited between the creation of `stop` and here.
    stop.addEventListener('abort', end);
  });

  const lines = createMessageLines({
    answer: (answer) => void output.write(`${JSON.stringify(answer)}\n`),
    onTooLong: () => log('warn', 'connection', { error: 'a line was skipped, because it is too large' }),
  });
  // `lines` limits the length. A line that it writes may be longer, because numbers may have more digits.
  const options = { maxBufferSize: Number.POSITIVE_INFINITY };
  const transport = new StdioServerTransport(stdin.pipe(lines), output, options);
  const connection = serveStdio(() => createServer(server), {
    transport,
    // The message may quote any text that the client sent.
    onerror: (error) => log('warn', 'connection', { error: textAt(error, 'code') ?? errorName(error) }),
  });
  await ended;
  await connection.close();
  // A stdin that is still read would keep the process from ending.
  stdin.unpipe(lines).pause();
}
