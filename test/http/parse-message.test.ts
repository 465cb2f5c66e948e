import { expect, test } from 'vitest';
import { parseMessage } from '../../src/http/mcp-endpoint.js';

const argumentsOf = (number: number) =>
  Buffer.from(JSON.stringify({ params: Object.fromEntries(Array.from({ length: number }, (_, index) => [index, 1])) }));

test.each([
  ['names', argumentsOf(5_000)],
  ['levels', Buffer.from(`{"a":${'['.repeat(5_000)}`)],
  ['levels that are no JSON', Buffer.from('{'.repeat(100_000))],
])('a message of more than 5,000 %s is refused before it is parsed', (_what, body) => {
  expect(() => parseMessage(body)).toThrow(expect.objectContaining({ status: 413, reason: 'values' }));
});

test('one of 4,999 names is parsed', () => {
  expect(Object.keys(parseMessage(argumentsOf(4_999)))).toEqual(['params']);
});

test('a message that is no request is refused with its ID, a code and a sentence', () => {
  const body = Buffer.from('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}');
  const answer = { jsonrpc: '2.0', id: 7, error: { code: -32600, message: 'params must be an object.' } };
  const refusal = { status: 400, answer };
  expect(() => parseMessage(body)).toThrow(expect.objectContaining(refusal));
});

test.each([
  ['not JSON', 'json'],
  ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 'batch'],
])('%s is refused', (body, reason) => {
  expect(() => parseMessage(Buffer.from(body))).toThrow(expect.objectContaining({ status: 400, reason }));
});

test('a byte order mark is skipped', () => {
  expect(parseMessage(Buffer.from('\uFEFF{"method":"ping"}'))).toEqual({ method: 'ping' });
});
