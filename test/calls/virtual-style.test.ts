import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Sandbox, seededEmptyUpload, seededUpload, startSandbox } from '../../sandbox/sandbox.js';
import type { Cloud } from '../../src/calls/endpoint.js';
import { resolveEndpoint, wireRequest } from '../../src/calls/endpoint.js';
import { Refusal } from '../../src/consent/refusal.js';
import { fixedKeys } from '../../src/signing/keys.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import { listMultipartUploads } from '../../src/tools/list-multipart-uploads.js';
import { listParts } from '../../src/tools/list-parts.js';
import { createHttpClient } from '../../src/transport/http-client.js';
import { never, testCaller } from '../support/caller.js';
import { createForwardProxy, createTunnelProxy, portOf } from '../support/tunnel-proxy.js';

/** CLOUDOPS_STORAGE_STYLE=virtual: the bucket is the first label of the host, for the signature and for everything on the way. */

const upload = { bucket: seededUpload.bucket, object: seededUpload.key, uploadId: seededUpload.uploadId };
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date(), seed: 'virtual' });
});
afterAll(() => sandbox.close());

/** A caller whose storage is at `storage`, with the bucket in the host. */
function callerAt(storage: string, more: Partial<Parameters<typeof testCaller>[1]> = {}) {
  const { credentials } = sandbox.cloud;
  const cloud = {
    credentials,
    endpoints: { storage, catalog: undefined, devops: undefined },
    storageHeaders: 'amz' as const,
    storageStyle: 'virtual' as const,
  };
  const policy = { readOnly: false, tools: undefined, extensions: ['s3' as const] };
  const caller = testCaller(storage, { maximumAttempts: 1, cloud, policy, ...more });
  onTestFinished(() => caller.close());
  return caller;
}

const sandboxByName = () => sandbox.cloud.endpoints.storage.replace('127.0.0.1', 'localhost');

test('a store that checks signatures reads the bucket from the host', async () => {
  const { call } = callerAt(sandboxByName());
  expect(await call(listParts, upload, { signal: never })).toMatchObject({ ok: true });
  expect(await call(listMultipartUploads, { bucket: upload.bucket }, { signal: never })).toMatchObject({ ok: true });
});

test('a change and the read before it go to the bucket in the host', async () => {
  const { bucket, key: object, uploadId } = seededEmptyUpload;
  const { call } = callerAt(sandboxByName(), { confirm: 'off' });
  const result = await call(abortMultipartUpload, { bucket, object, uploadId }, { signal: never });
  expect(result).toMatchObject({ ok: true });
  expect(sandbox.describe()).toContain('abort_multipart_upload');
});

test('a proxy for plain HTTP sees the final host', async () => {
  const store = createServer((_request, response) => response.end('<ListPartsResult/>'));
  const { proxy, requests } = createForwardProxy(store);
  for (const server of [store, proxy]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const httpClient = createHttpClient({ httpProxy: `http://127.0.0.1:${portOf(proxy)}` });
  const { call } = callerAt('http://store.test.invalid:9000', { httpClient });
  await call(listMultipartUploads, { bucket: 'backups' }, { signal: never });
  expect(requests).toMatchObject([
    {
      line: expect.stringMatching(/^GET http:\/\/backups\.store\.test\.invalid:9000\/\?/),
      headers: { host: 'backups.store.test.invalid:9000' },
    },
  ]);
  await httpClient.close();
  for (const server of [store, proxy]) server.close();
});

test('a tunnel, and so TLS, is asked for the final host', async () => {
  const store = createServer();
  const { proxy, tunnels } = createTunnelProxy(store);
  for (const server of [store, proxy]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const httpClient = createHttpClient({ httpsProxy: `http://127.0.0.1:${portOf(proxy)}` });
  const { call } = callerAt('https://store.test.invalid', { httpClient });
  await call(listMultipartUploads, { bucket: 'backups' }, { signal: never });
  expect(tunnels).toEqual(['backups.store.test.invalid:443']);
  await httpClient.close();
  store.closeAllConnections();
  for (const server of [store, proxy]) server.close();
});

describe('the host', () => {
  const cloud: Cloud = {
    account: 'default',
    region: 'eu-1',
    keys: fixedKeys({ accessKeyId: 'AK', secretAccessKey: 'sk' }),
    endpoints: {
      storage: 'https://s3.{region}.example.com:8443/base/',
      catalog: 'https://catalog.example',
      devops: undefined,
    },
    signingServices: { storage: 's3', catalog: 'catalog', devops: 'devops' },
    storageHeaders: 'amz',
    storageStyle: 'virtual',
  };
  const storage = { service: 'storage' };
  const endpointOf = (path: string, more: Partial<Cloud> = {}) =>
    resolveEndpoint({ ...cloud, ...more }, storage, undefined, path);

  test.each(['abc', 'a-b-c', '123', 'a'.repeat(63), 'x--y'])('begins with the bucket %s', (bucket) => {
    const endpoint = endpointOf(`/${bucket}/key`);
    expect(endpoint).toMatchObject({ origin: `https://${bucket}.s3.eu-1.example.com:8443`, bucketInHost: bucket });
    expect(wireRequest(listParts, { path: `/${bucket}/k/../x` }, { ...endpoint, pathPrefix: '' }).path).toBe('/k/../x');
    expect(wireRequest(listParts, { path: `/${bucket}` }, endpoint)).toMatchObject({ path: '/base/' });
  });

  test.each([
    'ab',
    'a'.repeat(64),
    'a.b',
    'evil.example',
    'Abc',
    'a_b',
    '-ab',
    'ab-',
    '%2E%2E',
    'a%2Fb',
    'ab@c',
    'ab:1',
    '..',
  ])('never begins with the bucket %s, and nothing is sent', (bucket) => {
    const refused = { constructor: Refusal, code: 'InvalidArguments', problems: [expect.stringMatching(/^bucket: /)] };
    expect(() => endpointOf(`/${bucket}/key`)).toThrow(expect.objectContaining(refused));
    expect(endpointOf(`/${bucket}/key`, { storageStyle: 'path' }).origin).toBe('https://s3.eu-1.example.com:8443');
  });

  test('is the configured one for the list of buckets, and for other APIs', () => {
    expect(endpointOf('/')).not.toHaveProperty('bucketInHost');
    expect(resolveEndpoint(cloud, { service: 'catalog' }, undefined, '/v1/x').origin).toBe('https://catalog.example');
  });

  test('stays that of the call: another bucket is refused', () => {
    const endpoint = endpointOf('/backups/key');
    for (const path of ['/other/key', '/backups2/key', '/', '/backups-/'])
      expect(() => wireRequest(listParts, { path }, endpoint)).toThrow(Refusal);
  });

  test('cannot be an IP address', () => {
    const endpoints = { ...cloud.endpoints, storage: 'https://192.0.2.7' };
    expect(() => endpointOf('/backups', { endpoints })).toThrow(expect.objectContaining({ code: 'NotConfigured' }));
  });

  test('differs by bucket, and so does the request that a repetition is recognised by', () => {
    expect(endpointOf('/backups/k').origin).not.toBe(endpointOf('/archive/k').origin);
  });
});
