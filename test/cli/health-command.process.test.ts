import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { startHttpProcess } from '../support/http-process.js';
import { runServer } from '../support/server-process.js';

/** A server from its start on, as an orchestrator and its log show it. */

const health = (port: number) => runServer(['health', '--port', String(port)]);

test('a server that can record changes is ready', async () => {
  const server = await startHttpProcess(['--sandbox']);
  await vi.waitFor(async () => expect((await fetch(`${server.metricsOrigin}/readyz`)).status).toBe(200));
  expect(await health(server.port)).toMatchObject({ code: 0, stdout: 'ready\n' });
  expect(await server.metrics()).toContain('\ncloudops_journal_reachable 1\n');
  await server.stop();
  expect(await health(server.port)).toMatchObject({ code: 1, stderr: expect.stringContaining('ECONNREFUSED') });
});

test('one that cannot is alive and not ready, and says so at its start', async () => {
  const server = await startHttpProcess(['--sandbox', 'CLOUDOPS_JOURNAL=/dev/null/journal']);
  expect((await fetch(`${server.origin}/healthz`)).status).toBe(200);
  expect(await health(server.port)).toMatchObject({ code: 1, stderr: expect.stringContaining('HTTP status 503') });
  expect(server.logged()).toContainEqual(
    expect.objectContaining({ level: 'error', event: 'journal', message: expect.stringContaining('Every change') }),
  );
  expect(await server.metrics()).toContain('\ncloudops_journal_reachable 0\n');
  await server.stop();
});

test('one that only reads needs no journal', async () => {
  const server = await startHttpProcess(['--sandbox', 'CLOUDOPS_READ_ONLY=1', 'CLOUDOPS_JOURNAL=/dev/null/journal']);
  expect(await health(server.port)).toMatchObject({ code: 0 });
  expect(await server.metrics()).not.toContain('cloudops_journal_reachable');
  await server.stop();
});

test('over stdio, the log says at the start that changes will be refused', async () => {
  const { stderr } = await runServer(['--sandbox', 'CLOUDOPS_JOURNAL=/dev/null/journal']);
  expect(stderr).toMatch(/"level":"error","event":"journal","error":"ENOTDIR"/);
});

test('one whose tokens file cannot be read is not ready until it can', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-'));
  const [file, away] = [join(folder, 'http-tokens'), join(folder, 'away')];
  writeFileSync(file, `alice ${'a'.repeat(64)}\n`);
  const server = await startHttpProcess(['--sandbox', `CLOUDOPS_HTTP_TOKENS_FILE=${file}`]);
  const readiness = async () => {
    const response = await fetch(`${server.metricsOrigin}/readyz`);
    return [response.status, await response.json()];
  };
  await vi.waitFor(async () => expect(await readiness()).toEqual([200, { status: 'ready' }]));
  renameSync(file, away);
  await vi.waitFor(
    async () => expect(await readiness()).toEqual([503, { status: 'waiting for the tokens file' }]),
    5_000,
  );
  expect(await server.metrics()).toContain('\ncloudops_authentication_ready 0\n');
  expect(server.logged()).toContainEqual(expect.objectContaining({ level: 'error', event: 'tokens file' }));
  renameSync(away, file);
  await vi.waitFor(async () => expect(await readiness()).toEqual([200, { status: 'ready' }]));
  await server.stop();
  rmSync(folder, { recursive: true });
});

test('the issuer is reached through the proxy, and its problem is in the log at the start', async () => {
  const asked: (string | undefined)[] = [];
  const proxy = createServer().on('connect', ({ url }, socket) => {
    asked.push(url);
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const issuer = [
    'CLOUDOPS_HTTP_ISSUER=https://id.test.invalid',
    'CLOUDOPS_HTTP_AUDIENCE=https://cloudops.test.invalid/mcp',
  ];
  const server = await startHttpProcess(['--sandbox', ...issuer], {
    env: { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, NO_PROXY: '' },
  });
  await vi.waitFor(() =>
    expect(server.logged()).toContainEqual(expect.objectContaining({ level: 'error', event: 'issuer' })),
  );
  expect([...new Set(asked)]).toEqual(['id.test.invalid:443']);
  const metrics = await server.metrics();
  for (const name of ['issuer_reachable', 'authentication_ready']) expect(metrics).toContain(`\ncloudops_${name} 0\n`);
  await vi.waitFor(async () => {
    const readiness = await fetch(`${server.metricsOrigin}/readyz`);
    expect([readiness.status, await readiness.json()]).toEqual([503, { status: 'waiting for the keys of the issuer' }]);
  });
  await server.stop();
  await new Promise((resolve) => proxy.close(resolve));
});
