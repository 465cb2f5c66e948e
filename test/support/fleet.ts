import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JournalEntry } from '../../src/changes/change.js';
import { startHttpProcess } from './http-process.js';
import { type CapturingServer, startServer } from './http-server.js';
import { printedChanges } from './journal.js';
import { runServer } from './server-process.js';

/** A cloud that accepts every new instance, and that can hold back its answers. */
export interface HoldingCloud extends CapturingServer {
  /** Holds back all answers until the returned function is called. */
  hold(): () => void;
  /** Number of requests to create an instance. */
  arrived(instanceId: string): number;
}

export async function startHoldingCloud(): Promise<HoldingCloud> {
  let released = Promise.resolve();
  const cloud = await startServer((_request, response) => {
    void released.then(() => response.end('{"instance":{"instanceId":"s"}}'));
  });
  return {
    ...cloud,
    hold: () => {
      let release: () => void = () => undefined;
      released = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    arrived: (instanceId) =>
      cloud.requests.filter(({ body }) => body !== '' && JSON.parse(body).instanceId === instanceId).length,
  };
}

/** Settings that every replica of a fleet has. */
export const fleetSettings = (cloud: CapturingServer, journal: string, more: Record<string, string> = {}) => ({
  CLOUDOPS_DEVOPS_URL: cloud.origin,
  CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
  CLOUDOPS_SECRET_ACCESS_KEY: 'test/secret+key',
  CLOUDOPS_STATE_KEY: 'k'.repeat(32),
  CLOUDOPS_JOURNAL: journal,
  ...more,
});

/** The changes in the journal of a fleet, as the command prints them. */
export async function journalOf(env: Record<string, string>): Promise<JournalEntry[]> {
  return printedChanges((await runServer(['journal', '--json'], { env })).stdout);
}

/** Ends processes and waits until they are gone. */
export async function killAll(processes: readonly Killable[]): Promise<void> {
  for (const { child } of processes) child.kill('SIGKILL');
  await Promise.all(processes.map(({ ended }) => ended));
}

interface Killable {
  readonly child: { kill(signal: 'SIGKILL'): boolean };
  readonly ended: Promise<unknown>;
}

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/**
 * Starts three replicas over HTTP behind a proxy that sends each request to the next one. A replica that a test takes out of
 * `replicas` gets no more requests.
 * @param onPost called with the index of the replica that gets a message
 */
export async function startFleet(
  env: Record<string, string>,
  onPost: (replica: number, body: string) => void = () => undefined,
) {
  const replicas = await Promise.all([0, 1, 2].map(() => startHttpProcess([], { env })));
  const started = [...replicas];
  const proxy = await startRoundRobin(
    () => replicas.map(({ port }) => port),
    (port, body) =>
      onPost(
        replicas.findIndex((replica) => replica.port === port),
        body,
      ),
  );
  return {
    replicas,
    origin: proxy.origin,
    url: new URL('/mcp', proxy.origin),
    close: async () => {
      proxy.close();
      await killAll([...new Set([...started, ...replicas])]);
    },
  };
}

async function startRoundRobin(ports: () => readonly number[], onPost: (port: number, body: string) => void) {
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
  // The replicas' header `keep-alive` goes to clients. The proxy must not close a connection earlier than it promises.
  proxy.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    close: () => {
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}
