import { describe, expect, test, vi } from 'vitest';
import { truncateRecord } from '../../src/calls/read-record.js';

/** An answer that is too long for a model is cut between entries, and the warning counts them. */

const rows = Array.from({ length: 3000 }, (_, index) => ({ Key: `key-${index}`, ETag: 'e'.repeat(40), Size: index }));
const listIn = (record: object, name: string): readonly object[] => Object(record)[name];

describe('a long list', () => {
  const { record, warnings } = truncateRecord({ Contents: rows, Name: 'bucket', Prefix: 'a/' });
  const shown = listIn(record, 'Contents');

  test('has only whole entries', () => {
    expect(shown.length).toBeGreaterThan(100);
    expect(shown).toEqual(rows.slice(0, shown.length));
  });

  test('leaves room for the fields after it, in their order', () => {
    expect(Object.keys(record)).toEqual(['Contents', 'Name', 'Prefix']);
  });

  test('is followed by the number of entries that were left out', () => {
    expect(warnings.map(({ text }) => text)).toEqual([
      `The answer is too long to show: ${rows.length - shown.length} of 3000 entries of "Contents" were left out.`,
    ]);
  });

  test('is whole for a program', () => {
    const text = 'a'.repeat(9000);
    expect(truncateRecord({ Contents: rows, text }, [], true)).toEqual({
      record: { Contents: rows, text },
      warnings: [],
    });
  });
});

test('a token that is passed back is not cut', () => {
  const token = 't'.repeat(4000);
  expect(truncateRecord({ NextToken: token }, ['NextToken']).record).toEqual({ NextToken: token });
});

test('texts that are passed back are exact, also in a list', () => {
  const record = { Key: 'nb\u00a0sp', Keys: ['rl\u202eo'], Other: 'nb\u00a0sp', Others: [{ Key: 'tab\t' }] };
  const { record: shown } = truncateRecord(record, () => ['Key', 'Keys']);
  expect(shown).toEqual({ ...record, Other: 'nb\\u00a0sp' });
});

test('a text that is passed back, but is far too long, is cut like any other', () => {
  const text = `${'t'.repeat(20_000)}\u00a0`;
  expect(truncateRecord({ Policy: text }, ['Policy']).record).toEqual({
    Policy: `${'t'.repeat(2000)}… (20001 characters)`,
  });
  expect(truncateRecord({ Policy: text }, ['Policy'], true).record).toEqual({ Policy: text });
});

test('a list in a single entry is cut, and not left out with its entry', () => {
  const { record, warnings } = truncateRecord({ Groups: [{ Rows: rows }, { Rows: rows }], Notes: [{ a: 1 }] });
  const [group = {}, ...others] = listIn(record, 'Groups');
  expect(others).toEqual([]);
  expect(listIn(group, 'Rows').length).toBeGreaterThan(100);
  expect(warnings[0]?.text).toMatch(
    /^The answer is too long to show: \d+ of 3000 entries of "Rows", 1 of 2 entries of "Groups" and 1 of 1 entries of "Notes" were/,
  );
});

test('a torn entry that is left out does not count what was left out in it', () => {
  const entry = { Text: 'a'.repeat(1900), Rows: rows };
  const { warnings } = truncateRecord({ Groups: [{ Text: 'b' }, entry] });
  expect(warnings.map(({ text }) => text)).toEqual([
    'The answer is too long to show: 1 of 2 entries of "Groups" was left out.',
  ]);
});

test('a single field was left out, and not were', () => {
  const fields = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}`, 'a'.repeat(1990)]));
  const { warnings } = truncateRecord({ ...fields, last: 1 });
  expect(warnings.map(({ text }) => text)).toEqual(['The answer is too long to show: 1 field was left out.']);
});

test('the entries of lists with many different names are counted without a copy for each', () => {
  const lists = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`list-${index}`, [{ a: 1 }]]));
  const iterations = vi.spyOn(Map.prototype, Symbol.iterator);
  const { warnings } = truncateRecord(lists);
  const times = iterations.mock.calls.length;
  vi.restoreAllMocks();
  expect(warnings[0]?.text).toMatch(/, entries of \d+ other lists and 1 field were left out\.$/);
  expect(times).toBeLessThan(10);
});
