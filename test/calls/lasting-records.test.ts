import { expect, test } from 'vitest';
import { createLastingRecords } from '../../src/calls/lasting-records.js';

test('the record that was used least recently is dropped first', () => {
  const records = createLastingRecords(2);
  records.keep('a', { value: 1 });
  records.keep('b', { value: 2 });
  expect(records.get('a')).toEqual({ value: 1 });
  records.keep('c', { value: 3 });
  expect([records.get('a'), records.get('b'), records.get('c')]).toEqual([{ value: 1 }, undefined, { value: 3 }]);
});
