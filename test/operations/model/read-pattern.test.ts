import { expect, test } from 'vitest';
import { readPattern } from '../../../src/operations/model/read-pattern.js';

test.each([
  '^[a-z]+$',
  '^(arn:aws)?([a-z]{2}){3}$',
  '^arn:([^:]*):([^:]*):([^:]*):([^:]*):([^:]*):.*$',
  '^([a-z]+-)+[0-9]$',
  '^(\\d{1,3}\\.){3}\\d{1,3}$',
  '\\p{L}+',
  'a??b',
  '(?<name>x)+',
  '[(+]*',
  '\\(a+\\)',
  '(?=a*)b',
  '^\\(?tel:\\d+$',
  '^[(?a:]+$',
])('%s is checked', (pattern) => {
  expect(readPattern(pattern)).toMatchObject({ kind: 'checked' });
});

test.each([
  '(a+)+$',
  '(a|a)*',
  '^(a|a){24}$',
  '^((a|a)*)*$',
  '^(a*){24}$',
  '((a?)c?b)*',
  '(?:x{1,3}){2,}',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  `^${'a?'.repeat(30)}${'a'.repeat(30)}$`,
  '(?=(a+)+$)a',
  '(?<=(a+b)+)c',
  // The last part of a lookbehind is matched first.
  '^a{220}(?<=ca{200}(?:a|a){14})',
  '(\\u{61}*)*',
  '[^](a+)+[^]',
  '(?i:a)',
  '\\p{Print}',
  '[',
  'a'.repeat(1001),
])('%s is left to the cloud', (pattern) => {
  expect(readPattern(pattern)).toMatchObject({ kind: 'unchecked' });
});

test.each([
  ['^a*$', 2_000_000],
  ['^a*b*$', 3000],
  ['^a*b*c*d*$', 50],
  // The second alternative may begin at every position.
  ['^a$|[ab]*b$', 2000],
  // A reference is compared with a text of any length.
  ['^(a*)\\1$', 2000],
  // The "-" can only be where the letters end, so there is one way to match.
  ['^[a-z]+-[a-z]+-[a-z]+-$', 500_000],
])('the more ways %s can match, the shorter the texts that are checked', (pattern, length) => {
  const read = readPattern(pattern);
  const isAllowed = (text: string) => read.kind === 'checked' && read.allows(text);
  expect(isAllowed('!'.repeat(length / 4))).toBe(false);
  expect(isAllowed('!'.repeat(length))).toBe(true);
});
