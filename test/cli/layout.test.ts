import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { columnsOf, localTimeIn, widthOf, wrapped } from '../../src/cli/layout.js';
import { exact, say } from '../../src/util/safe-text.js';

const exactly = (text: string) => say`${exact(text)}`;

describe('a terminal', () => {
  test.each([
    [{ isTTY: true, columns: 80 }, 80],
    [{ isTTY: true, columns: 400 }, 120],
    [{ isTTY: true, columns: 10 }, 40],
    [{ isTTY: true, columns: 0 }, 80],
    [{ isTTY: true }, 80],
    [{ columns: 80 }, Number.POSITIVE_INFINITY],
  ])('%j has %d columns for text', (stream, columns) => {
    expect(columnsOf(stream)).toBe(columns);
  });

  test.each([
    ['abc', 3],
    ['名前', 4],
    ['e\u0301', 1],
    ['😀', 2],
  ])('shows %s in %i columns', (text, columns) => {
    expect(widthOf(text)).toBe(columns);
  });
});

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

describe('a time', () => {
  test.each([
    ['2026-01-05T23:04:05Z', 'UTC', '2026-01-05 23:04:05 UTC'],
    ['2026-01-05T23:04:05Z', 'Asia/Tokyo', '2026-01-06 08:04:05 GMT+9'],
    ['soon', 'UTC', undefined],
  ])('%s in %s is %s', (time, zone, shown) => {
    expect(localTimeIn(zone)(time)?.text).toBe(shown);
  });
});
