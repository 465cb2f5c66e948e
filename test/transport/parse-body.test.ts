import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseBody } from '../../src/transport/parse-body.js';
import { anyText } from '../support/any-text.js';
import { runs } from '../support/runs.js';

const xml = (text: string) => {
  const body = parseBody(text);
  return body.kind === 'xml' ? body.value : body;
};

describe('XML', () => {
  test('namespaces, declaration and attributes are dropped; repeated elements are a list', () => {
    expect(xml('<?xml version="1.0"?>\n<n:A xmlns:n="u" x="1"><n:B>1</n:B><B>2</B><C/></n:A>\n')).toEqual({
      A: { B: ['1', '2'], C: '' },
    });
  });

  test('the five entities and character references are resolved once, and nothing else', () => {
    expect(xml('<A>&lt;&gt;&amp;&quot;&apos; &#65;&#x1F600;&#x01; &amp;lt; &nbsp; &#x110000;</A>')).toEqual({
      A: '<>&"\' A😀\u0001 &lt; &nbsp; &#x110000;',
    });
  });

  test.each([
    ['cut short', '<A><B>1</B>'],
    ['an element without an end in the middle', '<A><B>1 B><C>2</C></A>'],
    ['badly nested', '<A><B></A></B>'],
    ['with a document type', '<!DOCTYPE A [<!ENTITY x "y">]><A>&x;</A>'],
    ['with an external entity', '<!DOCTYPE A [<!ENTITY x SYSTEM "file:///etc/passwd">]><A>&x;</A>'],
    ['with more than 150,000 tags', `<A>${'<B/>'.repeat(150_000)}</A>`],
    ['with more than 200,000 references', `<A>${'&#65;'.repeat(200_001)}</A>`],
    ['with more than 200,000 attributes', `<A ${Array.from({ length: 200_001 }, (_, at) => `a${at}=""`).join(' ')}/>`],
    ['nested 10,000 deep', '<A>'.repeat(10_000) + '</A>'.repeat(10_000)],
    ['that would reach into prototypes', '<__proto__><polluted>1</polluted></__proto__>'],
  ])('XML %s is malformed, not an exception', (_what, text) => {
    expect(parseBody(text)).toMatchObject({ kind: 'malformed', format: 'XML' });
    expect({}).not.toHaveProperty('polluted');
  });
});

test.each([
  ['', { kind: 'empty' }],
  [' \n', { kind: 'empty' }],
  ['\uFEFF{"a":1}', { kind: 'json', value: { a: 1 } }],
  ['[1]', { kind: 'json', value: [1] }],
  ['{"a":', { kind: 'malformed', format: 'JSON' }],
  ['<!DOCTYPE html><html></html>', { kind: 'html' }],
  ['<HTML><body>x<br></HTML>', { kind: 'html' }],
  ['upstream failed', { kind: 'text', text: 'upstream failed' }],
  ['x'.repeat(100_000), { kind: 'text', text: 'x'.repeat(20_000) }],
])('%j is recognised by its content', (text, expected) => {
  expect(parseBody(text)).toMatchObject(expected);
});

describe('XML of elements and text, which is read without the parser', () => {
  const list = (content: string) => `<List><Name>n</Name>${content}<End>e</End></List>`;

  test.each([
    ['in the frame', '<Row><A>1</A></Row><Name>n'],
    ['in a row', '<Row><A>1</A><B>2</Row>'],
    ['in a row that holds more than text', '<Row><A><B>1</A></Row>'],
    ['of a row', '<Row><A>1</A><Row><A>2</A></Row>'],
    ['of the last row', '<Row><A>1</A></Row><Row><A>2</A>'],
    ['of a reference', '<Row><A>a&b</A></Row>'],
    ['of an inner element', '<Row><A><B>1</B></Row></A>'],
    ['of a name that is none', '<Row><1a>1</1a></Row>'],
    ['of a name that sets a prototype', '<Row><__proto__>1</__proto__></Row>'],
    ['of such a name that holds others', '<Row><__proto__><A>1</A></__proto__></Row>'],
    ['of a name in other letters', '<Row><A>1</a></Row>'],
    ['of another document', '<Row><A>1</A></Row></List><List><A>1</A>'],
  ])('an end that is missing %s is seen', (_where, content) => {
    expect(parseBody(list(content))).toMatchObject({ kind: 'malformed' });
    expect(parseBody(list(`${content}<!---->`))).toMatchObject({ kind: 'malformed' });
  });
});

/** Names of Object's own are names like any other, but for `__proto__`. */
const names = ['A', 'B', 'a', 'Row', 'x-1', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'];
const textPieces = ['1', ' ', '\n', '\r\n', '&amp;', '&#65;', '&#x41;', '&b;', '>', '"', 'é', '\u0001'];

/** The text of a piece as a reader should understand it. */
const understood = (piece: string) =>
  new Map([
    ['\r\n', '\n'],
    ['&amp;', '&'],
    ['&#65;', 'A'],
    ['&#x41;', 'A'],
  ]).get(piece) ?? piece;

interface Written {
  readonly xml: string;
  readonly value: unknown;
}

test('any element of elements, text and CDATA is read as what it says, with the parser and without', () => {
  const text = fc
    .array(fc.constantFrom(...textPieces), { minLength: 1 })
    .map((pieces) => ({ xml: pieces.join(''), value: pieces.map(understood).join('') }));
  const data = fc
    .array(fc.constantFrom('1', ' ', '\n', '<', '<A>', '</A>', '&amp;', '&', '"', ']]', 'é'))
    .map((pieces) => ({ xml: `<![CDATA[${pieces.join('')}]]>`, value: pieces.join('') }));
  const leaf = fc.array(fc.oneof({ weight: 3, arbitrary: text }, data), { maxLength: 3 }).map((pieces) => ({
    xml: pieces.map(({ xml }) => xml).join(''),
    value: pieces.map(({ value }) => value).join(''),
  }));
  const { content } = fc.letrec<{ content: Written; elements: Written }>((tie) => ({
    content: fc.oneof({ maxDepth: 4 }, leaf, tie('elements')),
    elements: fc
      .array(fc.tuple(fc.constantFrom(...names), tie('content')), { minLength: 1, maxLength: 4 })
      .map((elements) => ({
        xml: elements.map(([name, { xml }]) => `<${name}>${xml}</${name}>`).join('\n'),
        value: Object.fromEntries(
          elements.map(([name]) => {
            const values = elements.filter(([other]) => other === name).map(([, { value }]) => value);
            return [name, values.length === 1 ? values[0] : values];
          }),
        ),
      })),
  }));
  fc.assert(
    fc.property(fc.constantFrom(...names), content, (root, { xml, value }) => {
      const expected = { kind: 'xml', value: { [root]: value } };
      expect(parseBody(`<${root}>${xml}</${root}>`)).toEqual(expected);
      expect(parseBody(`<${root}>${xml}</${root}><!---->`)).toEqual(expected);
    }),
    { numRuns: runs(3000) },
  );
});

test('whatever the elements and texts, they are read as by the parser', () => {
  const name = fc.constantFrom(...names, '__proto__', '1a', 'n:A');
  const text = fc.array(fc.constantFrom(...textPieces, '&', ']]>', '<![CDATA[<A>]]>')).map((pieces) => pieces.join(''));
  const { document } = fc.letrec<{ document: string; content: string }>((tie) => ({
    content: fc.oneof(
      { maxDepth: 4 },
      text,
      fc.array(tie('document'), { maxLength: 4 }).map((all) => all.join('\n')),
    ),
    document: fc
      .tuple(name, fc.constantFrom('', ' xmlns="u"', ' b="1"', ' '), tie('content'), fc.option(name, { freq: 20 }))
      .map(([start, attributes, content, end]) => `<${start}${attributes}>${content}</${end === 'A' ? end : start}>`),
  }));
  const declaration = fc.constantFrom(
    '',
    '<?xml version="1.0"?>',
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    '<?xml?>',
  );
  const after = fc.constantFrom('', '', '\n', 'x', '<A>1</A>');
  fc.assert(
    fc.property(declaration, document, after, (before, written, behind) => {
      const given = `${before}${written}${behind}`;
      expect(parseBody(given)).toEqual(parseBody(`${given}<!---->`));
    }),
    { numRuns: runs(3000) },
  );
});

test('no input of any kind throws or hangs', () => {
  const pieces = fc.constantFrom(
    '<',
    '>',
    '/',
    '<a>',
    '</a>',
    '&',
    '&#',
    ';',
    '<![CDATA[',
    ']]>',
    '<!--',
    '-->',
    '<?',
    '?>',
    '"',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    'null',
    '\u0000',
    '\ud800',
    'é',
    '<!DOCTYPE',
    '<__proto__>',
    '=',
    ' ',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        anyText(),
        fc.array(pieces, { maxLength: 60 }).map((list) => list.join('')),
      ),
      (text) => {
        expect(parseBody(text)).toHaveProperty('kind');
      },
    ),
    { numRuns: runs(10_000) },
  );
});
