import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ResolvedChange } from '../../src/calls/resolved-call.js';
import { requestDigest, requestKey } from '../../src/changes/stored-call.js';
import { loadOperationFiles } from '../../src/cli/load-operation-files.js';
import { fixedKeys, type KeySource } from '../../src/signing/keys.js';
import type { ApiRequest, HttpMethod, Operation } from '../../src/tools/define-operation.js';
import { json } from '../../src/tools/request-body.js';
import { encodeRequest } from '../../src/transport/request.js';
import { http, member, smallModelJson } from '../models/small-model.js';
import { callOf, endpoint, keysOf } from '../support/planned-call.js';

/** The key by which the same change is recognised, and the digest of exactly what was shown. */

const input = { backupId: 'a'.repeat(32), instanceId: 'one' };
/** The request of `input`, some of it replaced. */
const requestFor = (more: Partial<ApiRequest>, method: HttpMethod = 'POST') =>
  encodeRequest(method, { path: '/v1/instances:restore', body: json(input), ...more }, endpoint);

/** The format is frozen: a server that made another key would forget what an older one sent. */
describe('the key of a built-in operation', () => {
  const source = (id: string): KeySource => ({ ...fixedKeys({ accessKeyId: 'A', secretAccessKey: 's' }), id });
  const place = {
    ...endpoint,
    origin: 'https://devops.example.com',
    pathPrefix: '/v1',
    account: 'default',
    keys: source('key AKIDTEST'),
  };
  const request: ApiRequest = { path: '/instances:restore', body: json({ instanceId: 'i-1', backupId: 'b-1' }) };
  const { operation } = callOf(input);
  const keyOf = (more: Partial<typeof place> = {}, asked: Partial<ApiRequest> = {}, method: HttpMethod = 'POST') => {
    const sent = encodeRequest(method, { ...request, ...asked }, place);
    return requestKey({ operation, endpoint: { ...place, ...more }, request: sent });
  };

  test.each<readonly [string, Partial<typeof place>, Partial<ApiRequest>, HttpMethod, string]>([
    [
      'the account of the environment',
      {},
      {},
      'POST',
      'f91004ec3b688db93f982b6fa63e97b25bdf1a9c5ceb582d56cdd3ff5f53c2d7',
    ],
    [
      'a named account whose keys are in a file',
      { account: 'prod', keys: source('file /run/keys/id') },
      {},
      'POST',
      'c297240a6dc88fca5a31ad13c9780b7d1494cdfef76bb2ce54465b1bad3d24ca',
    ],
    [
      'a profile',
      { account: 'prod', keys: source('profile prod') },
      {},
      'POST',
      '4ed439ff7fa416f2b272ce970dd2e442519a1a63f344f877ef21b5502d299328',
    ],
    [
      'a request of an empty object, with a query',
      {},
      { query: { uploadId: 'u 1' }, body: json({}) },
      'DELETE',
      '21109726f8bac0404c97129a024a56c75ba86ce7e71166b7adc53f1226b82150',
    ],
    [
      'a header that the operation chose',
      {},
      { headers: { 'X-Amz-Target': 'TrentService.EnableKey' } },
      'POST',
      '2e28c05f725c232f85c4489dee42695a2fafa852cf6d2bd7bba562da21e345fa',
    ],
  ])('is frozen: %s', (_what, more, asked, method, key) => {
    expect(keyOf(more, asked, method)).toBe(key);
  });

  test('is frozen: a request without a body', () => {
    const { body: _, ...bare } = request;
    const sent = encodeRequest('DELETE', bare, place);
    const key = '15f63cc2ac0fff39ec856fdee1bb78064bc33789be207868bc390f58b1b08778';
    expect(requestKey({ operation, endpoint: place, request: sent })).toBe(key);
  });

  test('is that of keys that were rotated in one place, and not of a profile with the name of a file', () => {
    const rotated = { ...fixedKeys({ accessKeyId: 'NEW', secretAccessKey: 't' }), id: place.keys.id };
    expect(keyOf({ keys: rotated })).toBe(keyOf());
    expect(keyOf({ keys: source('profile a') })).not.toBe(keyOf({ keys: source('file a') }));
  });

  test('differs by a header that the operation chose, and not by one that describes the body', () => {
    const withTarget = (name: string, value: string) => keyOf({}, { headers: { [name]: value } });
    const enable = withTarget('X-Amz-Target', 'TrentService.EnableKey');
    expect(withTarget('x-amz-target', 'TrentService.EnableKey')).toBe(enable);
    expect(new Set([enable, withTarget('x-amz-target', 'TrentService.DisableKey'), keyOf()]).size).toBe(3);
    expect(withTarget('content-type', 'application/json')).toBe(keyOf());
  });

  test('differs by method, address, body, account and keys, and not by arguments or the region', () => {
    const call = callOf(input);
    const others: ResolvedChange[] = [
      { ...call, request: requestFor({}, 'PUT') },
      { ...call, request: requestFor({ path: '/v1/other' }) },
      { ...call, request: requestFor({ query: { a: 'b' } }) },
      { ...call, request: requestFor({ body: json({ ...input, instanceId: 'two' }) }) },
      { ...call, endpoint: { ...endpoint, origin: 'https://other.example.com' } },
      { ...call, endpoint: { ...endpoint, account: 'other' } },
      { ...call, endpoint: { ...endpoint, keys: keysOf('AKIDOTHER') } },
    ];
    expect(new Set([call, ...others].map(requestKey)).size).toBe(8);
    const otherwise: ResolvedChange = { ...call, input: {}, regionSource: 'default' };
    expect(requestKey(otherwise)).toBe(requestKey(call));
  });
});

describe('the key of an operation from a model', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-key-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const strings = { target: 'smithy.api#String' };
  const protocols = ['restJson1', 'awsJson1_1', 'restXml', 'awsQuery', 'ec2Query'];
  const put: Record<string, Operation> = {};
  beforeAll(async () => {
    for (const protocol of protocols) put[protocol] = await operationOf(protocol);
  });

  /** An operation that takes members of all kinds, in a header and in the query if the protocol has such. */
  async function operationOf(protocol: string): Promise<Operation> {
    const shapes = {
      'small#Tags': { type: 'map', key: strings, value: strings },
      'small#Sizes': { type: 'list', member: { target: 'smithy.api#Integer' } },
      'small#Place': { type: 'structure', members: { Zone: strings, Rack: strings, Tags: { target: 'small#Tags' } } },
    };
    const model = smallModelJson(
      {
        PutThing: {
          input: {
            Name: member('String', { required: {} }),
            Note: member('String', { httpHeader: 'Note' }),
            Mode: member('String', { httpQuery: 'Mode' }),
            Kind: member('String', { httpQuery: 'Kind' }),
            Sizes: 'small#Sizes',
            Weight: 'Double',
            Place: 'small#Place',
            At: 'Timestamp',
            ...(protocol !== 'ec2Query' && { Tags: 'small#Tags' }),
            Token: member('String', { idempotencyToken: {} }),
          },
          traits: http('POST', '/things'),
        },
      },
      protocol === 'ec2Query'
        ? { ...shapes, 'small#Place': { type: 'structure', members: { Zone: strings, Rack: strings } } }
        : shapes,
      protocol,
    );
    writeFileSync(join(folder, `${protocol}-model.json`), JSON.stringify(model));
    const path = join(folder, `${protocol}.json`);
    const operations = { PutThing: { effect: 'alter', costsMoney: false } };
    writeFileSync(path, JSON.stringify({ model: `./${protocol}-model.json`, api: 'keys', prefix: 'kms', operations }));
    const {
      operations: [operation],
      problems,
    } = await loadOperationFiles(path);
    if (operation === undefined) throw new Error(problems.join());
    return operation;
  }

  const keyOf = async (protocol: string, args: Readonly<Record<string, unknown>>, token?: string) => {
    const operation = put[protocol];
    if (operation === undefined) throw new Error(`there is no ${protocol}`);
    const input = operation.input().parse({ Name: 'n', ...args });
    const request = encodeRequest('POST', await operation.request(input, undefined, token), endpoint);
    return requestKey({ operation, endpoint, request });
  };

  describe.each(protocols)('%s', (protocol) => {
    const maps =
      protocol === 'ec2Query'
        ? []
        : ([
            ['the order of a map', { Tags: { a: '1', b: '2' } }, { Tags: { b: '2', a: '1' } }],
            [
              'the order of a map inside',
              { Place: { Tags: { a: '1', b: '2' } } },
              { Place: { Tags: { b: '2', a: '1' } } },
            ],
          ] as const);
    test.each<readonly [string, object, object]>([
      ['the order of the arguments', { Mode: 'm', Kind: 'k', Weight: 1 }, { Weight: 1, Kind: 'k', Mode: 'm' }],
      [
        'the order of the fields of a structure',
        { Place: { Zone: 'z', Rack: 'r' } },
        { Place: { Rack: 'r', Zone: 'z' } },
      ],
      ['the form of a number', { Weight: 100 }, { Weight: 1e2 }],
      ['the form of a time', { At: '2026-11-20T12:00:00Z' }, { At: '2026-11-20T13:00:00.000+01:00' }],
      ...maps,
    ])('is the same whatever %s', async (_what, one, other) => {
      expect(await keyOf(protocol, { ...one })).toBe(await keyOf(protocol, { ...other }));
    });

    test('does not have the idempotency token that is added when it is sent', async () => {
      const plain = await keyOf(protocol, {});
      expect(await keyOf(protocol, {}, undefined)).toBe(plain);
      expect(await keyOf(protocol, {}, 'token')).not.toBe(plain);
    });

    test('is another one with other values, in another order of a list, and with an empty list', async () => {
      const all = [
        {},
        { Name: 'other' },
        { Note: 'a' },
        { Note: 'b' },
        { Mode: 'a' },
        { Kind: 'a' },
        { Sizes: [1, 2] },
        { Sizes: [2, 1] },
        { Weight: 1 },
        { Weight: 1.5 },
        { Place: { Zone: 'z' } },
        { At: '2026-11-20T12:00:00Z' },
        // EC2's protocol cannot write an empty list or map.
        ...(protocol === 'ec2Query' ? [] : [{ Sizes: [] }, { Tags: { a: '1' } }, { Tags: { a: '2' } }]),
      ];
      const keys = await Promise.all(all.map((args) => keyOf(protocol, args)));
      expect(keys.length - new Set(keys).size).toBe(0);
    });
  });
});

describe('the digest of a request', () => {
  const key = 'k'.repeat(32);
  const call = callOf({ ...input, networkConfig: { networkId: 'a', privateAddress: 'b' } });
  const digestFor = (one: ResolvedChange, secrets: readonly string[] = []) => requestDigest(one, secrets, key);

  test('is that of the operation, the request, the endpoint and the account', () => {
    const others: ResolvedChange[] = [
      { ...call, operation: { ...call.operation, name: 'other' } },
      { ...call, request: requestFor({}, 'PUT') },
      { ...call, request: requestFor({ path: '/v1/other' }) },
      { ...call, request: requestFor({ query: { a: 'b' } }) },
      { ...call, request: requestFor({ headers: { 'x-amz-target': 'a' } }) },
      { ...call, request: requestFor({ body: json({ ...input, instanceId: 'two' }) }) },
      ...['origin', 'region', 'service', 'account'].map((name) => ({
        ...call,
        endpoint: { ...endpoint, [name]: 'other' },
      })),
      { ...call, endpoint: { ...endpoint, keys: keysOf('AKIDOTHER') } },
      { ...call, regionSource: 'default' },
    ];
    const digests = [call, ...others].map((one) => digestFor(one));
    expect(new Set(digests).size).toBe(digests.length);
    for (const digest of digests) expect(digest).toMatch(/^[0-9a-f]{64}$/);
  });

  test('of a request with a secret cannot be guessed without the key', () => {
    const secrets = ['1234'];
    const keyed = digestFor(call, secrets);
    expect(keyed).not.toBe(digestFor(call));
    expect(keyed).not.toBe(requestDigest(call, secrets, 'x'.repeat(32)));
    const other = { ...call, request: requestFor({ body: json({ ...input, pin: '1235' }) }) };
    expect(digestFor(other, ['1235'])).not.toBe(keyed);
  });
});
