import { createServer } from 'node:http';
import { type AddressInfo, connect, type Server } from 'node:net';

/** The port of a server that listens. */
export const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** A proxy that knows only how to tunnel, and takes every name for one server of this machine. `tunnels` has what it was asked for. */
export function createTunnelProxy(target: Server) {
  const tunnels: string[] = [];
  const proxy = createServer().on('connect', (request, socket) => {
    tunnels.push(request.url ?? '');
    const tunnel = connect(portOf(target), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      tunnel.pipe(socket).pipe(tunnel);
    });
    for (const end of [tunnel, socket]) end.on('error', () => end.destroy());
  });
  return { proxy, tunnels };
}
