import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { say } from '../../src/util/safe-text.js';
import { memoryStore } from '../support/caller.js';
import { answerOf, message, post, serveInProcess, toolCall } from '../support/http-in-process.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

const restore = { backupId: 'a'.repeat(32), instanceId: 'restored' };
const list = toolCall('list_parts', { bucket: 'b', object: 'o', uploadId: 'u' });

/** A cloud that holds its answers back until `release` is called. */
async function startSlowCloud(): Promise<CapturingServer & { release(): void }> {
  const waiting: (() => void)[] = [];
  const cloud = await startServer((_request, response) => {
    waiting.push(() => response.end('{"instance":{}}'));
  });
  return { ...cloud, release: () => waiting.splice(0).forEach((answer) => void answer()) };
}

describe('a server below a path of a proxy', () => {
  const resource = { url: 'https://tools.example.com/ops/mcp', issuer: 'https://id.example.com', scopePrefix: '' };

  test.each(['/mcp', '/mcp/', '//mcp', '/ops/mcp', '/ops//mcp/?x=1'])('answers at %s', async (path) => {
    const server = await serveInProcess({ resource });
    expect((await post(new URL(server.origin + path), message('ping'))).status).toBe(200);
    await server.close();
  });

  test.each(['/opsmcp', '/other/mcp', '/mcp/ops', '/ops/ops/mcp'])('does not answer at %s', async (path) => {
    const server = await serveInProcess({ resource });
    expect((await post(new URL(server.origin + path), message('ping'))).status).toBe(404);
    await server.close();
  });

  test.each(['', '/mcp', '/ops/mcp', '/ops/mcp/'])(
    'has its metadata at the well-known path and "%s" (RFC 9728), for GET and HEAD',
    async (path) => {
      const server = await serveInProcess({ resource });
      for (const above of ['', '/ops']) {
        const at = `${server.origin}${above}/.well-known/oauth-protected-resource${path}`;
        expect(await (await fetch(at)).json()).toMatchObject({ resource: resource.url });
      }
      const url = `${server.origin}/.well-known/oauth-protected-resource${path}`;
      const head = await fetch(url, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
      await server.close();
    },
  );

  test('names its metadata in the challenge, below the path, because the proxy may pass on nothing else', async () => {
    const authenticate = async () => ({ kind: 'invalid', reason: 'x' }) as const;
    const server = await serveInProcess({ resource, authenticate });
    const refused = await post(server.url, message('ping'));
    expect(refused.headers.get('www-authenticate')).toContain(
      'resource_metadata="https://tools.example.com/ops/.well-known/oauth-protected-resource/mcp"',
    );
    await server.close();
  });
});

describe('a request that is refused says why, and is counted by reason', () => {
  const json = { 'content-type': 'application/json' };
  const table: readonly [
    string,
    number,
    string,
    { method?: string; path?: string; headers?: object; body?: string },
  ][] = [
    ['a Host of somebody else', 403, 'host', { headers: { host: 'evil.example.com' } }],
    ['a Host that resolves to loopback', 403, 'host', { headers: { host: '127.0.0.1.evil.example.com:80' } }],
    ['a Host that is none', 403, 'host', { headers: { host: 'a b' } }],
    ['an Origin of somebody else', 403, 'origin', { headers: { origin: 'https://evil.example.com' } }],
    ['the Origin null', 403, 'origin', { headers: { origin: 'null' } }],
    ['another path', 404, 'path', { path: '/' }],
    ['GET', 405, 'method', { method: 'GET' }],
    ['DELETE', 405, 'method', { method: 'DELETE' }],
    ['OPTIONS, as browsers ask before a foreign page sends JSON', 405, 'method', { method: 'OPTIONS' }],
    ['no content type', 415, 'content type', { body: '{}' }],
    ['a form', 415, 'content type', { headers: { 'content-type': 'text/plain' }, body: '{}' }],
    ['no body', 400, 'json', { headers: json }],
    ['a body that is not JSON', 400, 'json', { headers: json, body: '{"jsonrpc":' }],
    ['a body that is no message', 400, 'json', { headers: json, body: '1' }],
    ['a body that is nothing but brackets', 413, 'values', { headers: json, body: '['.repeat(200_000) }],
    ['a batch', 400, 'batch', { headers: json, body: JSON.stringify(Array(100).fill(list)) }],
    ['an empty batch', 400, 'batch', { headers: json, body: '[]' }],
    ['more than 256 KiB', 413, 'body', { headers: json, body: ' '.repeat(256 * 1024 + 1) }],
    [
      'more than 256 KiB, of a length not told',
      413,
      'body',
      { headers: { ...json, 'transfer-encoding': 'chunked' }, body: ' '.repeat(256 * 1024 + 1) },
    ],
  ];
  test.each(table)('%s: %i', async (_what, status, reason, { method = 'POST', path = '/mcp', headers = {}, body }) => {
    const server = await serveInProcess();
    const answered = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const request = httpRequest(new URL(path, server.origin), { method, headers: { ...headers } }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode, text }));
      });
      request.on('error', reject);
      request.end(body);
    });
    expect(answered.status).toBe(status);
    expect(JSON.parse(answered.text)).toMatchObject({
      jsonrpc: '2.0',
      error: { message: expect.any(String) },
      id: null,
    });
    expect(await server.metrics()).toContain(`cloudops_refused_requests_total{reason="${reason}"} 1`);
    await server.close();
  });

  test('a message has 5,000 values at most', async () => {
    const server = await serveInProcess();
    const statusOf = async (count: number) => {
      const named = Object.fromEntries(Array.from({ length: count }, (_, index) => [index, 1]));
      return (await post(server.url, JSON.stringify({ ...message('ping'), params: named }))).status;
    };
    expect([await statusOf(4_990), await statusOf(5_000)]).toEqual([200, 413]);
    await server.close();
  });

  test('a message that is no request is refused with its ID and a code, also after a byte order mark', async () => {
    const server = await serveInProcess();
    const body = '\uFEFF{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}';
    const response = await post(server.url, body);
    expect([response.status, await response.json()]).toEqual([
      400,
      { jsonrpc: '2.0', id: 7, error: { code: -32600, message: 'params must be an object.' } },
    ]);
    await server.close();
  });
});

test('over the limit of concurrent calls some wait, the others get 503 and when to come back', async () => {
  const cloud = await startSlowCloud();
  const server = await serveInProcess({
    cloud: cloud.origin,
    limits: { concurrentCalls: 2, waitingCalls: 1 },
  });
  const running = [post(server.url, list), post(server.url, list)];
  await vi.waitFor(() => expect(cloud.requests).toHaveLength(2));
  const waits = post(server.url, list);
  await vi.waitFor(async () => {
    const refused = await post(server.url, list);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  });
  expect(await server.metrics()).toMatch(/cloudops_concurrent_calls 2\n/);
  cloud.release();
  await Promise.all((await Promise.all(running)).map(answerOf));
  await vi.waitFor(() => expect(cloud.requests).toHaveLength(3));
  cloud.release();
  expect((await waits).status).toBe(200);
  await server.close();
  await cloud.close();
});

test('a caller that is too fast gets 429 and when to come back', async () => {
  const server = await serveInProcess({ rate: 1 });
  const responses = [];
  for (let count = 0; count < 3; count += 1) responses.push(await post(server.url, message('ping')));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(responses[2]?.headers.get('retry-after')).toBe('1');
  await server.close();
});

test('bodies that are being received hold so much memory together and no more', async () => {
  const server = await serveInProcess({ limits: { bodiesBytes: 100_000 } });
  const slow = httpRequest(server.url, { method: 'POST', headers: { 'content-type': 'application/json' } });
  slow.on('error', () => undefined);
  slow.write(' '.repeat(90_000));
  await vi.waitFor(async () => {
    const refused = await post(server.url, `${' '.repeat(50_000)}${JSON.stringify(message('ping'))}`);
    expect(refused.status).toBe(503);
  });
  slow.destroy();
  await vi.waitFor(async () => {
    const response = await post(server.url, `${' '.repeat(50_000)}${JSON.stringify(message('ping'))}`);
    expect(response.status).toBe(200);
  });
  await server.close();
});

test('a caller whose bodies come slowly leaves room for those of others', async () => {
  const server = await serveInProcess({
    limits: { bodyBytes: 50_000, bodiesBytes: 200_000, callsOfCaller: 2 },
    authenticate: async (name) => ({ kind: 'authenticated', principal: { name, scopes: ['cloudops:read'] } }),
  });
  const headers = { 'content-type': 'application/json', authorization: 'Bearer alice' };
  const refused: (number | undefined)[] = [];
  const slow = Array.from({ length: 4 }, () => {
    const request = httpRequest(server.url, { method: 'POST', headers }).on('error', () => undefined);
    request.on('response', ({ statusCode }) => refused.push(statusCode));
    request.write(' '.repeat(50_000));
    return request;
  });
  await vi.waitFor(() => expect(refused).toEqual([503, 503]));
  const large = `${' '.repeat(40_000)}${JSON.stringify(message('ping'))}`;
  expect((await post(server.url, large, { authorization: 'Bearer bob' })).status).toBe(200);
  for (const request of slow) request.destroy();
  await server.close();
});

describe('slow clients are cut off', () => {
  const [headers, whole] = [{ headersMs: 200 }, { headersMs: 200, requestMs: 400 }];
  const head = 'POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n';
  const endless = (socket: Socket) => {
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
    const timer = setInterval(() => socket.write('1\r\n \r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  };
  const table: readonly [string, object, (socket: Socket) => void][] = [
    ['that say nothing', headers, () => undefined],
    ['that never end their headers', headers, (socket) => socket.write(head)],
    [
      'that never send the body they announced',
      whole,
      (socket) => socket.write(`${head}content-length: 1000\r\n\r\n{`),
    ],
    ['that send a body without end, little by little', whole, endless],
    [
      'that were refused and go on sending',
      whole,
      (socket) => {
        socket.write(`${head.replace('127.0.0.1', 'evil.example.com')}content-length: 100000000\r\n\r\n`);
        const timer = setInterval(() => socket.write(' '.repeat(1000)), 20);
        socket.on('close', () => clearInterval(timer));
      },
    ],
  ];
  test.each(table)('%s', async (_what, limits, attack) => {
    const server = await serveInProcess({ limits });
    const socket = connect(server.port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve));
    socket.resume();
    attack(socket);
    await closed;
    // A busy machine takes longer than this limit allows now and then.
    await expect.poll(async () => (await post(server.url, message('ping'))).status).toBe(200);
    await server.close();
  });
});

test.each(['the journal', 'the keys of the issuer', 'the tokens file'] as const)(
  'without %s, the server is alive and not ready, on both ports, and says why',
  async (part) => {
    let ready = false;
    const server = await serveInProcess({ missingPart: () => (ready ? undefined : part) });
    const statuses = async (path: string) =>
      Promise.all(
        [server.port, server.metricsPort].map(async (port) => (await fetch(`http://127.0.0.1:${port}${path}`)).status),
      );
    expect([await statuses('/healthz'), await statuses('/readyz')]).toEqual([
      [200, 200],
      [503, 503],
    ]);
    expect(await (await fetch(`${server.origin}/readyz`)).json()).toEqual({ status: `waiting for ${part}` });
    ready = true;
    expect(await statuses('/readyz')).toEqual([200, 200]);
    await server.close();
  },
);

test('a call that cannot use the journal has it checked, and no other call', async () => {
  const checkJournal = vi.fn();
  const begin = async () => ({ kind: 'unwritable', reason: say`journal.db: ENOSPC` }) as const;
  const cloud = await startServer((_request, response) => void response.end('{"instance":{}}'));
  const good = await serveInProcess({ cloud: cloud.origin, checkJournal });
  await answerOf(await post(good.url, toolCall('restore_instance', restore)));
  await answerOf(await post(good.url, toolCall('restore_instance', {})));
  expect(checkJournal).not.toHaveBeenCalled();
  await good.close();
  const bad = await serveInProcess({ checkJournal, caller: { store: { ...memoryStore(), begin } } });
  await answerOf(await post(bad.url, toolCall('restore_instance', restore)));
  expect(checkJournal).toHaveBeenCalledOnce();
  await bad.close();
  await cloud.close();
});

/** A client that requests a change and can disconnect before the answer. */
function restoreAndLeave(url: URL) {
  const abort = new AbortController();
  const gone = fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(toolCall('restore_instance', restore)),
    signal: abort.signal,
  }).then((response) => response.text());
  gone.catch(() => undefined);
  return {
    leave: async () => {
      abort.abort();
      await expect(gone).rejects.toThrow();
    },
  };
}

test('a change whose client goes away is carried out, written down, and keeps its place until then', async () => {
  const cloud = await startSlowCloud();
  const store = memoryStore();
  const server = await serveInProcess({
    cloud: cloud.origin,
    caller: { store, outlivesClients: true },
    limits: { concurrentCalls: 1, waitingCalls: 0 },
  });
  const client = restoreAndLeave(server.url);
  await vi.waitFor(() => expect(cloud.requests).toHaveLength(1));
  await client.leave();
  expect((await post(server.url, list)).status).toBe(503);
  cloud.release();
  await vi.waitFor(async () => expect(await store.newest({ limit: 50 })).toMatchObject([{ state: 'accepted' }]));
  await server.close();
  await cloud.close();
});

test('a client that goes while its large message waits to be parsed keeps no place', async () => {
  const cloud = await startSlowCloud();
  const server = await serveInProcess({ cloud: cloud.origin, limits: { concurrentCalls: 3, waitingCalls: 3 } });
  const running = [1, 2, 3].map(() => post(server.url, list));
  await vi.waitFor(() => expect(cloud.requests).toHaveLength(3));

  /** A client that sends a large message, which waits for a place. */
  const sendLarge = () => {
    const body = JSON.stringify(message('tools/list', { _meta: { padding: 'x'.repeat(100 * 1024) } }));
    const headers = [
      `host: 127.0.0.1:${server.port}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ];
    const accept = 'accept: application/json, text/event-stream';
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`${['POST /mcp HTTP/1.1', accept, ...headers].join('\r\n')}\r\n\r\n${body}`);
    return socket;
  };
  const clients = [1, 2, 3].map(sendLarge);
  // A refused request proves that all three wait.
  await vi.waitFor(async () => expect((await post(server.url, list)).status).toBe(503));

  // Large messages are parsed one after the other. When the first is parsed, all three clients go.
  const parseJson = JSON.parse;
  const parse = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    if (text.length > 100 * 1024) for (const client of clients) client.resetAndDestroy();
    return parseJson(text, reviver);
  });
  try {
    cloud.release();
    await Promise.all(running);
    await vi.waitFor(async () => expect(await server.metrics()).toMatch(/^cloudops_concurrent_calls 0$/m));
  } finally {
    parse.mockRestore();
    await server.close();
    await cloud.close();
  }
});

test('what waits for a place is not begun when its client has gone', async () => {
  const cloud = await startSlowCloud();
  const store = memoryStore();
  const caller = { store, outlivesClients: true };
  const limits = { concurrentCalls: 1, waitingCalls: 2 };
  const server = await serveInProcess({ cloud: cloud.origin, caller, limits });
  const running = post(server.url, list);
  await vi.waitFor(() => expect(cloud.requests).toHaveLength(1));
  const client = restoreAndLeave(server.url);
  const after = post(server.url, list);
  // A refused request proves that both calls wait.
  await vi.waitFor(async () => expect((await post(server.url, list)).status).toBe(503));
  await client.leave();
  // After this answer, the server has also read the end of the earlier connection.
  await fetch(`${server.origin}/healthz`);
  cloud.release();
  await answerOf(await running);
  await vi.waitFor(() => expect(cloud.requests).toHaveLength(2));
  cloud.release();
  expect((await after).status).toBe(200);
  expect(cloud.requests.map(({ method }) => method)).toEqual(['GET', 'GET']);
  expect(await store.newest({ limit: 50 })).toEqual([]);
  await server.close();
  await cloud.close();
});

test('on stopping, readiness falls, new calls are refused, and what runs comes to its end', async () => {
  const cloud = await startSlowCloud();
  const server = await serveInProcess({ cloud: cloud.origin });
  const ready = async () => (await fetch(`${server.origin}/readyz`)).status;
  expect(await ready()).toBe(200);
  const running = post(server.url, toolCall('restore_instance', restore));
  await vi.waitFor(() => expect(cloud.requests).toHaveLength(1));
  const stopped = server.stop(20_000);
  expect(await ready()).toBe(503);
  expect((await fetch(`${server.origin}/healthz`)).status).toBe(200);
  const refused = await post(server.url, message('ping'));
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  cloud.release();
  expect((await answerOf(await running)).result).toMatchObject({ structuredContent: { outcome: 'accepted' } });
  await stopped;
  await expect(ready()).rejects.toThrow();
  await cloud.close();
});

test('requests at the same time are limited in total, also those that do not wait for the answer to the one before', async () => {
  let verify = (): void => undefined;
  const verified = new Promise<void>((resolve) => {
    verify = resolve;
  });
  let verifying = 0;
  const server = await serveInProcess({
    limits: { requests: 2 },
    authenticate: async () => {
      verifying += 1;
      await verified;
      return { kind: 'authenticated', principal: { name: 'alice', scopes: ['cloudops:read'] } };
    },
  });
  const socket = connect(server.port, '127.0.0.1');
  socket.write('POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer x\r\n\r\n'.repeat(10));
  await vi.waitFor(async () =>
    expect(await server.metrics()).toContain('cloudops_refused_requests_total{reason="busy"} 8'),
  );
  expect(verifying).toBe(2);
  const refused = server.logged.filter((line) => line.includes('"refused"'));
  expect(refused.map((line) => JSON.parse(line))).toEqual(
    Array(8).fill({ level: 'warn', event: 'refused', address: '127.0.0.1', reason: 'busy', status: 503 }),
  );
  verify();
  socket.destroy();
  expect((await post(server.url, message('ping'), { authorization: 'Bearer x' })).status).toBe(200);
  await server.close();
});
