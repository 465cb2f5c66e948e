import { element } from '../shared/elements.js';
import { boxOf, cellAt, layoutMap, type MapLayout, numbersOf, rowShares } from './map-layout.js';
import { gapStates, type PartState, partStates } from './upload.js';

interface PartMapOptions {
  /** The legend's small sample of each state. Its CSS `color` is the colour of that state, also in the map. */
  readonly swatches: Readonly<Record<PartState, HTMLCanvasElement>>;
  /** Called when the user points at the parts `first` to `last`, or selects them. */
  onPoint(first: number, last: number): void;
}

/** The states in the order of urgency. A cell of several parts shows the first of these states that one of its parts has. */
const precedence: readonly PartState[] = ['small', 'missing', 'new', 'there', 'expected'];

/** A map of the parts: a grid of cells that the user can point at, or select with the arrow keys. */
export class PartMap {
  readonly #options: PartMapOptions;
  readonly #canvas = element('canvas', { 'aria-hidden': 'true' });
  /** The frame around the cell under the pointer or, without a pointer, around the selected cell. */
  readonly #cursor = element('div', { class: 'cursor', hidden: '' });
  readonly #slider = element(
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
    this.#canvas,
    this.#cursor,
  );
  readonly #barsNote = element(
    'p',
    { class: 'bars-note', hidden: '' },
    'Bars at the right: the share of each row that is there.',
  );
  readonly elements: readonly HTMLElement[] = [this.#slider, this.#barsNote];
  #states: readonly PartState[] = [];
  #layout: MapLayout = layoutMap(1, 1);
  #selectedCell = 0;

  constructor(options: PartMapOptions) {
    this.#options = options;
    this.#followPointer();
    this.#followKeyboard();
    new ResizeObserver(() => this.#draw()).observe(this.#slider);
  }

  /** Draws the map. The first state is that of part number 1. */
  show(states: readonly PartState[]): void {
    this.#states = states;
    this.#draw();
  }

  /** Draws the map and the legend's samples again. Called after the host's colours have changed. */
  redraw(): void {
    for (const state of partStates) drawSwatch(this.#options.swatches[state], state);
    this.#draw();
  }

  /** Selects the next or previous gap: a cell with a part that has to be sent. After the last gap comes the first. */
  selectGap(direction: 'next' | 'previous'): void {
    const step = direction === 'next' ? 1 : -1;
    const cell = nextGap(this.#states, this.#layout, this.#selectedCell, step);
    if (cell !== undefined) this.#select(cell);
  }

  /** Sets the text about the selected part for screen readers. */
  describe(text: string): void {
    this.#slider.setAttribute('aria-valuetext', text);
  }

  /** Lays out the map for its current width, and draws it. */
  #draw(): void {
    const width = this.#slider.clientWidth;
    // A hidden map has no width. When it becomes visible, the ResizeObserver draws it.
    if (width === 0) return;

    const partCount = this.#states.length;
    // If the cells are too small to tell apart, each row gets a bar at its right, whose length is the share of the row that has arrived.
    const layoutWithoutBars = layoutMap(partCount, width);
    const hasBars = layoutWithoutBars.pitch < smallestReadable;
    this.#layout = hasBars ? layoutMap(partCount, width - barsWidth) : layoutWithoutBars;
    this.#barsNote.hidden = !hasBars;
    this.#drawCanvas(hasBars);

    // The new layout may have fewer cells than the previous layout.
    this.#selectedCell = Math.min(this.#selectedCell, this.#layout.cells - 1);
    // Screen readers get part numbers, not cells. `#pointAt` sets the present value to the first part of the cell.
    this.#slider.setAttribute('aria-valuemax', String(partCount));
    this.#pointAt(this.#selectedCell);
  }

  /** Draws all cells and, if `hasBars`, a bar at the right of each row. */
  #drawCanvas(hasBars: boolean): void {
    const { columns, rows, pitch } = this.#layout;
    sizeCanvas(this.#canvas, columns * pitch + (hasBars ? barsWidth : 0), rows * pitch);
    const context = this.#canvas.getContext('2d');
    if (context === null) return;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    const colourOf = (state: PartState) => getComputedStyle(this.#options.swatches[state]).color;
    drawCells(context, this.#layout, this.#states, colourOf);
    if (hasBars) drawBars(context, this.#layout, this.#states, colourOf('there'));
  }

  /** Puts the cursor around a cell, and passes the numbers of its parts to `onPoint`. */
  #pointAt(cell: number): void {
    const { left, top, side } = boxOf(this.#layout, cell);
    // The cursor extends beyond each side of the cell by 2 pixels.
    const cursorSide = Math.max(side, 4) + 4;
    Object.assign(this.#cursor.style, {
      left: `${left - 2}px`,
      top: `${top - 2}px`,
      width: `${cursorSide}px`,
      height: `${cursorSide}px`,
    });
    const { first, last } = numbersOf(this.#layout, cell);
    this.#slider.setAttribute('aria-valuenow', String(first));
    this.#options.onPoint(first, Math.min(last, this.#states.length));
  }

  #select(cell: number): void {
    this.#selectedCell = Math.min(this.#layout.cells - 1, Math.max(0, cell));
    this.#cursor.hidden = false;
    this.#pointAt(this.#selectedCell);
  }

  /** Moves the cursor to the cell under the pointer, and selects the cell that is pressed. */
  #followPointer(): void {
    const slider = this.#slider;
    slider.addEventListener('pointermove', ({ offsetX, offsetY }) => {
      const cell = cellAt(this.#layout, offsetX, offsetY);
      this.#cursor.hidden = cell === undefined;
      if (cell !== undefined) this.#pointAt(cell);
    });
    slider.addEventListener('pointerleave', () => {
      // The cursor returns to the selected cell, where only users of the keyboard need to see it.
      this.#pointAt(this.#selectedCell);
      this.#cursor.hidden = document.activeElement !== slider;
    });
    slider.addEventListener('pointerdown', ({ offsetX, offsetY }) => {
      const cell = cellAt(this.#layout, offsetX, offsetY);
      if (cell !== undefined) this.#select(cell);
    });
  }

  #followKeyboard(): void {
    this.#slider.addEventListener('focus', () => this.#select(this.#selectedCell));
    this.#slider.addEventListener('blur', () => {
      this.#cursor.hidden = true;
    });
    this.#slider.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key.toLowerCase() === 'n') return this.selectGap(event.shiftKey ? 'previous' : 'next');
      const cell = cellForKey(event.key, this.#selectedCell, this.#layout);
      if (cell === undefined) return;
      event.preventDefault();
      this.#select(cell);
    });
  }
}

/** The cell to which a key moves the selection. May lie outside the map. Undefined for a key that does not move it. */
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

/** The next (1) or previous (-1) cell with a part that has to be sent. After the last cell comes the first. Undefined if there is none. */
function nextGap(states: readonly PartState[], layout: MapLayout, selected: number, step: 1 | -1): number | undefined {
  const { cells } = layout;
  for (let distance = 1; distance <= cells; distance += 1) {
    // Adding a multiple of `cells` keeps the dividend of a backward search positive.
    const cell = (selected + step * distance + cells * distance) % cells;
    const { first, last } = numbersOf(layout, cell);
    if (states.slice(first - 1, last).some((state) => gapStates.includes(state))) return cell;
  }
  return undefined;
}

/** The cells that show each state. A cell of several parts shows the most urgent state, by `precedence`. */
function cellsByState(states: readonly PartState[], { cells, partsPerCell }: MapLayout): Record<PartState, number[]> {
  const byState: Record<PartState, number[]> = { there: [], new: [], small: [], missing: [], expected: [] };
  for (let cell = 0; cell < cells; cell += 1) {
    const statesOfCell = states.slice(cell * partsPerCell, (cell + 1) * partsPerCell);
    const state = precedence.find((candidate) => statesOfCell.includes(candidate));
    if (state !== undefined) byState[state].push(cell);
  }
  return byState;
}

/** Cells with a pitch below this are too small to tell apart (CSS pixels), so that the map also gets bars at the right of its rows. */
const smallestReadable = 5;

/** The width that the bars take from the map, with the gap between cells and bars (CSS pixels). */
const barsWidth = 56;
const barsGap = 8;

/** Draws a bar at the right of each row. Its length is the share of usable parts: stored, and not too small. */
function drawBars(
  context: CanvasRenderingContext2D,
  { columns, rows, pitch, partsPerCell }: MapLayout,
  states: readonly PartState[],
  colour: string,
): void {
  const left = columns * pitch + barsGap;
  context.fillStyle = colour;
  for (const [row, share] of rowShares(states, columns * partsPerCell, rows).entries())
    context.fillRect(left, row * pitch, share * (barsWidth - barsGap), pitch);
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

/** Draws a cell. Each state has its own shape, so that states differ not only in colour. A cell that is too small for shapes is a square. */
function drawCell(context: CanvasRenderingContext2D, state: PartState, left: number, top: number, side: number): void {
  const line = side >= 10 ? 2 : 1;
  if (side < 5 || state === 'there') context.fillRect(left, top, side, side);
  else if (state === 'small') context.fillRect(left, top + side / 2, side, side / 2);
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

/** Sets the size of a canvas in CSS pixels, and its resolution to that of the screen. This also empties the canvas. */
function sizeCanvas(canvas: HTMLCanvasElement, width: number, height: number): void {
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
}
