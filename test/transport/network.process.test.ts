import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpClient, defaultLimits } from '../../src/transport/http-client.js';
import { makeCertificate } from '../support/certificates.js';
import { cleanEnv, serverPath } from '../support/server-process.js';
import { createTunnelProxy, portOf } from '../support/tunnel-proxy.js';

/** TLS and proxies as operators configure them: by the usual environment variables of the process. */

const host = 'storage.test.invalid';
const certificate = makeCertificate(host, '127.0.0.1');
const xml =
  '<ListPartsResult><Bucket>b</Bucket><Key>o</Key><UploadId>u</UploadId><IsTruncated>false</IsTruncated></ListPartsResult>';
/** Before each answer, the store sends a `100 Continue` that nobody asked for, which clients must skip, also in TLS and in tunnels. */
const storage = createHttpsServer(certificate, (_request, response) => {
  response.writeContinue();
  response.end(xml);
});
const { proxy, tunnels } = createTunnelProxy(storage);

beforeAll(async () => {
  for (const server of [storage, proxy]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  storage.closeAllConnections();
  for (const server of [storage, proxy]) server.close();
  certificate.remove();
});

async function list(env: Record<string, string>): Promise<string> {
  const client = new Client({ name: 'test', version: '1' });
  const settings = {
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'test',
    CLOUDOPS_MAX_ATTEMPTS: '1',
  };
  const proxyless = { HTTPS_PROXY: '', https_proxy: '', HTTP_PROXY: '', http_proxy: '', NO_PROXY: '', no_proxy: '' };
  const { NODE_EXTRA_CA_CERTS: _, ...inherited } = cleanEnv(proxyless);
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [serverPath],
      env: { ...inherited, ...settings, ...env },
      stderr: 'ignore',
    }),
  );
  const result = await client.callTool({ name: 'list_parts', arguments: { bucket: 'b', object: 'o', uploadId: 'u' } });
  await client.close();
  const [block] = result.content;
  return block?.type === 'text' ? block.text : '';
}

const trusting = { NODE_EXTRA_CA_CERTS: certificate.authority };

test('NODE_EXTRA_CA_CERTS makes a private certificate authority trusted', async () => {
  expect(await list({ CLOUDOPS_STORAGE_URL: `https://127.0.0.1:${portOf(storage)}`, ...trusting })).toContain(
    'has no parts; whether it is open could not be checked',
  );
});

test('an untrusted certificate ends the call before anything is sent, and says what to set', async () => {
  const text = await list({ CLOUDOPS_STORAGE_URL: `https://127.0.0.1:${portOf(storage)}` });
  expect(text).toMatch(/code: TlsFailed[\s\S]*NODE_EXTRA_CA_CERTS/);
});

test('a certificate for another host is refused', async () => {
  const text = await list({ CLOUDOPS_STORAGE_URL: `https://localhost:${portOf(storage)}`, ...trusting });
  expect(text).toContain('code: TlsFailed');
});

test('HTTPS_PROXY is used, and the certificate checked is that of the endpoint', async () => {
  tunnels.length = 0;
  const env = {
    CLOUDOPS_STORAGE_URL: `https://${host}`,
    HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}`,
    ...trusting,
  };
  expect(await list(env)).toContain('has no parts; whether it is open could not be checked');
  expect(tunnels).toEqual([`${host}:443`]);
});

test('NO_PROXY and loopback are not proxied', async () => {
  tunnels.length = 0;
  const env = { HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}`, ...trusting };
  expect(await list({ ...env, CLOUDOPS_STORAGE_URL: `https://127.0.0.1:${portOf(storage)}` })).toContain(
    'has no parts; whether it is open could not be checked',
  );
  const nowhere = `${'x'.repeat(64)}.test.invalid`;
  expect(await list({ ...env, CLOUDOPS_STORAGE_URL: `https://${nowhere}`, NO_PROXY: 'test.invalid' })).toContain(
    'code: NameNotResolved',
  );
  expect(tunnels).toEqual([]);
});

test('no address of the loopback interface is proxied', async () => {
  tunnels.length = 0;
  const text = await list({
    HTTP_PROXY: `http://127.0.0.1:${portOf(proxy)}`,
    CLOUDOPS_STORAGE_URL: 'http://127.0.0.2:9',
  });
  expect(text).toContain('code: ConnectionRefused');
  expect(tunnels).toEqual([]);
});

test('a proxy that never answers is a connection that was not made', async () => {
  const silent = createHttpServer().on('connect', () => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const httpClient = createHttpClient(
    { httpsProxy: `http://127.0.0.1:${portOf(silent)}` },
    { ...defaultLimits, connectMs: 300 },
  );
  const request = { method: 'POST', origin: `https://${host}`, path: '/', headers: {}, newConnection: true } as const;
  const result = await httpClient.send(request, AbortSignal.timeout(10_000));
  expect(result).toMatchObject({ code: 'ConnectTimeout', mayHaveArrived: false });
  await httpClient.close();
  silent.closeAllConnections();
  silent.close();
});

test('a proxy that refuses says so, and nothing was sent', async () => {
  const refusing = createHttpServer().on('connect', (_request, socket) =>
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'),
  );
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
  const env = {
    CLOUDOPS_STORAGE_URL: `https://${host}`,
    HTTPS_PROXY: `http://127.0.0.1:${portOf(refusing)}`,
    ...trusting,
  };
  expect(await list(env)).toMatch(
    /the proxy made no connection \(https:\/\/storage\.test\.invalid: .*status 407[\s\S]*next: .*HTTPS_PROXY/,
  );
  refusing.close();
});
