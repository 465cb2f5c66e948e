import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseBody } from '../../src/transport/parse-body.js';
import { writeXml } from '../../src/util/write-xml.js';

test('a document has one element a line, indented, with lists as repeated elements', () => {
  const rules = [
    { ID: 'a & b', Days: 7 },
    { ID: '<c>', Enabled: true, Days: undefined },
  ];
  expect(writeXml('Rules', { Rule: rules, Filter: {} }, 'http://s3.amazonaws.com/doc/2006-03-01/')).toBe(
    `<?xml version="1.0" encoding="UTF-8"?>
<Rules xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Rule>
    <ID>a &amp; b</ID>
    <Days>7</Days>
  </Rule>
  <Rule>
    <ID>&lt;c&gt;</ID>
    <Enabled>true</Enabled>
  </Rule>
  <Filter></Filter>
</Rules>
`,
  );
});

test.each([
  ['no name', { '': 'a' }],
  ['a name with a space', { 'a b': 'c' }],
  ['a name with markup', { 'a><b': 'c' }],
  ['a control character', { a: '\u0000' }],
  ['half of a surrogate pair', { a: '\ud83d' }],
])('what XML cannot hold is an error: %s', (_what, content) => {
  expect(() => writeXml('Root', content)).toThrow(TypeError);
});

test('every text is read as it was written', () => {
  const possible = fc
    .string({ unit: 'grapheme' })
    .filter((text) => !/[^\P{C}\t\n\r\p{Cf}\p{Co}\p{Cn}]|[\ufffe\uffff]/u.test(text));
  fc.assert(
    fc.property(possible, fc.array(possible, { minLength: 2, maxLength: 4 }), (one, several) => {
      const read = parseBody(writeXml('Root', { One: one, Several: several }));
      expect(read).toEqual({ kind: 'xml', value: { Root: { One: one, Several: several } } });
    }),
  );
});
