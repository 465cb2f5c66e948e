import { describe, expect, test } from 'vitest';
import { type Cloud, missingSettings, resolveEndpoint, wireRequest } from '../../src/calls/endpoint.js';
import { Refusal } from '../../src/calls/refusal.js';
import { fixedKeys } from '../../src/signing/keys.js';
import { apiProfile, s3Profile, storageProfile } from '../../src/signing/signature-variants.js';
import { listParts } from '../../src/tools/list-parts.js';
import { json } from '../../src/tools/request-body.js';
import { never, testCaller } from '../support/caller.js';
import { startServer } from '../support/http-server.js';

/** Where calls go, with what keys, and what is missing before they can. */

const keys = fixedKeys({ accessKeyId: 'AK', secretAccessKey: 'sk' });
const cloud: Cloud = {
  account: 'default',
  region: 'jp-east-1',
  keys,
  endpoints: {
    storage: 'https://storage.{region}.example/{region}/tenant//',
    catalog: 'https://catalog.example',
    devops: 'https://devops.example/',
  },
  signingServices: { storage: 's3', catalog: 'kube', devops: 'devops' },
  storageHeaders: 'ext',
};

describe('an endpoint', () => {
  test('has the region of the call in it, and no slash at its end', () => {
    expect(resolveEndpoint(cloud, { service: 'storage' }, 'jp-west-1')).toStrictEqual({
      origin: 'https://storage.jp-west-1.example',
      pathPrefix: '/jp-west-1/tenant',
      region: 'jp-west-1',
      service: 's3',
      profile: storageProfile,
      account: 'default',
      keys,
    });
    expect(resolveEndpoint(cloud, { service: 'devops' })).toMatchObject({ pathPrefix: '', region: 'jp-east-1' });
  });

  test.each(['RegionOne', 'a.evil.example', 'us_east', '..', 'a/b', 'a?b', 'a@b', 'A'])(
    'does not take the region %j into its host or path, wherever it is from',
    (region) => {
      const refused = (code: string) => expect.objectContaining({ code, problems: [expect.stringContaining(region)] });
      expect(() => resolveEndpoint(cloud, { service: 'storage' }, region)).toThrow(refused('InvalidArguments'));
      expect(() => resolveEndpoint({ ...cloud, region }, { service: 'storage' })).toThrow(refused('NotConfigured'));
    },
  );

  test('without {region} signs for any region', () => {
    expect(resolveEndpoint({ ...cloud, region: 'RegionOne' }, { service: 'devops' })).toMatchObject({
      origin: 'https://devops.example',
      region: 'RegionOne',
    });
  });

  test.each([
    ['storage', 'ext', 's3', storageProfile],
    ['storage', 'amz', 's3', s3Profile],
    ['catalog', 'ext', 'kube', apiProfile],
    ['devops', 'amz', 'devops', apiProfile],
  ] as const)(
    'of %s, with %s headers for storage, is signed as its API wants it',
    (api, storageHeaders, service, profile) => {
      expect(resolveEndpoint({ ...cloud, storageHeaders }, { service: api })).toMatchObject({ service, profile });
    },
  );

  test.each([
    ['s3', s3Profile],
    ['api', apiProfile],
    ['v2', { kind: 'v2' }],
    ['v3', { kind: 'v3' }],
  ] as const)('of another API is signed by its operations: %s', (variant, profile) => {
    const endpoints = { ...cloud.endpoints, billing: 'https://billing.example' };
    const operation = { service: 'billing', signing: { service: 'b', variant } };
    expect(resolveEndpoint({ ...cloud, endpoints }, operation)).toMatchObject({ service: 'b', profile });
  });

  test('of the sandbox says so', () => {
    expect(resolveEndpoint({ ...cloud, isSandbox: true }, { service: 'devops' })).toMatchObject({ isSandbox: true });
  });

  test.each<readonly [string, Partial<Cloud>, readonly string[]]>([
    ['its address', { endpoints: { ...cloud.endpoints, devops: undefined } }, ['CLOUDOPS_DEVOPS_URL']],
    ['the access key', { keys: { missing: ['CLOUDOPS_ACCESS_KEY_ID'] } }, ['CLOUDOPS_ACCESS_KEY_ID']],
    [
      'everything',
      {
        keys: { missing: ['CLOUDOPS_ACCESS_KEY_ID', 'CLOUDOPS_SECRET_ACCESS_KEY'] },
        endpoints: { storage: undefined, catalog: undefined, devops: undefined },
      },
      ['CLOUDOPS_DEVOPS_URL', 'CLOUDOPS_ACCESS_KEY_ID', 'CLOUDOPS_SECRET_ACCESS_KEY'],
    ],
  ])('is refused without %s, by the name of the setting', (_what, missing, names) => {
    const incomplete = { ...cloud, ...missing };
    expect(missingSettings(incomplete, 'devops')).toEqual(names);
    const refusal = {
      constructor: Refusal,
      code: 'NotConfigured',
      problems: names.map((name) => expect.stringMatching(new RegExp(`^${name} is not set$`))),
    };
    expect(() => resolveEndpoint(incomplete, { service: 'devops' })).toThrow(expect.objectContaining(refusal));
  });

  test('of an API that the sandbox does not have is refused, whatever is set', () => {
    const sandbox = { ...cloud, isSandbox: true };
    expect(() =>
      resolveEndpoint(sandbox, { service: 'billing', signing: { service: 'billing', variant: 'api' } }),
    ).toThrow(
      expect.objectContaining({
        code: 'NotConfigured',
        problems: [expect.stringMatching(/^the built-in sandbox has no API billing/)],
        more: {
          next: expect.objectContaining({ who: 'operator', text: expect.stringContaining('unset CLOUDOPS_SANDBOX') }),
        },
      }),
    );
  });

  test('of an API that the sandbox does not have is refused without advice to try the sandbox', () => {
    const incomplete = { ...cloud, endpoints: {} };
    expect(() => resolveEndpoint(incomplete, { service: 'billing' })).toThrow(
      expect.objectContaining({
        problems: [expect.stringContaining('CLOUDOPS_ENDPOINT_BILLING_URL')],
        more: { next: expect.objectContaining({ text: expect.not.stringContaining('SANDBOX') }) },
      }),
    );
  });
});

const devops = resolveEndpoint(cloud, { service: 'devops' });

test.each([
  ['JSON takes any', { body: json({ a: '\u0001' }) }, undefined],
  ['a header takes no line break', { headers: { a: 'b\nc' } }, /^arguments: cannot be sent, because \S/],
  ['no content takes none', {}, undefined],
])('text of a request: %s', (_what, content, problem) => {
  const encode = () => wireRequest(listParts, { path: '/', ...content }, devops);
  if (problem === undefined) expect(encode).not.toThrow();
  else
    expect(encode).toThrow(
      expect.objectContaining({ code: 'InvalidArguments', problems: [expect.stringMatching(problem)] }),
    );
});

/** An endpoint with a path is one of several behind one address. No object key leads out of it. */

const answer = '<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>';

async function list(object: string, prefix: string) {
  const server = await startServer((_request, response) => response.end(answer));
  const endpoints = { storage: server.origin + prefix, catalog: undefined, devops: undefined };
  const caller = testCaller(server.origin, { cloud: { endpoints } });
  const result = await caller.call(listParts, { bucket: 'b', object, uploadId: 'u' }, { signal: never });
  await caller.close();
  await server.close();
  return {
    code: result.ok ? 'ok' : result.failure.code,
    problems: result.ok ? [] : result.failure.problems,
    paths: server.requests.map(({ url }) => url.split('?')[0]),
  };
}

test.each(['..', '../x', 'x/..', 'a/../../b', '.', './x', 'a/./b', '/..', 'a/..//b'])(
  'the key %s is refused below a path, where a server that resolves it would leave the path',
  async (object) => {
    const refused = { code: 'InvalidArguments', problems: [expect.stringMatching(/^object: /)], paths: [] };
    expect(await list(object, '/tenant')).toEqual(refused);
    expect(await list(object, '/tenant/')).toEqual(refused);
    expect(await list(object, '')).toMatchObject({ code: 'ok', paths: [`/b/${object}`] });
  },
);

test.each([
  ['...', '...'],
  ['a..b', 'a..b'],
  ['..a', '..a'],
  ['%2e%2e', '%252e%252e'],
  ['..\\x', '..%5Cx'],
  ['a//b', 'a//b'],
])('the key %s has no dot segment and is sent as it is', async (object, sent) => {
  expect(await list(object, '/tenant')).toMatchObject({ code: 'ok', paths: [`/tenant/b/${sent}`] });
});
