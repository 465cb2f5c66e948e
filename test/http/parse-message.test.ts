import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hasMoreValuesThan, parseMessage } from '../../src/http/parse-message.js';

/** The elements, fields and containers of a value. */
const count = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Math.max(1, Object.values(value).length) +
      Object.values(value).reduce<number>((sum, inner) => sum + containers(inner), 0)
    : 0;
const containers = (value: unknown): number => (typeof value === 'object' && value !== null ? count(value) : 0);

test('the values of any JSON are counted, whatever its strings hold', () => {
  const given = fc.jsonValue({ stringUnit: fc.constantFrom('"', '\\', ',', '[', '{', 'a', '\u00e9', '\n') });
  fc.assert(
    fc.property(given, fc.constantFrom(0, 1), (value, indent) => {
      const json = Buffer.from(JSON.stringify(value, null, indent));
      expect(hasMoreValuesThan(count(value), json)).toBe(false);
      if (count(value) > 0) expect(hasMoreValuesThan(count(value) - 1, json)).toBe(true);
    }),
  );
});

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

test.each([
  ['{"method":"tools/call","params":null}', /params must be an object/],
  ['{"method":"tools/call","params":[]}', /params must be an object/],
  ['{"method":"tools/call","params":{"arguments":{"a":1,"__proto__":{"b":2}}}}', /__proto__: is not an argument/],
  ['{"method":"tools/call","params":{"arguments":{"tags":[{"__proto__":"b"}]}}}', /__proto__: is not an argument/],
])('%s is refused, because the SDK would ignore it or drop a part of it', (body, message) => {
  const problem = expect.objectContaining({ status: 400, message: expect.stringMatching(message) });
  expect(() => parseMessage(Buffer.from(body))).toThrow(problem);
});

test('arguments without a hidden name are parsed', () => {
  const body = '{"method":"tools/call","params":{"arguments":{"constructor":1}}}';
  expect(parseMessage(Buffer.from(body))).toEqual(JSON.parse(body));
});
