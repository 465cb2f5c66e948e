import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quote } from '../../src/util/quote.js';
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
    fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => {
      expect(JSON.parse(quote(text))).toBe(text);
    }),
    { numRuns: runs(2000) },
  );
});

test('long text is cut by characters, and the cut is said', () => {
  expect(quote('😀'.repeat(10), 3)).toBe('"😀😀😀…" (cut, 10 characters)');
});

test('whatever the text, the result is one bounded line whose quotation marks stay closed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
      const shown = quote(text, 100);
      const match = /^"((?:[^"\\]|\\.)*)"( \(cut, \d+ characters\))?$/su.exec(shown);
      expect(match).not.toBeNull();
      expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(shown.length).toBeLessThan(1100);
    }),
    { numRuns: runs(2000) },
  );
});
