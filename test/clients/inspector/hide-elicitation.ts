import { createServer, request } from 'node:http';
import { json } from 'node:stream/consumers';
import * as z from 'zod';

const initialize = z.looseObject({ params: z.looseObject({ capabilities: z.looseObject({}) }) });

/** A way to a server over HTTP on which it does not learn that the client can ask its user: others declare views without questions. */
export async function hideElicitation(target: URL) {
  const proxy = createServer(async (incoming, outgoing) => {
    const { 'content-length': _, ...headers } = incoming.headers;
    const options = { method: incoming.method, headers: { ...headers, host: target.host } };
    const passed = request(target, options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    if (incoming.method !== 'POST') return passed.end();
    const message = await json(incoming);
    const { data } = initialize.safeParse(message);
    if (data === undefined) return passed.end(JSON.stringify(message));
    const { elicitation: __, ...capabilities } = data.params.capabilities;
    passed.end(JSON.stringify({ ...data, params: { ...data.params, capabilities } }));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    url: `http://127.0.0.1:${address.port}${target.pathname}`,
    close: async () => {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
