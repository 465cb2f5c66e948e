import { expect, test } from 'vitest';
import * as z from 'zod';
import { readRecord } from '../../src/results/record.js';

const schema = z.object({
  name: z.string(),
  count: z.int(),
  on: z.boolean(),
  tags: z.array(z.string()),
  inner: z.object({ note: z.string().optional() }),
});
const complete = { name: 'n', count: 1, on: true, tags: ['a'], inner: {} };
const json = { fromText: false };

test('a complete answer is read as it is, without a warning', () => {
  expect(readRecord(schema, complete, json)).toEqual({ record: complete, warnings: [] });
});

test('unknown fields stay, wherever they are', () => {
  const answer = { ...complete, extra: { deep: [1] }, inner: { more: 2 } };
  expect(readRecord(schema, answer, json)).toEqual({ record: answer, warnings: [] });
});

test('an expected field that is missing is a warning, an optional one is not', () => {
  const { name: _, ...rest } = complete;
  expect(readRecord(schema, rest, json)).toEqual({ record: rest, warnings: ['The answer has no name.'] });
});

test.each([
  ['count', '7', 7],
  ['name', 5, '5'],
  ['on', 'false', false],
])('an odd type that loses nothing is converted and said so: %s %j', (field, given, read) => {
  const reading = readRecord(schema, { ...complete, [field]: given }, json);
  expect(reading.record).toEqual({ ...complete, [field]: read });
  expect(reading.warnings).toHaveLength(1);
});

test.each([
  ['count', 'seven'],
  ['count', 1.5],
  ['count', 2 ** 53],
  ['count', null],
  ['name', { a: 1 }],
  ['name', null],
  ['on', 'maybe'],
  ['tags', 'a'],
  ['tags', { 0: 'a' }],
  ['inner', 'x'],
  ['inner', []],
])('what cannot be converted is left out and quoted in a warning: %s %j', (field, given) => {
  const { record, warnings } = readRecord(schema, { ...complete, [field]: given }, json);
  expect(record).not.toHaveProperty(field);
  expect(warnings).toEqual([expect.stringMatching(`^${field} in the answer is ".*", not .*; it was left out\\.$`)]);
});

test('in XML everything is text: numbers and booleans are read without a warning, numbers past 2^53 are not wrapped', () => {
  const text = { name: '007', count: '42', on: 'true', tags: [], inner: '' };
  expect(readRecord(schema, text, { fromText: true })).toEqual({
    record: { name: '007', count: 42, on: true, tags: [], inner: {} },
    warnings: [],
  });
  const { record, warnings } = readRecord(schema, { ...text, count: '99999999999999999999' }, { fromText: true });
  expect(record).not.toHaveProperty('count');
  expect(warnings[0]).toContain('99999999999999999999');
});

test.each([undefined, null, 'x', 5, []])(
  'an answer that is no object at all is a warning, not an error: %j',
  (answer) => {
    const { record, warnings } = readRecord(schema, answer, json);
    expect(record).toEqual({});
    expect(warnings).toHaveLength(1);
  },
);

test('the number of warnings is bounded', () => {
  const { warnings } = readRecord(schema, { ...complete, tags: Array.from({ length: 500 }, () => null) }, json);
  expect(warnings).toHaveLength(21);
  expect(warnings.at(-1)).toBe('… and 480 more such problems');
});
