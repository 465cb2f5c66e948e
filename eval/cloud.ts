import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.js';
import type { CloudRequest } from './record.js';

/** The differences between this cloud and a plain sandbox. */
export interface CloudOptions {
  /** Faults of the sandbox. */
  readonly fault?: string;
  /** Adds records to the sandbox before the run. */
  readonly prepare?: (sandbox: Sandbox) => void;
  /** Changes the answer to a request; `url` is the URL of the request. */
  readonly alter?: (url: string, body: string) => string;
}

/** A sandbox behind a relay that reports each request. */
export interface RecordedCloud {
  /** Settings of a server that uses this cloud, without the prefix `CLOUDOPS_`. */
  readonly settings: Readonly<Record<Keys | Endpoints, string>>;
  close(): Promise<void>;
}

type Keys = 'ACCESS_KEY_ID' | 'SECRET_ACCESS_KEY';
type Endpoints = 'STORAGE_URL' | 'CATALOG_URL' | 'DEVOPS_URL';

/** @param tell is told of a request before the sandbox has it */
export async function startCloud(
  { fault, prepare, alter }: CloudOptions,
  now: () => Date,
  tell: (request: Omit<CloudRequest, 'account'>) => void,
): Promise<RecordedCloud> {
  const sandbox = await startSandbox({ now, fault });
  prepare?.(sandbox);
  const { credentials, endpoints } = sandbox.cloud;
  const { port } = new URL(endpoints.storage);
  const relay = createServer((incoming, outgoing) => {
    pass(incoming, outgoing, port, alter, tell).catch(() => incoming.socket.resetAndDestroy());
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const through = (url: string) => url.replace(`:${port}`, `:${(relay.address() as AddressInfo).port}`);
  return {
    settings: {
      ACCESS_KEY_ID: credentials.accessKeyId,
      SECRET_ACCESS_KEY: credentials.secretAccessKey,
      STORAGE_URL: through(endpoints.storage),
      CATALOG_URL: through(endpoints.catalog),
      DEVOPS_URL: through(endpoints.devops),
    },
    close: async () => {
      relay.closeAllConnections();
      await new Promise((resolve) => relay.close(resolve));
      await sandbox.close();
    },
  };
}

/** Forwards a request as it was signed. If the sandbox breaks the connection, the relay breaks the client's connection too. */
async function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  port: string,
  alter: CloudOptions['alter'],
  tell: (request: Omit<CloudRequest, 'account'>) => void,
): Promise<void> {
  const { method = '', url = '', rawHeaders: headers } = incoming;
  const body = await buffer(incoming);
  tell({ method, url, body: parsed(body.toString('utf8')) });
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port, method, path: url, headers, agent: false }, resolve)
      .once('error', reject)
      .end(body);
  });
  const content = await buffer(answer);
  const altered = alter === undefined ? content : Buffer.from(alter(url, content.toString('utf8')));
  const { connection: _, ...kept } = answer.headers;
  outgoing.writeHead(answer.statusCode ?? 502, { ...kept, 'content-length': altered.length }).end(altered);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
