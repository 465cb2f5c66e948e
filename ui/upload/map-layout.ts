import type { PartState } from './upload.js';

/** The grid of cells in a map of parts. Lengths are CSS pixels. Cells are counted from 0 and part numbers from 1. */
export interface MapLayout {
  /** The number of parts that each cell stands for: 1, or more if there are more parts than `maximumCells`. */
  readonly partsPerCell: number;
  readonly cells: number;
  readonly columns: number;
  readonly rows: number;
  /** The side of a cell together with the gap to the next cell. */
  readonly pitch: number;
  readonly gap: number;
}

/** The maximum number of cells in a map. More would be too small to tell apart, and slow to draw. */
const maximumCells = 10_000;

const largestPitch = 18;
const smallestPitch = 2;

/** The height that a map should not exceed. Only a map of the smallest cells may be taller. */
const usualHeight = 180;

/** Lays out a map of the part numbers 1 to `parts` for a width, with the largest cells that keep it within `usualHeight`. */
export function layoutMap(parts: number, width: number): MapLayout {
  const partsPerCell = Math.max(1, Math.ceil(parts / maximumCells));
  const cells = Math.max(1, Math.ceil(parts / partsPerCell));

  const usableWidth = Math.max(smallestPitch, Math.floor(width));
  const columnsAt = (pitch: number) => Math.max(1, Math.floor(usableWidth / pitch));
  const heightAt = (pitch: number) => Math.ceil(cells / columnsAt(pitch)) * pitch;
  let pitch = largestPitch;
  while (pitch > smallestPitch && heightAt(pitch) > usualHeight) pitch -= 1;
  const columns = Math.min(cells, columnsAt(pitch));
  return { partsPerCell, cells, columns, rows: Math.ceil(cells / columns), pitch, gap: gapAt(pitch) };
}

/** The gap between cells. Small cells have none, because gaps would take up most of the map. */
function gapAt(pitch: number): number {
  if (pitch >= 9) return 2;
  return pitch >= 4 ? 1 : 0;
}

/** The cell at a point. Undefined to the right of the last column, below the last cell, and outside the map. */
export function cellAt({ pitch, columns, cells }: MapLayout, x: number, y: number): number | undefined {
  const column = Math.floor(x / pitch);
  const cell = Math.floor(y / pitch) * columns + column;
  return x < 0 || y < 0 || column >= columns || cell >= cells ? undefined : cell;
}

/** The upper left corner of a cell, and the length of its sides without the gap. */
export const boxOf = ({ pitch, gap, columns }: MapLayout, cell: number) => ({
  left: (cell % columns) * pitch,
  top: Math.floor(cell / columns) * pitch,
  side: pitch - gap,
});

/** The first and the last part number of a cell. For the last cell, `last` may be higher than the highest part number. */
export const numbersOf = ({ partsPerCell }: MapLayout, cell: number) => ({
  first: cell * partsPerCell + 1,
  last: (cell + 1) * partsPerCell,
});

/** For each row of the map, the share of its parts that are stored and not too small, from 0 to 1. */
export const rowShares = (states: readonly PartState[], partsPerRow: number, rows: number): readonly number[] =>
  Array.from({ length: rows }, (_, row) => {
    const inRow = states.slice(row * partsPerRow, (row + 1) * partsPerRow);
    return inRow.filter((state) => state === 'there' || state === 'new').length / Math.max(1, inRow.length);
  });
