import { type AddressInfo, createServer, type Socket } from 'node:net';

/** What to do with the connection once a request with a method has arrived. `count` is the number of requests so far, from 1. */
export type Script = (socket: Socket, count: number, method: string) => void;

export interface ScriptedServer {
  readonly origin: string;
  /** Requests that arrived completely, and so might have been acted on. */
  readonly requests: number;
  close(): Promise<void>;
}

/** A TCP server that answers with bytes. It can do things that no HTTP library would. */
export async function startScripted(script: Script, onConnect?: (socket: Socket) => void): Promise<ScriptedServer> {
  let requests = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (onConnect !== undefined) return onConnect(socket);
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
      if (received.length < end + 4 + length) return;
      const [method = ''] = received.split(' ', 1);
      received = '';
      requests += 1;
      script(socket, requests, method);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return requests;
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** A whole response with a right Content-Length. */
export const response = (status: number, body = '', headers: Record<string, string> = {}): string =>
  [
    `HTTP/1.1 ${status} Status`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n');
