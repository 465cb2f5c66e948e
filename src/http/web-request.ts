import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Resolves when an answer has left, or its client has gone. A response that waits for its turn behind others of its connection is
 * not told of the end of that.
 */
export const whenOver = ({ socket }: IncomingMessage, response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      socket.off('close', end);
      response.off('close', end);
      resolve();
    };
    socket.once('close', end);
    response.once('close', end);
  });

/** A request as the SDK wants it, with some headers and without its body. */
export const webRequest = (
  { headersDistinct }: IncomingMessage,
  names: readonly string[],
  signal?: AbortSignal,
): Request =>
  new Request('http://localhost/mcp', {
    method: 'POST',
    headers: names.flatMap((name) => (headersDistinct[name] ?? []).map((value): [string, string] => [name, value])),
    ...(signal !== undefined && { signal }),
  });
