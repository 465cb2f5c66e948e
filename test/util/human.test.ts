import { expect, test } from 'vitest';
import { countText, humanBytes, humanDuration, listText, sentences } from '../../src/util/human.js';

test.each([
  [0, '0 bytes'],
  [1023, '1023 bytes'],
  [1024, '1.0 KiB'],
  [100663296, '96.0 MiB'],
  [5 * 1024 ** 4, '5.0 TiB'],
])('%i bytes are %s', (bytes, text) => expect(humanBytes(bytes)).toBe(text));

test.each([
  [0, '0 s'],
  [89, '89 s'],
  [90, '2 min'],
  [5430, '1 h 31 min'],
  [7_200, '2 h'],
  [200_000, '2 days 7 h'],
  [252_000, '2 days 22 h'],
  [15 * 86_400 + 50_000, '15 days'],
])('%i seconds are %s', (seconds, text) => expect(humanDuration(seconds)).toBe(text));

test.each([
  [0, '0 parts'],
  [1, '1 part'],
  [2, '2 parts'],
])('%i is %s', (count, text) => expect(countText(count, 'part')).toBe(text));

test.each([
  [[], ''],
  [['a'], 'a'],
  [['a', 'b'], 'a and b'],
  [['a', 'b', 'c'], 'a, b and c'],
])('%j is %s', (words, text) => expect(listText(words)).toBe(text));

test('sentences that do not apply are left out, others stay in their order', () => {
  expect(sentences('A.', false, 'B.')).toEqual(['A.', 'B.']);
});
