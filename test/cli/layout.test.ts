import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { widthOf, wrapped } from '../../src/cli/layout.js';
import { exact, say } from '../../src/util/safe-text.js';

const exactly = (text: string) => say`${exact(text)}`;

describe('a paragraph', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'é', '名', '😀'), minLength: 1, maxLength: 12 });
  const text = fc.array(word, { minLength: 1, maxLength: 40 }).map((words) => words.join(' '));

  test('fits into its width, and loses no word', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 30, max: 90 }), (given, width) => {
        const lines = wrapped(exactly(given), width, { start: '- ' });
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
        expect(lines.map((line) => line.slice(2)).join(' ')).toBe(given);
      }),
    );
  });

  test('keeps an address whole, so that it can be copied', () => {
    const address = `https://${'a'.repeat(40)}.example.com`;
    expect(wrapped(say`see ${exact(address)} now`, 20)).toEqual(['see', address, 'now']);
  });
});
