import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeJson, everyInvisible, quote } from '../../src/util/quote.js';
import { anyText } from '../support/any-text.js';
import { runs } from '../support/runs.js';

test.each([
  ['plain', '"plain"'],
  ['say "no"\\', String.raw`"say \"no\"\\"`],
  ['a\r\n\tb', String.raw`"a\r\n\tb"`],
  ['\u0000\u001b[31m', String.raw`"\u0000\u001b[31m"`],
  ['\u202eabc\u2066', String.raw`"\u202eabc\u2066"`],
  ['a\u200bb\u200d\ufeff\u00ad', String.raw`"a\u200bb\u200d\ufeff\u00ad"`],
  ['tag \u{e0041}', String.raw`"tag \udb40\udc41"`],
  ['half \ud83d', String.raw`"half \ud83d"`],
  ['\u2028\u2029\u0085', String.raw`"\u2028\u2029\u0085"`],
  ['日本 ü e\u0301 😀', '"日本 ü e\u0301 😀"'],
])('%j is shown as %s', (text, shown) => {
  expect(quote(text)).toBe(shown);
});

test('text that is not cut is a JSON string literal: pasted, it means the same', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 100 }), (text) => {
      expect(JSON.parse(quote(text))).toBe(text);
    }),
    { numRuns: runs(2000) },
  );
});

test('JSON means the same after it is escaped, and shows nothing invisible', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const json = escapeJson(JSON.stringify(value));
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(json.search(everyInvisible)).toBe(-1);
    }),
    { numRuns: runs(2000) },
  );
});

test.each([
  ['"\u202e\u200b\u00a0"\n', `${String.raw`"\u202e\u200b\u00a0"`}\n`],
  ['"\u009b31m\u007f"', String.raw`"\u009b31m\u007f"`],
  ['"\u{e0041}\ufe0f"', String.raw`"\udb40\udc41\ufe0f"`],
  ['"日本 😀"', '"日本 😀"'],
])('JSON %j is escaped, without the ends of its lines', (json, escaped) => {
  expect(escapeJson(json)).toBe(escaped);
});

test('long text is cut by characters, and the cut is said', () => {
  expect(quote('😀'.repeat(10), 3)).toBe('"😀😀😀…" (cut, 10 characters)');
});

test('whatever the text, the result is one bounded line whose quotation marks stay closed', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 400 }), (text) => {
      const shown = quote(text, 100);
      const match = /^"((?:[^"\\]|\\.)*)"( \(cut, \d+ characters\))?$/su.exec(shown);
      expect(match).not.toBeNull();
      expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(shown.length).toBeLessThan(1100);
    }),
    { numRuns: runs(2000) },
  );
});
