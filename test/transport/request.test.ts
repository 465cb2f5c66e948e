import { expect, test } from 'vitest';
import type { ApiRequest } from '../../src/tools/define-operation.js';
import { json, plainText } from '../../src/tools/request-body.js';
import { encodeContent, encodeRequest } from '../../src/transport/request.js';

test.each([
  ['no content', undefined, undefined, {}],
  ['JSON', json({ a: 'ü', b: undefined }), '{"a":"ü"}', { 'content-type': 'application/json' }],
  [
    'JSON with its MD5',
    json({}, { contentMd5: true }),
    '{}',
    { 'content-type': 'application/json', 'content-md5': 'mZFLkyvTelC5g8XnyQrpOw==' },
  ],
  ['text', plainText('a\n'), 'a\n', { 'content-type': 'text/plain; charset=utf-8' }],
] as const)('%s has its headers', (_what, body, text, headers) => {
  expect(encodeContent(body)).toEqual({ text, headers });
});

/** Headers that are chosen belong to the idempotency key; those that follow from the body do not. */
test.each<readonly [string, ApiRequest, Record<string, string>, Record<string, string> | undefined]>([
  ['no headers', { path: '/' }, {}, undefined],
  ['the usual type', { path: '/', body: json({}) }, { 'content-type': 'application/json' }, undefined],
  [
    'the usual type, said once more',
    { path: '/', body: json({}, { contentType: 'application/json' }), headers: { 'Content-Type': 'application/json' } },
    { 'content-type': 'application/json' },
    undefined,
  ],
  [
    'another type of the body',
    { path: '/', body: json({}, { contentType: 'application/x-amz-json-1.1' }) },
    { 'content-type': 'application/x-amz-json-1.1' },
    { 'content-type': 'application/x-amz-json-1.1' },
  ],
  [
    'headers of the operation',
    { path: '/', body: json({}), headers: { 'X-Amz-Target': 'TrentService.EnableKey', empty: '' } },
    { 'content-type': 'application/json', 'x-amz-target': 'TrentService.EnableKey', empty: '' },
    { 'x-amz-target': 'TrentService.EnableKey', empty: '' },
  ],
])('%s', (_what, request, headers, chosen) => {
  const encoded = encodeRequest('POST', request, { pathPrefix: '' });
  expect(encoded.headers).toEqual(headers);
  expect(encoded.chosenHeaders).toEqual(chosen);
});

test.each(['a\nb', 'ü', ' a', 'a ', '\u0000'])('a header cannot hold %j', (value) => {
  const encode = () => encodeRequest('GET', { path: '/', headers: { a: value } }, { pathPrefix: '' });
  expect(encode).toThrow(new TypeError('the header a cannot hold this text'));
});

test('a query parameter that is undefined is left out', () => {
  const { target, query } = encodeRequest(
    'GET',
    { path: '/', query: { limit: '1', token: undefined } },
    { pathPrefix: '' },
  );
  expect([target, query]).toEqual(['/?limit=1', { limit: '1' }]);
});
