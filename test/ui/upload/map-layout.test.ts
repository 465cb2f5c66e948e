import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { boxOf, cellAt, layoutMap, numbersOf, rowShares } from '../../../ui/upload/map-layout.js';

const sizes = { parts: fc.integer({ min: 1, max: 100_000 }), width: fc.integer({ min: 1, max: 4000 }) };

test('every part has a cell, and every cell is inside the map', () => {
  fc.assert(
    fc.property(sizes.parts, sizes.width, fc.double({ min: 0, max: 1, noNaN: true }), (parts, width, at) => {
      const layout = layoutMap(parts, width);
      const cell = Math.floor(at * (layout.cells - 1));
      const { left, top, side } = boxOf(layout, cell);
      expect(cellAt(layout, left, top)).toBe(cell);
      expect(left + side).toBeLessThanOrEqual(Math.max(width, layout.pitch));
      expect(side).toBeGreaterThan(0);
      expect(numbersOf(layout, layout.cells - 1).last).toBeGreaterThanOrEqual(parts);
      expect(numbersOf(layout, layout.cells - 1).first).toBeLessThanOrEqual(parts);
    }),
  );
});

test('nothing is at a point beside the cells', () => {
  fc.assert(
    fc.property(sizes.parts, sizes.width, (parts, width) => {
      const layout = layoutMap(parts, width);
      for (const [x, y] of [
        [-1, 0],
        [0, -1],
        [layout.columns * layout.pitch, 0],
        [0, layout.rows * layout.pitch],
      ] as const)
        expect(cellAt(layout, x, y)).toBeUndefined();
    }),
  );
});

test.each([
  [1, 760, { partsPerCell: 1, columns: 1, rows: 1, pitch: 18 }],
  [400, 760, { partsPerCell: 1, columns: 42, rows: 10, pitch: 18 }],
  [10_000, 760, { partsPerCell: 1, columns: 253, rows: 40, pitch: 3 }],
  [10_000, 280, { partsPerCell: 1, columns: 140, rows: 72, pitch: 2 }],
  [10_001, 760, { partsPerCell: 2, cells: 5001 }],
])('%i parts at a width of %i', (parts, width, expected) => {
  expect(layoutMap(parts, width)).toMatchObject(expected);
});

test('a row is as full as its parts that are there, and the last row counts only its own', () => {
  const states = ['there', 'new', 'small', 'expected', 'there', 'missing', 'there'] as const;
  expect(rowShares(states, 4, 2)).toEqual([0.5, 2 / 3]);
});
