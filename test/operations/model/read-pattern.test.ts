import { expect, test } from 'vitest';
import { readPattern } from '../../../src/operations/model/read-pattern.js';

test.each(['^[a-z]+$', '^(arn:aws)?([a-z]{2}){3}$', '\\p{L}+', 'a??b', '(?<name>x)+', '[(+]*', '\\(a+\\)'])(
  '%s is read',
  (pattern) => {
    expect(readPattern(pattern)).toMatchObject({ kind: 'expression' });
  },
);

test.each([
  '(a+)+$',
  '(a|a)*',
  '((a?)b)*',
  '(?:x{1,3}){2,}',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '\\p{Print}',
  '[',
  'a'.repeat(1001),
])('%s is left to the cloud', (pattern) => {
  expect(readPattern(pattern)).toMatchObject({ kind: 'unchecked' });
});

/** Each repetition multiplies the time that a match may take. */
test('the more repetitions, the shorter the texts that are matched', () => {
  const longest = ['^a*$', '^a*b*$', '^a*b*c*$', '^a*b*c*d*$'].map((pattern) => {
    const read = readPattern(pattern);
    return read.kind === 'expression' ? read.longestText : 0;
  });
  expect(longest).toEqual([...longest].sort((a, b) => b - a));
  expect(longest[3]).toBeGreaterThan(63);
});
