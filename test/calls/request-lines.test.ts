import { describe, expect, test } from 'vitest';
import { requestLines } from '../../src/calls/result-text.js';

/** A request as lines that a person reviews. */

const request = { method: 'POST', url: 'https://api.example.com/v1/instances:restore', headers: {} };
const linesFor = (more: object) => requestLines({ ...request, ...more }).map(({ text }) => text);

test('method and URL come first, then each header', () => {
  expect(linesFor({ headers: { 'content-type': 'text/xml', 'x-amz-date': 'the time of sending' } })).toEqual([
    'POST https://api.example.com/v1/instances:restore',
    'content-type: text/xml',
    'x-amz-date: the time of sending',
  ]);
});

describe('the body', () => {
  const bodyLines = (body: unknown) => linesFor({ body }).slice(1);

  test.each<readonly [string, unknown, readonly string[]]>([
    ['an object, as indented JSON', { a: { b: 1 } }, ['{', '  "a": {', '    "b": 1', '  }', '}']],
    ['a list, as indented JSON', ['a'], ['[', '  "a"', ']']],
    ['null', null, ['null']],
    ['a text, line by line as it is', '<Rule>\n  <ID>"one"</ID>\n</Rule>', ['<Rule>', '  <ID>"one"</ID>', '</Rule>']],
    ['a text, with the spaces at its start', '  a', ['  a']],
    ['a text, without the line feeds and spaces at its end', 'a\nb \n\n', ['a', 'b']],
    ['an invisible character, escaped', 'a\u202eb', ['a\\u202eb']],
    ['none, with no line', undefined, []],
  ])('is %s', (_what, body, lines) => {
    expect(bodyLines(body)).toEqual(lines);
  });
});

test('no value can add a line', () => {
  expect(linesFor({ url: 'https://api.example.com/\na', headers: { a: 'b\nc' }, body: { d: 'e\nf' } })).toEqual([
    'POST https://api.example.com/\\na',
    'a: b\\nc',
    '{',
    '  "d": "e\\nf"',
    '}',
  ]);
});
