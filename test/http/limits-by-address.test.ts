import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { createLimitedLog, networkOf } from '../../src/http/limits-by-address.js';
import { authenticateByTokensFile } from '../../src/http/tokens-file.js';
import { message, post, serveInProcess } from '../support/http-in-process.js';

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
])('%s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

describe('connections of one address', () => {
  test('are limited: one too many is closed, and there is room again when one ends', async () => {
    const server = await serveInProcess({ limits: { connectionsOfAddress: 2 } });
    const open = () => {
      const socket = connect(server.port, '127.0.0.1');
      const closed = new Promise<void>((resolve) => socket.on('error', () => undefined).on('close', () => resolve()));
      const answered = new Promise<void>((resolve) => socket.once('data', () => resolve()));
      socket.write('GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
      return { socket, closed, answered };
    };
    const [first, second] = [open(), open()];
    await Promise.all([first.answered, second.answered]);
    await open().closed;
    expect(await server.metrics()).toContain('cloudops_refused_requests_total{reason="connections"} 1');
    first.socket.destroy();
    await first.closed;
    await vi.waitFor(async () => {
      const next = open();
      await Promise.race([next.answered, next.closed.then(() => Promise.reject(new Error('closed')))]);
    });
    await server.close();
  });
});

test.each(['/healthz', '/readyz'])(
  'an address with all its connections still gets %s from the port of the metrics',
  async (path) => {
    const server = await serveInProcess({ limits: { connectionsOfAddress: 2 } });
    const sockets = [connect(server.port, '127.0.0.1'), connect(server.port, '127.0.0.1')];
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    await expect(fetch(`${server.origin}${path}`)).rejects.toThrow();
    expect((await fetch(`http://127.0.0.1:${server.metricsPort}${path}`)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await server.close();
  },
);

test('requests of one address are as limited, also those that do not wait for the answer to the one before', async () => {
  let verify = (): void => undefined;
  const verified = new Promise<void>((resolve) => {
    verify = resolve;
  });
  let verifying = 0;
  const server = await serveInProcess({
    limits: { connectionsOfAddress: 2 },
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
    Array(5).fill({ level: 'warn', event: 'refused', address: '127.0.0.1', reason: 'busy', status: 503 }),
  );
  verify();
  socket.destroy();
  expect((await post(server.url, message('ping'), { authorization: 'Bearer x' })).status).toBe(200);
  await server.close();
});

test('a caller who sends too many requests is in the log, also if another caller with the same address sends more', async () => {
  const server = await serveInProcess({
    rate: 1,
    now: () => new Date(0),
    authenticate: async (name) => ({ kind: 'authenticated', principal: { name, scopes: ['cloudops:read'] } }),
  });
  const send = async (name: string, count: number) => {
    for (let sent = 0; sent < count; sent += 1)
      await post(server.url, message('ping'), { authorization: `Bearer ${name}` });
  };
  await send('noisy', 12);
  await send('quiet', 3);
  const refused = server.logged.filter((line) => line.includes('"refused"')).map((line) => JSON.parse(line));
  const entry = { level: 'warn', event: 'refused', address: '127.0.0.1', reason: 'rate', status: 429 };
  expect(refused).toEqual([
    ...Array(5).fill({ ...entry, caller: 'noisy' }),
    { ...entry, caller: 'quiet', unlogged: 5 },
  ]);
  await server.close();
});

describe('failed logins', () => {
  const token = 'the token of alice';
  const bearer = (text: string) => ({ authorization: `Bearer ${text.replaceAll(' ', '-')}` });
  const text = `alice ${createHash('sha256').update(token.replaceAll(' ', '-')).digest('hex')}`;
  const now = () => new Date(0);
  const authenticate = authenticateByTokensFile({ text, read: async () => text, now, log: () => undefined });

  test('are logged with address and reason, never with the token, five a minute of an address', async () => {
    const server = await serveInProcess({ authenticate, now });
    for (let count = 0; count < 7; count += 1)
      expect((await post(server.url, message('ping'), bearer('wrong'))).status).toBe(401);
    await post(server.url, message('ping'), { authorization: 'Basic YTpi' });
    const logged = server.logged.filter((line) => line.includes('login failed'));
    expect(logged.map((line) => JSON.parse(line))).toEqual(
      Array(5).fill({ level: 'warn', event: 'login failed', address: '127.0.0.1', reason: 'unknown token' }),
    );
    expect(server.logged.join()).not.toContain('wrong');
    expect((await post(server.url, message('ping'), bearer(token))).status).toBe(200);
    await server.close();
  });

  test('from many addresses do not flood the log, which says how many it left out', () => {
    let time = 0;
    const logged: object[] = [];
    const failed = createLimitedLog(
      () => new Date(time),
      (_level, _event, fields = {}) => logged.push(fields),
      'login failed',
    );
    const from = (remoteAddress: string) => ({ socket: { remoteAddress } });
    for (let host = 0; host < 250; host += 1) failed(from(`192.0.2.${host}`), 'x');
    expect(logged).toHaveLength(10);
    time = 1000;
    failed(from('198.51.100.1'), 'x');
    expect(logged.at(-1)).toEqual({ address: '198.51.100.1', reason: 'x', unlogged: 240 });
  });

  test('are not those who send no token at all: that is how clients learn where to get one', async () => {
    const server = await serveInProcess({ authenticate });
    for (let count = 0; count < 10; count += 1) expect((await post(server.url, message('ping'))).status).toBe(401);
    expect(server.logged.join()).not.toContain('login failed');
    await server.close();
  });
});

describe('the Host header', () => {
  /** The status of a GET with exactly these headers. */
  const statusOf = (port: number, path: string, ...hosts: string[]) =>
    statusWith(port, path, hosts.map((host) => `Host: ${host}\r\n`).join(''));
  const statusWith = (port: number, path: string, headers: string) =>
    new Promise<number>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject).once('data', (data) => {
        socket.destroy();
        resolve(Number(String(data).split(' ')[1]));
      });
      socket.write(`GET ${path} HTTP/1.1\r\n${headers}\r\n`);
    });

  test.each([
    ['127.0.0.1', 'evil.example.com'],
    ['127.0.0.1', '127.0.0.1'],
    ['evil.example.com', '127.0.0.1'],
  ])('twice is 400: %s and %s', async (...hosts) => {
    const server = await serveInProcess();
    expect(await statusOf(server.port, '/mcp', ...hosts)).toBe(400);
    expect(await statusOf(server.metricsPort, '/metrics', ...hosts)).toBe(400);
    await server.close();
  });

  test('and the Authorization header may each come once, because a proxy might use the other one', async () => {
    const principal = { name: 'alice', scopes: ['cloudops:read'] };
    const server = await serveInProcess({ authenticate: async () => ({ kind: 'authenticated', principal }) });
    const good = 'Host: 127.0.0.1\r\nAuthorization: Bearer good\r\n';
    expect(await statusWith(server.port, '/mcp', good)).toBe(405);
    expect(await statusWith(server.port, '/mcp', `${good}Authorization: Bearer other\r\n`)).toBe(400);
    expect(await statusWith(server.port, '/mcp', `${good}authorization: Bearer good\r\n`)).toBe(400);
    await server.close();
  });

  test.each([
    ['Host: 127.0.0.1', 400],
    ['Origin: https://evil.example.com', 403],
  ])('and %s are checked behind thousands of other headers, too: %i', async (last, status) => {
    const server = await serveInProcess();
    const headers = `Host: 127.0.0.1\r\n${'a:\r\n'.repeat(2500)}${last}\r\n`;
    expect(await statusWith(server.port, '/mcp', headers)).toBe(status);
    await server.close();
  });

  test.each([
    ['127.0.0.1', 200],
    ['10.1.2.3:9464', 200],
    ['[2001:db8::1]:9464', 200],
    ['localhost:9464', 200],
    ['cloudops.example.com', 200],
    ['evil.example.com', 403],
    ['127.0.0.1.evil.example.com', 403],
    ['a b', 403],
  ])('of a request for metrics must be an address or a name that is allowed: %s: %i', async (host, status) => {
    const server = await serveInProcess({ hosts: ['cloudops.example.com'] });
    expect(await statusOf(server.metricsPort, '/metrics', host)).toBe(status);
    await server.close();
  });
});
