import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it arrived, nothing decoded. */
export interface CapturedRequest {
  readonly method: string;
  /** Path and query as on the wire. */
  readonly url: string;
  /** Names as sent, lower case; no name is repeated by our client. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface CapturingServer {
  readonly origin: string;
  readonly requests: CapturedRequest[];
  close(): Promise<void>;
}

/** An HTTP server on loopback that keeps every request and answers as it is told. */
export async function startServer(
  respond: (request: CapturedRequest, response: ServerResponse, count: number) => void,
): Promise<CapturingServer> {
  const requests: CapturedRequest[] = [];
  const server = createServer((incoming: IncomingMessage, response) => {
    let body = '';
    incoming.setEncoding('utf8');
    incoming.on('data', (chunk: string) => {
      body += chunk;
    });
    incoming.on('end', () => {
      const headers = Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      );
      const request = { method: incoming.method ?? '', url: incoming.url ?? '', headers, body };
      requests.push(request);
      respond(request, response, requests.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
