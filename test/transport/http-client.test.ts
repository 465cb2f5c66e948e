import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Proxies } from '../../src/transport/connections.js';
import { createHttpClient, defaultLimits } from '../../src/transport/http-client.js';
import { never } from '../support/caller.js';
import { createForwardProxy, portOf } from '../support/tunnel-proxy.js';

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
