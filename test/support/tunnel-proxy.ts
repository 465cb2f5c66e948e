import { createServer, request as sendRequest } from 'node:http';
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

/**
 * A proxy that forwards plain HTTP and refuses all tunnels, and takes every name for one server of this machine. `requests` has the request
 * line and the headers of each request.
 */
export function createForwardProxy(target: Server) {
  const requests: { readonly line: string; readonly headers: Readonly<Record<string, unknown>> }[] = [];
  const proxy = createServer(({ method, url = '', headers }, response) => {
    requests.push({ line: `${method} ${url}`, headers });
    const path = url.replace(/^http:\/\/[^/]+/, '');
    const { 'proxy-authorization': _, ...forwarded } = headers;
    const options = { host: '127.0.0.1', port: portOf(target), path, headers: forwarded, ...(method && { method }) };
    sendRequest(options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    })
      .on('error', () => response.writeHead(502).end())
      .end();
  }).on('connect', ({ url }, socket) => {
    requests.push({ line: `CONNECT ${url}`, headers: {} });
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  return { proxy, requests };
}
