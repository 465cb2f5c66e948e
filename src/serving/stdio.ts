import type { Readable, Writable } from 'node:stream';
import type { McpServer } from '@modelcontextprotocol/server';
import { serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import type { Log } from '../util/log.js';

/**
 * Serves MCP on stdin and stdout until the client ends stdin or `stop` aborts.
 * stdout carries protocol messages and nothing else. `onEnd` is called before anything under way is aborted.
 */
export async function serveStdio(
  createServer: () => McpServer,
  {
    stdin,
    stdout,
    stop,
    onEnd,
    log,
  }: { stdin: Readable; stdout: Writable; stop: AbortSignal; onEnd: () => void; log: Log },
): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      onEnd();
      resolve();
    };
    // Before the transport's own listeners, which abort what is under way.
    for (const event of ['end', 'close', 'error']) stdin.once(event, end);
    stdout.once('error', end);
    stop.addEventListener('abort', end);
  });
  const handle = serve(createServer, {
    onerror: (error) => log('warn', 'connection', { message: error.message }),
  });
  await ended;
  await handle.close();
}
