import { expect, test } from 'vitest';
import { createLastingRecords } from '../../src/calls/lasting-records.js';

test('the record that was used least recently is dropped first', () => {
  const records = createLastingRecords(2);
  records.keep('a', { part: { value: 1 }, witness: undefined });
  records.keep('b', { part: { value: 2 }, witness: undefined });
  expect(records.get('a')).toEqual({ part: { value: 1 }, witness: undefined });
  records.keep('c', { part: { value: 3 }, witness: undefined });
  expect([records.get('a'), records.get('b'), records.get('c')]).toEqual([
    { part: { value: 1 }, witness: undefined },
    undefined,
    { part: { value: 3 }, witness: undefined },
  ]);
});
