import aws4 from 'aws4';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkSignature } from '../../sandbox/signature.js';
import { operations } from '../../src/tools/index.js';
import { never, testCaller, testKeys } from '../support/caller.js';
import { type CapturedRequest, type CapturingServer, startServer } from '../support/http-server.js';

/** What each operation puts on the wire, and that a second implementation computes the same signature. */

let server: CapturingServer;
beforeAll(async () => {
  server = await startServer((_request, response) => response.writeHead(200).end());
});
afterAll(() => server.close());

const now = () => new Date('2026-11-20T12:34:56.789Z');
const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

async function wire(
  name: string,
  args: Record<string, unknown>,
  storageHeaders: 'ext' | 'amz' = 'ext',
): Promise<CapturedRequest> {
  const operation = operations.find((candidate) => candidate.name === name);
  if (operation === undefined) throw new Error(`no operation ${name}`);
  const { call, close } = testCaller(server.origin, { now, maximumAttempts: 1, cloud: { storageHeaders } });
  const result = await call(operation, args, { signal: never });
  await close();
  const request = server.requests.pop();
  if (request === undefined) throw new Error(`nothing was sent: ${result.text}`);
  return request;
}

const signatureOf = ({ headers }: CapturedRequest) => headers.authorization?.replace(/.*Signature=/, '');
const signedHeadersOf = ({ headers }: CapturedRequest) =>
  /SignedHeaders=([^,]*)/.exec(headers.authorization ?? '')?.[1];
const scopeOf = ({ headers }: CapturedRequest) => /Credential=([^,]*)/.exec(headers.authorization ?? '')?.[1];

/** The signature that aws4 computes for the request as it arrived. */
function aws4Signature({ method, url, headers, body }: CapturedRequest, service: string, region = 'jp-east-1') {
  const signed = Object.fromEntries(
    ['host', 'x-amz-date', 'x-amz-content-sha256', 'content-type'].flatMap((name) =>
      headers[name] === undefined ? [] : [[name, headers[name]]],
    ),
  );
  const request = {
    service,
    region,
    method,
    path: url,
    headers: signed,
    body,
    extraHeadersToIgnore: { 'content-length': true },
  };
  const { Authorization } = aws4.sign(request, testKeys).headers as Record<string, string>;
  return Authorization?.replace(/.*Signature=/, '');
}

describe('list_parts', () => {
  const args = { bucket: 'my-bucket', object: 'a b/c+d', uploadId: 'id~+/=' };

  test('sends a GET with the upload ID and no body', async () => {
    const request = await wire('list_parts', args);
    expect(request.method).toBe('GET');
    expect(request.url).toBe('/my-bucket/a%20b/c%2Bd?max-parts=1000&uploadId=id~%2B%2F%3D');
    expect(request.body).toBe('');
  });

  test('sends every optional parameter under its own name, and none that was not given', async () => {
    const request = await wire('list_parts', { ...args, encodingType: 'url', maxParts: '7', partNumberMarker: 0 });
    expect(request.url.split('?')[1]).toBe('encoding-type=url&max-parts=7&part-number-marker=0&uploadId=id~%2B%2F%3D');
  });

  test.each([
    ['a//b', '/my-bucket/a//b'],
    ['./x', '/my-bucket/./x'],
    ['../x', '/my-bucket/../x'],
    ['..', '/my-bucket/..'],
    ['/lead', '/my-bucket//lead'],
    ['trail/', '/my-bucket/trail/'],
    ["it's(1)!*", '/my-bucket/it%27s%281%29%21%2A'],
    ['a%20b', '/my-bucket/a%2520b'],
    ['%2e%2e/x', '/my-bucket/%252e%252e/x'],
    ['q?x#y&z=1', '/my-bucket/q%3Fx%23y%26z%3D1'],
    ['日本/ü', '/my-bucket/%E6%97%A5%E6%9C%AC/%C3%BC'],
    ['line\nbreak😀', '/my-bucket/line%0Abreak%F0%9F%98%80'],
  ])('key %j reaches the wire as %s', async (object, path) => {
    const request = await wire('list_parts', { ...args, object });
    expect(request.url.split('?')[0]).toBe(path);
  });

  test('signs host, x-ext-content-sha256 and x-ext-date, and nothing else, for service s3', async () => {
    const request = await wire('list_parts', args);
    expect(signedHeadersOf(request)).toBe('host;x-ext-content-sha256;x-ext-date');
    expect(request.headers).toMatchObject({ 'x-ext-content-sha256': emptySha256, 'x-ext-date': '20261120T123456Z' });
    expect(Object.keys(request.headers).sort()).toEqual([
      'authorization',
      'connection',
      'host',
      'x-ext-content-sha256',
      'x-ext-date',
    ]);
    expect(scopeOf(request)).toBe('AKIDTEST/20261120/jp-east-1/s3/aws4_request');
    const sent = { ...request, service: 'storage', body: Buffer.from(request.body) } as const;
    expect(checkSignature(sent, testKeys, now())).toBeUndefined();
  });

  test('with amz headers, aws4 computes the same signature', async () => {
    const request = await wire('list_parts', { ...args, object: "日本//../it's(1)!*" }, 'amz');
    expect(signedHeadersOf(request)).toBe('host;x-amz-content-sha256;x-amz-date');
    expect(signatureOf(request)).toBe(aws4Signature(request, 's3'));
  });

  test('region chooses the signature', async () => {
    expect(scopeOf(await wire('list_parts', { ...args, region: 'jp-west-2' }))).toContain('/jp-west-2/s3/');
  });
});

describe.each([
  {
    name: 'provision_kube_resource_group',
    service: 'catalog',
    args: {
      resourceGroupName: 'group 1%2f',
      resourceNamePrefix: 'abc',
      adminCluster: { name: 'adm', nodePools: [{ nodeCount: '2' }] },
    },
    url: '/catalog/v1/resource-groups/group%201%252f/kube:provision',
    body: { resourceNamePrefix: 'abc', adminCluster: { name: 'adm', nodePools: [{ nodeCount: 2 }] } },
  },
  {
    name: 'upgrade_kube_version',
    service: 'catalog',
    args: { resourceGroupName: 'gröup', clusterName: 'c:upgrade?x', version: '1.2.3' },
    url: '/catalog/v1/resource-groups/gr%C3%B6up/kube/clusters/c%3Aupgrade%3Fx:upgrade',
    body: { version: '1.2.3' },
  },
  {
    name: 'restore_instance',
    service: 'devops',
    args: { backupId: 'a'.repeat(32), instanceId: 'server-1', diskSize: '100', description: '復元 😀' },
    url: '/devops/v1/instances:restore',
    body: { backupId: 'a'.repeat(32), instanceId: 'server-1', diskSize: 100, description: '復元 😀' },
  },
])('$name', ({ name, service, args, url, body }) => {
  test('sends a POST with what was given and no default', async () => {
    const request = await wire(name, args);
    expect(request.method).toBe('POST');
    expect(request.url).toBe(url);
    expect(JSON.parse(request.body)).toEqual(body);
  });

  test('carries X-Amz-Date, Authorization and JSON, no content-sha256, and aws4 computes the same signature', async () => {
    const request = await wire(name, args);
    expect(Object.keys(request.headers).sort()).toEqual([
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
      'x-amz-date',
    ]);
    expect(request.headers).toMatchObject({ 'x-amz-date': '20261120T123456Z', 'content-type': 'application/json' });
    expect(scopeOf(request)).toBe(`AKIDTEST/20261120/jp-east-1/${service}/aws4_request`);
    expect(signatureOf(request)).toBe(aws4Signature(request, service));
  });
});

test('restore_instance: region chooses the signature and stays out of the body', async () => {
  const request = await wire('restore_instance', { backupId: 'a'.repeat(32), instanceId: 's', region: 'jp-west-1' });
  expect(scopeOf(request)).toContain('/jp-west-1/devops/');
  expect(JSON.parse(request.body)).toEqual({ backupId: 'a'.repeat(32), instanceId: 's' });
});
