import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that sends each request to the next of several servers on loopback. One that is taken out of `ports` gets none any more. */
export async function startRoundRobin(
  ports: () => readonly number[],
  onPost: (port: number, body: string) => void = () => undefined,
) {
  let next = 0;
  const proxy = createServer((incoming, outgoing) => {
    const all = ports();
    const port = all[next % all.length] ?? 0;
    next += 1;
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk) => {
      body += chunk;
    });
    incoming.on('end', () => {
      if (incoming.method === 'POST') onPost(port, body);
      const headers = { ...incoming.headers, host: `127.0.0.1:${port}` };
      const onward = forward({ port, host: '127.0.0.1', path: incoming.url, method: incoming.method, headers });
      onward.on('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
        answer.on('error', () => outgoing.destroy());
      });
      onward.on('error', () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
      outgoing.on('close', () => onward.destroy());
      onward.end(body);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    close: () => {
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}
