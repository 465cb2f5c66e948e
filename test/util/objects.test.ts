import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countValues } from '../../src/util/objects.js';

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
      expect(countValues(JSON.stringify(value, null, indent))).toBe(count(value));
    }),
  );
});

test('the tags of XML are counted', () => {
  expect(countValues(' <A><B>1,2,[3]</B><C/></A>')).toBe(5);
});

test.each(['[1,2,3,4,5,6,7,8,9]', '<A><B/><B/><B/><B/><B/></A>'])('the count of %s ends beyond the most', (text) => {
  expect(countValues(text, 3)).toBe(4);
});
