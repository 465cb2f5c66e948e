import { expect, test } from 'vitest';
import { idempotencyKey } from '../../src/journal/idempotency-key.js';
import { fixedKeys, type KeySource } from '../../src/signing/keys.js';
import { apiProfile } from '../../src/signing/signature-variants.js';
import type { ApiRequest, HttpMethod } from '../../src/tools/define-operation.js';
import { encodeRequest } from '../../src/transport/request.js';

/** The key of a repetition is a frozen format: a server that made another one would forget what an older one sent. */

const source = (id: string): KeySource => ({ ...fixedKeys({ accessKeyId: 'A', secretAccessKey: 's' }), id });
const endpoint = {
  origin: 'https://devops.example.com',
  pathPrefix: '/v1',
  region: 'jp-east-1',
  service: 'devops',
  profile: apiProfile,
  account: 'default',
  keys: source('key AKIDTEST'),
};
const request: ApiRequest = {
  path: '/instances:restore',
  body: { kind: 'json', value: { instanceId: 'i-1', backupId: 'b-1' } },
};

test.each<readonly [string, Partial<typeof endpoint>, Partial<ApiRequest>, HttpMethod, string]>([
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
    { query: { uploadId: 'u 1' }, body: { kind: 'json', value: {} } },
    'DELETE',
    '21109726f8bac0404c97129a024a56c75ba86ce7e71166b7adc53f1226b82150',
  ],
])('%s', (_what, place, asked, method, key) => {
  const sent = encodeRequest(method, { ...request, ...asked }, endpoint);
  expect(idempotencyKey({ ...endpoint, ...place }, sent)).toBe(key);
});

test('a request without a body', () => {
  const { body: _, ...bare } = request;
  expect(idempotencyKey(endpoint, encodeRequest('DELETE', bare, endpoint))).toBe(
    '15f63cc2ac0fff39ec856fdee1bb78064bc33789be207868bc390f58b1b08778',
  );
});

test('keys that were rotated in one place sign the same change; the name of a profile is not that of a file', () => {
  const sent = encodeRequest('POST', request, endpoint);
  const rotated = { ...fixedKeys({ accessKeyId: 'NEW', secretAccessKey: 't' }), id: endpoint.keys.id };
  expect(idempotencyKey({ ...endpoint, keys: rotated }, sent)).toBe(idempotencyKey(endpoint, sent));
});

test('requests that differ only in a header that the operation chose are two changes', () => {
  const keyOf = (headers: ApiRequest['headers']) =>
    idempotencyKey(endpoint, encodeRequest('POST', { ...request, ...(headers && { headers }) }, endpoint));
  const enable = keyOf({ 'X-Amz-Target': 'TrentService.EnableKey' });
  expect(enable).toBe('2e28c05f725c232f85c4489dee42695a2fafa852cf6d2bd7bba562da21e345fa');
  expect(enable).toBe(keyOf({ 'x-amz-target': 'TrentService.EnableKey' }));
  expect(new Set([enable, keyOf({ 'X-Amz-Target': 'TrentService.DisableKey' }), keyOf(undefined)]).size).toBe(3);
  expect(keyOf({ 'content-type': 'application/json' })).toBe(keyOf(undefined));
});
