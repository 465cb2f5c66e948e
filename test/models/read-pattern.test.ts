import { expect, test } from 'vitest';
import { readPattern } from '../../src/models/read-pattern.js';

test.each([
  '^[a-z]+$',
  '^(aws|aws-cn)-[a-z]{2}$',
  '^arn:[^:]*:iam::\\d{12}:role/[\\w+=,.@-]+$',
  '\\p{L}+',
  'a??b',
  '(?<name>x+)',
  '[(+]*',
  '[)]+',
  '\\(a+\\)+',
  '(?=a*)b',
  '^\\(?tel:\\d+$',
  '^[(?a:]+$',
])('%s is checked', (pattern) => {
  expect(readPattern(pattern)).toMatchObject({ kind: 'checked' });
});

const repeatsGroup = 'it repeats a group';
const takesLong = 'matching it can take very long';
const notReadable = 'JavaScript cannot read it';
test.each([
  ['(a+)+$', repeatsGroup],
  ['(a|a)*', repeatsGroup],
  ['^([a-z]{2}){3}$', repeatsGroup],
  ['(?:x{1,3}){2,}', repeatsGroup],
  ['(?=(a+)+$)a', repeatsGroup],
  ['(?<=(a+b)+)c', repeatsGroup],
  ['(\\u{61}*)*', repeatsGroup],
  ['[^](a+)+[^]', repeatsGroup],
  ['(b)?', repeatsGroup],
  [`^${'a?'.repeat(30)}${'a'.repeat(30)}$`, takesLong],
  [`^${'(a|a)'.repeat(30)}$`, takesLong],
  [`^${'a*'.repeat(8)}$`, takesLong],
  ['^(a*)\\1\\1\\1\\1\\1\\1$', takesLong],
  ['a{1000000}', takesLong],
  ['(?i:a)', notReadable],
  ['\\p{Print}', notReadable],
  ['[', notReadable],
  ['a'.repeat(1001), 'it has more than 1000 characters'],
])('%s is left to the cloud', (pattern, reason) => {
  expect(readPattern(pattern)).toEqual({ kind: 'unchecked', reason });
});

test.each([
  ['^a*$', 10_000_000],
  ['^a*b*$', 3000],
  ['^a*b*c*d*$', 50],
  // The second alternative may begin at every position.
  ['^a$|[ab]*b$', 2000],
  // A reference is compared with a text of any length.
  ['^(a*)\\1$', 2000],
])('the more ways %s can match, the shorter the texts that are checked', (pattern, length) => {
  const read = readPattern(pattern);
  const isAllowed = (text: string) => read.kind === 'checked' && read.allows(text);
  expect(isAllowed('!'.repeat(length / 4))).toBe(false);
  expect(isAllowed('!'.repeat(length))).toBe(true);
});
