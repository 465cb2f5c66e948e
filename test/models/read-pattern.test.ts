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

test.each(['^a*b*c*$', '^a*$|c', '[ab]*b+$'])('%s is checked in texts of at most 250 characters', (pattern) => {
  const read = readPattern(pattern);
  const isAllowed = (text: string) => read.kind === 'checked' && read.allows(text);
  expect(isAllowed('!'.repeat(250))).toBe(false);
  expect(isAllowed('!'.repeat(251))).toBe(true);
});
