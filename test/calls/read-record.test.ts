import { expect, test } from 'vitest';
import * as z from 'zod';
import { readRecord } from '../../src/calls/read-reply.js';

const schema = z.object({
  name: z.string(),
  count: z.int(),
  on: z.boolean(),
  tags: z.array(z.string()),
  inner: z.object({ note: z.string().optional() }),
});
const complete = { name: 'n', count: 1, on: true, tags: ['a'], inner: {} };

test('a complete answer is read as it is, without a warning', () => {
  expect(readRecord(schema, complete)).toEqual({ record: complete, warnings: [], missingFields: [] });
});

test('unknown fields stay, wherever they are', () => {
  const answer = { ...complete, extra: { deep: [1] }, inner: { more: 2 } };
  expect(readRecord(schema, answer)).toEqual({ record: answer, warnings: [], missingFields: [] });
});

test('an expected field that is missing is noted, an optional one is not', () => {
  const { name: _, ...rest } = complete;
  expect(readRecord(schema, rest)).toEqual({ record: rest, warnings: [], missingFields: ['name'] });
});

test.each([
  ['count', '7', 7],
  ['name', 5, '5'],
  ['on', 'false', false],
])('an odd type that loses nothing is converted and said so: %s %j', (field, given, read) => {
  const reading = readRecord(schema, { ...complete, [field]: given });
  expect(reading.record).toEqual({ ...complete, [field]: read });
  expect(reading.warnings).toHaveLength(1);
});

test.each<[string, unknown, string]>([
  ['count', 'seven', '"seven"'],
  ['count', 1.5, '"1.5"'],
  ['count', 2 ** 53, '"9007199254740992"'],
  ['on', 'maybe', '"maybe"'],
  // Of structures, only the kind is named, because they may hold a secret.
  ['name', { password: 'secret' }, 'an object'],
  ['tags', 'a', 'a text'],
  ['tags', { 0: 'a' }, 'an object'],
  ['inner', 'x', 'a text'],
  ['inner', ['secret'], 'a list'],
])('what cannot be converted is left out and named in a warning: %s %j', (field, given, shown) => {
  const { record, warnings } = readRecord(schema, { ...complete, [field]: given });
  expect(record).not.toHaveProperty(field);
  expect(warnings).toEqual([expect.stringMatching(`^${field} in the answer is ${shown}, not .*; it was left out\\.$`)]);
});

test('a number past 2^53 is not wrapped, and null is no value', () => {
  const given = { ...complete, count: '99999999999999999999', name: null };
  const { record, warnings, missingFields } = readRecord(schema, given);
  expect(record).toEqual({ on: true, tags: ['a'], inner: {} });
  expect(missingFields).toEqual(['name']);
  expect(warnings).toEqual(['count in the answer is "99999999999999999999", not a number; it was left out.']);
});

test.each([undefined, null, 'x', 5, []])(
  'an answer that is no object at all is a warning, not an error: %j',
  (answer) => {
    const { record, warnings } = readRecord(schema, answer);
    expect(record).toEqual({});
    expect(warnings).toHaveLength(1);
  },
);

test('the number of warnings is bounded', () => {
  const { warnings } = readRecord(schema, { ...complete, tags: Array.from({ length: 500 }, () => null) });
  expect(warnings).toHaveLength(21);
  expect(warnings.at(-1)?.text).toBe('480 more fields were odd.');
});
