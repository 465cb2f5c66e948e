import { createServer, type IncomingMessage, request as openRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request that went to the store, with the answer. */
export interface RelayedExchange {
  /** `PUT /bucket?lifecycle`, and the body of the request. */
  readonly request: string;
  readonly answer: string;
}

export interface Relay {
  readonly origin: string;
  /** Exchanges with the store, the oldest first. */
  readonly exchanges: RelayedExchange[];
  /** Called when the store has answered, before its answer goes on. */
  onAnswer: () => void | Promise<void>;
  close(): Promise<void>;
}

/** Starts a server that passes requests to a store. The name of the host stays as it was signed. */
export async function startRelay(store: string): Promise<Relay> {
  const { hostname, port } = new URL(store);
  const pass = async (given: IncomingMessage) => {
    const body = await text(given);
    const { method, url: path, headers } = given;
    const answer = await new Promise<IncomingMessage>((resolve, reject) =>
      openRequest({ hostname, port, method, path, headers }, resolve).on('error', reject).end(body),
    );
    const content = await text(answer);
    relay.exchanges.push({ request: `${method} ${path} ${body}`, answer: content });
    await relay.onAnswer();
    const { 'transfer-encoding': _, connection: __, ...others } = answer.headers;
    return { status: answer.statusCode ?? 500, headers: others, content };
  };
  const server = createServer((given, response) => {
    pass(given).then(
      ({ status, headers, content }) => response.writeHead(status, headers).end(content),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const relay: Relay = {
    origin: `http://127.0.0.1:${Object(server.address() satisfies AddressInfo | string | null).port}`,
    exchanges: [],
    onAnswer: () => undefined,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return relay;
}
