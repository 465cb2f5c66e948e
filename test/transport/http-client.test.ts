import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSocketServer, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Proxies } from '../../src/transport/connections.js';
import { createHttpClient, defaultLimits } from '../../src/transport/http-client.js';
import { never } from '../support/caller.js';
import { createForwardProxy, portOf } from '../support/tunnel-proxy.js';
import { countTurns } from '../support/turns.js';

/** Makes a server listen until the end of the test. */
async function listening<Listener extends Server>(server: Listener): Promise<Listener> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return server;
}

/** A client that is closed at the end of the test. */
function clientWith(proxies: Proxies, limits = defaultLimits) {
  const client = createHttpClient(proxies, limits);
  onTestFinished(() => client.close());
  return client;
}

async function bodyFrom(answer: RequestListener): Promise<string> {
  const origin = `http://127.0.0.1:${portOf(await listening(createServer(answer)))}`;
  const request = { method: 'GET', origin, path: '/', headers: {}, newConnection: false } as const;
  const response = await clientWith({}).send(request, never);
  if (response.kind === 'failure') throw new Error(response.code);
  return response.body;
}

// Characters of one to four bytes, so that pieces of any size end within some.
const large = 'aé日🎉'.repeat(150_000);

test('a body that is read in several pieces is the text that was sent', async () => {
  expect((await bodyFrom((_request, response) => response.end(large))) === large).toBe(true);
});

test('so is one that came compressed', async () => {
  const body = await bodyFrom((_request, response) =>
    response.setHeader('content-encoding', 'gzip').end(gzipSync(large)),
  );
  expect(body === large).toBe(true);
});

test('a character that is cut off at the end is marked', async () => {
  const body = await bodyFrom((_request, response) => response.end(Buffer.from(large).subarray(0, -1)));
  expect(body.slice(-2)).toBe('日\ufffd');
});

test('large bodies that come at the same time are decoded one after the other, and other work runs between their pieces', async () => {
  const compressed = gzipSync(large);
  // Few bytes that become many count as many.
  expect(compressed.length).toBeLessThan(64 * 1024);
  const waiting: (() => void)[] = [];
  const server = await listening(
    createServer((_request, response) => {
      response.setHeader('content-encoding', 'gzip').flushHeaders();
      waiting.push(() => response.end(compressed));
      if (waiting.length === 4) for (const end of waiting) end();
    }),
  );
  const origin = `http://127.0.0.1:${portOf(server)}`;
  const client = clientWith({}, { ...defaultLimits, bodyBytes: large.length * 4 });
  using otherWork = countTurns();
  const events: [name: string, turn: number][] = [];
  const size = Buffer.byteLength(large);
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      const byteLimit = {
        admit: (bytes: number) => bytes !== size || events.push(['begin', otherWork.turns]) > 0,
      };
      const request = { method: 'GET', origin, path: '/', headers: {}, newConnection: true, byteLimit } as const;
      await client.send(request, never);
      events.push(['end', otherWork.turns]);
    }),
  );
  expect(events.map(([name]) => name)).toEqual(Array.from({ length: 4 }, () => ['begin', 'end']).flat());
  for (const [index, [name, turn]] of events.entries())
    if (name === 'end') expect(turn).toBeGreaterThan(events[index - 1]?.[1] ?? turn);
});

describe('plain HTTP through a proxy', () => {
  const origin = 'http://store.test.invalid:9000';
  const request = {
    method: 'GET',
    origin,
    path: '/b/k%20?uploads',
    headers: { host: 'store.test.invalid:9000' },
  } as const;

  async function throughProxy(user = '') {
    const connections: Socket[] = [];
    const store = createServer((_request, response) => response.end('from the store'));
    const { proxy, requests } = createForwardProxy(await listening(store));
    await listening(proxy.on('connection', (socket) => connections.push(socket)));
    return { connections, requests, client: clientWith({ httpProxy: `http://${user}127.0.0.1:${portOf(proxy)}` }) };
  }

  test('is sent in absolute form, with the path as it was signed and the host of the store', async () => {
    const { client, requests } = await throughProxy();
    const response = await client.send({ ...request, newConnection: false }, never);
    expect(response).toMatchObject({ status: 200, body: 'from the store' });
    expect(requests).toEqual([
      { line: `GET ${origin}/b/k%20?uploads`, headers: expect.objectContaining({ host: 'store.test.invalid:9000' }) },
    ]);
    expect(requests[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  test('carries the user and the password of the proxy', async () => {
    const { client, requests } = await throughProxy('ann:p%40ss@');
    await client.send({ ...request, newConnection: true }, never);
    const user = Buffer.from('ann:p@ss').toString('base64');
    expect(requests[0]?.headers).toMatchObject({ 'proxy-authorization': `Basic ${user}` });
  });

  test.each([
    [false, 1],
    [true, 2],
  ])('with newConnection %j, two requests take %i connections to the proxy', async (newConnection, count) => {
    const { client, connections } = await throughProxy();
    for (let sent = 0; sent < 2; sent += 1) {
      const response = await client.send({ ...request, newConnection }, never);
      expect(response).toMatchObject({ status: 200 });
      // undici takes a connection again in a later turn of the event loop.
      await nextTurn();
      await nextTurn();
    }
    expect(connections).toHaveLength(count);
  });

  test('keeps the time limit for the first byte', async () => {
    const silent = await listening(createServer(() => undefined));
    onTestFinished(() => silent.closeAllConnections());
    const limits = { ...defaultLimits, headersMs: 300 };
    const client = clientWith({ httpProxy: `http://127.0.0.1:${portOf(silent)}` }, limits);
    const result = await client.send({ ...request, newConnection: true }, AbortSignal.timeout(10_000));
    expect(result).toMatchObject({ code: 'ResponseTimeout', mayHaveArrived: true });
  });

  test('was not sent if the proxy cannot be reached', async () => {
    const gone = createServer();
    await listening(gone);
    const port = portOf(gone);
    gone.close();
    await once(gone, 'close');
    const client = clientWith({ httpProxy: `http://127.0.0.1:${port}` });
    const result = await client.send({ ...request, newConnection: true }, never);
    expect(result).toMatchObject({ code: 'ProxyFailed', mayHaveArrived: false });
  });
});

describe('interim responses are skipped', () => {
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n';
  const continued = 'HTTP/1.1 100 Continue\r\n\r\n';

  /** A server that answers each request with some pieces of bytes, each in a packet of its own. */
  function answering(pieces: readonly string[]) {
    const server = createSocketServer((socket) => {
      socket.setNoDelay();
      socket.on('error', () => undefined);
      socket.on('data', async () => {
        for (const piece of pieces) {
          socket.write(piece);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      });
    });
    return listening(server);
  }

  const get = (port: number) =>
    ({ method: 'GET', origin: `http://127.0.0.1:${port}`, path: '/', headers: {}, newConnection: false }) as const;

  test.each<readonly [string, readonly string[]]>([
    ['100 in a packet of its own', [continued, `${final}body`]],
    ['100 in the packet of the answer', [`${continued}${final}body`]],
    ['in single bytes', [...`${continued}${final}body`]],
    ['with headers', [`HTTP/1.1 100 Continue\r\nVia: 1.1 proxy\r\n\r\n${final}`, 'body']],
    ['without a reason', [`HTTP/1.1 100 \r\n\r\n${final}body`]],
    ['of HTTP/1.0', [`HTTP/1.0 100 Continue\r\n\r\n${final}body`]],
    [
      'several of them',
      [continued, 'HTTP/1.1 102 Processing\r\n\r\n', `HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n${final}body`],
    ],
    ['none', [final, 'body']],
  ])('%s', async (_what, pieces) => {
    const { send } = clientWith({});
    const server = await answering(pieces);
    const request = get(portOf(server));
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    // The second request goes over the same connection.
    for (let sent = 0; sent < 2; sent += 1) {
      expect(await send(request, never)).toMatchObject({ status: 200, body: 'body' });
      await nextTurn();
      await nextTurn();
    }
    expect(connections).toBe(1);
  });

  test('but not in a body', async () => {
    const body = continued + continued;
    const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`;
    const response = await clientWith({}).send(get(portOf(await answering([head, continued, continued]))), never);
    expect(response).toMatchObject({ status: 200, body });
  });

  test('and one that does not end is no answer', async () => {
    const endless = await answering([
      'HTTP/1.1 100 Continue\r\n',
      ...Array.from({ length: 40 }, () => `X: ${'x'.repeat(1000)}\r\n`),
    ]);
    const result = await clientWith({}).send(get(portOf(endless)), AbortSignal.timeout(10_000));
    expect(result).toMatchObject({ kind: 'failure', mayHaveArrived: true });
    expect(result).not.toMatchObject({ code: 'CallTimeout' });
  });

  test('bytes that are no HTTP are refused at once', async () => {
    const alert = String.fromCharCode(0x15, 3, 1, 0, 2, 2, 0x46);
    const result = await clientWith({}).send(get(portOf(await answering([alert]))), AbortSignal.timeout(10_000));
    expect(result).toMatchObject({ code: 'MalformedResponse' });
  });
});
