import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { McpHttpHandler } from '@modelcontextprotocol/server';

/**
 * Serves a message that was read already by a handler for web requests. The SDK's own adapter (`toNodeHandler`) would write the
 * message as JSON once more for a body that nobody reads.
 */
export async function serveMessage(
  handler: Pick<McpHttpHandler, 'fetch'>,
  message: unknown,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  const headers = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const request = new Request('http://localhost/mcp', { method: 'POST', headers, signal: gone.signal });
  const { status, headers: answered, body } = await handler.fetch(request, { parsedBody: message });
  outgoing.writeHead(status, Object.fromEntries(answered));
  if (body !== null)
    for await (const chunk of body) {
      if (gone.signal.aborted) return;
      // Whoever reads slowly is waited for, until the connection ends.
      if (!outgoing.write(chunk)) await once(outgoing, 'drain', { signal: gone.signal }).catch(() => undefined);
    }
  outgoing.end();
}
