import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { serveInProcess } from '../support/http-in-process.js';

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
