import { expect, test } from 'vitest';
import { exampleArguments } from '../../../src/operations/model/example-arguments.js';
import { textsLikePattern } from '../../../src/operations/model/texts-like-pattern.js';

test.each([
  ['^farm-[0-9a-f]{4}$', 'farm-aaaa'],
  ['^(d-[0-9]{3}|wsd-[a-z]{3,5})$', 'd-111'],
  ['^(?:a(b|c)){2}-x?$', 'abab-x'],
  ['^[^a-z1]+\\.\\d*$', 'A.1'],
  ['^(?<name>x|y)(?=z)(?<!q)z\\b$', 'xz'],
  ['^\\p{L}[\\s]é[\\]]$', 'a é]'],
  ['^a|b$', 'a'],
  ['^\\u0061\\x62[\\u002F]$', 'ab/'],
  ['', ''],
])('a text for %s is %s', (pattern, text) => {
  const [first = 'none'] = textsLikePattern(pattern);
  expect(first).toBe(text);
  expect(first).toMatch(new RegExp(pattern, 'u'));
});

test('later texts repeat more, for a pattern whose text has a minimum length', () => {
  const lengths = [...textsLikePattern('^[a-z]+(-[a-z]{2,20})*$')].map(({ length }) => length);
  expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
  const limits = { min: 30, max: 50 };
  const rules = { kind: 'text', shape: 'Id', limits, pattern: '^id-[a-z]{10,60}-$' } as const;
  const id = { name: 'id', memberName: 'id', isRequired: true, isSensitive: false, documentation: '', rules };
  expect(exampleArguments([id])?.id).toMatch(/^id-[a-z]{10,60}-$/);
});

test('there is none for a pattern that is left to the cloud, and none is long', () => {
  expect([...textsLikePattern('(?i:a)')]).toEqual([]);
  expect([...textsLikePattern('[')]).toEqual([]);
  for (const text of textsLikePattern('^((a{2000}){1000}){1000}$')) expect(text.length).toBeLessThan(10_000);
  expect([...textsLikePattern('^(a)\\1$')][0]).toBe('a');
});
