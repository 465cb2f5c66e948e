import { element } from '../shared/elements.js';
import { boxOf, cellAt, layoutMap, type MapLayout, numbersOf, rowShares } from './map-layout.js';
import { gapStates, type PartState, partStates } from './upload.js';

/** A map of the parts: a grid of cells that the user can point at, or select with the arrow keys. */
export interface PartMap {
  readonly elements: readonly HTMLElement[];
  /** Draws the states of the parts from number 1 on. */
  show(states: readonly PartState[]): void;
  /** Draws the map again, because colours have changed. */
  redraw(): void;
  /** Selects the next or previous part number that has to be sent, and goes round at the ends. */
  jump(step: 1 | -1): void;
  /** The text about the selected part for screen readers. */
  describe(text: string): void;
}

export interface PartMapOptions {
  /** The legend's swatch for each state. Its CSS `color` is the colour of the state. */
  readonly swatches: Readonly<Record<PartState, HTMLCanvasElement>>;
  /** Called when the user points at the parts `first` to `last`, or selects them. */
  onPoint(first: number, last: number): void;
}

/** The state that a cell of several parts shows. States that need attention come first. */
const precedence: readonly PartState[] = ['small', 'passed', 'new', 'sending', 'there', 'expected'];

export function createPartMap({ swatches, onPoint }: PartMapOptions): PartMap {
  const canvas = element('canvas', { 'aria-hidden': 'true' });
  const cursor = element('div', { class: 'cursor', hidden: '' });
  const map = element(
    'div',
    {
      class: 'map',
      role: 'slider',
      tabindex: '0',
      'aria-label': 'Part',
      'aria-orientation': 'horizontal',
      'aria-valuemin': '1',
      'aria-keyshortcuts': 'N Shift+N',
    },
    canvas,
    cursor,
  );
  const density = element(
    'p',
    { class: 'density', hidden: '' },
    'Bars at the right: the share of each row that is there.',
  );
  let states: readonly PartState[] = [];
  let layout: MapLayout = layoutMap(1, 1);
  let selected = 0;

  const draw = () => {
    // A hidden map is drawn by the observer below when it becomes visible.
    if (map.clientWidth === 0) return;
    layout = layoutMap(states.length, map.clientWidth);
    const isDense = layout.pitch < smallestReadable;
    if (isDense) layout = layoutMap(states.length, map.clientWidth - densityWidth);
    selected = Math.min(selected, layout.cells - 1);
    const cellsWidth = layout.columns * layout.pitch;
    sizeCanvas(canvas, cellsWidth + (isDense ? densityWidth : 0), layout.rows * layout.pitch);
    const context = canvas.getContext('2d');
    if (context === null) return;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    const colourOf = (state: PartState) => getComputedStyle(swatches[state]).color;
    drawCells(context, layout, states, colourOf);
    density.hidden = !isDense;
    if (isDense) drawDensity(context, layout, states, colourOf('there'));
    map.setAttribute('aria-valuemax', String(states.length));
    pointAt(selected);
  };

  /** Puts the cursor around a cell, and reports its parts. */
  const pointAt = (cell: number) => {
    const { left, top, side } = boxOf(layout, cell);
    const { first, last } = numbersOf(layout, cell);
    const size = Math.max(side, 4);
    Object.assign(cursor.style, {
      left: `${left - 2}px`,
      top: `${top - 2}px`,
      width: `${size + 4}px`,
      height: `${size + 4}px`,
    });
    map.setAttribute('aria-valuenow', String(first));
    onPoint(first, Math.min(last, states.length));
  };

  const select = (cell: number) => {
    selected = Math.min(layout.cells - 1, Math.max(0, cell));
    cursor.hidden = false;
    pointAt(selected);
  };

  map.addEventListener('pointermove', ({ offsetX, offsetY }) => {
    const cell = cellAt(layout, offsetX, offsetY);
    cursor.hidden = cell === undefined;
    if (cell !== undefined) pointAt(cell);
  });
  map.addEventListener('pointerleave', () => {
    cursor.hidden = document.activeElement !== map;
    pointAt(selected);
  });
  map.addEventListener('pointerdown', ({ offsetX, offsetY }) => {
    const cell = cellAt(layout, offsetX, offsetY);
    if (cell !== undefined) select(cell);
  });
  map.addEventListener('focus', () => select(selected));
  map.addEventListener('blur', () => {
    cursor.hidden = true;
  });

  const jump = (step: 1 | -1) => {
    const cell = nextGap(states, layout, selected, step);
    if (cell !== undefined) select(cell);
  };

  map.addEventListener('keydown', (event) => {
    const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey;
    if (isPlain && event.key.toLowerCase() === 'n') return jump(event.shiftKey ? -1 : 1);
    const cell = isPlain ? cellForKey(event.key, selected, layout) : undefined;
    if (cell === undefined) return;
    event.preventDefault();
    select(cell);
  });
  new ResizeObserver(draw).observe(map);

  return {
    elements: [map, density],
    show(shownStates) {
      states = shownStates;
      draw();
    },
    redraw() {
      for (const state of partStates) drawSwatch(swatches[state], state);
      draw();
    },
    jump,
    describe: (text) => map.setAttribute('aria-valuetext', text),
  };
}

/** The cell that a key moves to from the selected cell. Undefined for other keys. */
function cellForKey(key: string, selected: number, { columns, cells }: MapLayout): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowRight: selected + 1,
    ArrowLeft: selected - 1,
    ArrowDown: selected + columns,
    ArrowUp: selected - columns,
    PageDown: selected + 10 * columns,
    PageUp: selected - 10 * columns,
    Home: 0,
    End: cells - 1,
  };
  return targets[key];
}

/** The next or previous cell with a part that has to be sent, going round at the ends. Undefined if there is none. */
function nextGap(states: readonly PartState[], layout: MapLayout, selected: number, step: 1 | -1): number | undefined {
  const { cells } = layout;
  for (let distance = 1; distance <= cells; distance += 1) {
    const cell = (selected + step * distance + cells * distance) % cells;
    const { first, last } = numbersOf(layout, cell);
    if (states.slice(first - 1, last).some((state) => gapStates.includes(state))) return cell;
  }
  return undefined;
}

function cellsByState(states: readonly PartState[], { cells, partsPerCell }: MapLayout): Record<PartState, number[]> {
  const byState: Record<PartState, number[]> = { there: [], new: [], small: [], sending: [], passed: [], expected: [] };
  for (let cell = 0; cell < cells; cell += 1) {
    const first = cell * partsPerCell;
    const state =
      partsPerCell === 1
        ? states[first]
        : precedence.find((candidate) => states.slice(first, first + partsPerCell).includes(candidate));
    if (state !== undefined) byState[state].push(cell);
  }
  return byState;
}

/** Cells with a smaller pitch cannot be told apart. Then bars next to the rows show how much of each row is there (CSS pixels). */
const smallestReadable = 5;
const densityWidth = 56;
const densityGap = 8;

function drawDensity(
  context: CanvasRenderingContext2D,
  { columns, rows, pitch, partsPerCell }: MapLayout,
  states: readonly PartState[],
  colour: string,
): void {
  const left = columns * pitch + densityGap;
  context.fillStyle = colour;
  for (const [row, share] of rowShares(states, columns * partsPerCell, rows).entries())
    context.fillRect(left, row * pitch, share * (densityWidth - densityGap), pitch);
}

function drawCells(
  context: CanvasRenderingContext2D,
  layout: MapLayout,
  states: readonly PartState[],
  colourOf: (state: PartState) => string,
): void {
  const cells = cellsByState(states, layout);
  for (const state of partStates) {
    context.fillStyle = colourOf(state);
    for (const cell of cells[state]) {
      const { left, top, side } = boxOf(layout, cell);
      drawCell(context, state, left, top, side);
    }
  }
}

/** Draws a cell in the shape of its state, or as a square if the cell is too small for shapes. */
function drawCell(context: CanvasRenderingContext2D, state: PartState, left: number, top: number, side: number): void {
  const line = side >= 10 ? 2 : 1;
  if (side < 5 || state === 'there') context.fillRect(left, top, side, side);
  else if (state === 'small') context.fillRect(left, top + side / 2, side, side / 2);
  else if (state === 'sending') context.fillRect(left, top, side / 2, side);
  else if (state === 'expected') context.fillRect(left + side / 2 - line, top + side / 2 - line, 2 * line, 2 * line);
  else {
    context.fillRect(left, top, side, line);
    context.fillRect(left, top + side - line, side, line);
    context.fillRect(left, top, line, side);
    context.fillRect(left + side - line, top, line, side);
    if (state === 'new') context.fillRect(left + 2 * line, top + 2 * line, side - 4 * line, side - 4 * line);
  }
}

const swatchSide = 12;

function drawSwatch(canvas: HTMLCanvasElement, state: PartState): void {
  sizeCanvas(canvas, swatchSide, swatchSide);
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.scale(devicePixelRatio, devicePixelRatio);
  context.fillStyle = getComputedStyle(canvas).color;
  drawCell(context, state, 0, 0, swatchSide);
}

/** Empties a canvas and gives it as many pixels as the screen has. */
function sizeCanvas(canvas: HTMLCanvasElement, width: number, height: number): void {
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
}
