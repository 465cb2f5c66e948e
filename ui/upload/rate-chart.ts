import type { UploadPart } from '../../src/tools/upload/part.js';
import { humanBytes } from '../../src/util/human.js';
import type { FormatTime } from '../shared/appearance.js';
import { element, setText, svgElement } from '../shared/elements.js';

/** Bytes a second in even steps of time. Times in milliseconds since 1970. */
export interface Rates {
  readonly from: number;
  readonly to: number;
  readonly perSecond: readonly number[];
}

const mostSteps = 48;

/**
 * Returns the rate of an upload over time, from its first part to the time of the answer. The bytes of the first part do not count, because
 * they came before. Returns undefined if there is no time to divide by.
 */
export function ratesOf(parts: readonly UploadPart[], checkedAt: number | undefined): Rates | undefined {
  const timed = parts.filter(({ uploadedAt }) => !Number.isNaN(uploadedAt));
  const from = timed.reduce((earliest, { uploadedAt }) => Math.min(earliest, uploadedAt), Number.POSITIVE_INFINITY);
  const last = timed.reduce((latest, { uploadedAt }) => Math.max(latest, uploadedAt), 0);
  const to = Math.max(last, checkedAt ?? 0);
  if (timed.length < 2 || to <= from) return undefined;
  // A step has two parts on average. With fewer, a steady upload would seem to have pauses.
  const shortestMs = (2 * (last - from)) / timed.length;
  const steps = Math.max(1, Math.min(mostSteps, Math.floor((to - from) / shortestMs)));
  const perSecond = Array.from({ length: steps }, () => 0);
  const stepMs = (to - from) / steps;
  for (const { uploadedAt, size } of timed) {
    if (uploadedAt === from) continue;
    const step = Math.min(steps - 1, Math.floor((uploadedAt - from) / stepMs));
    perSecond[step] = (perSecond[step] ?? 0) + size / (stepMs / 1000);
  }
  return { from, to, perSecond };
}

/** Returns the end of the scale, which is the next of 1, 2, 5, 10, … 500 in a unit of bytes. */
export function scaleEnd(highest: number): number {
  const unit = 1024 ** Math.max(0, Math.min(5, Math.floor(Math.log2(Math.max(1, highest)) / 10)));
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024];
  return (steps.find((step) => step * unit >= highest) ?? 1024) * unit;
}

const rateText = (bytes: number) => `${humanBytes(Math.round(bytes))}/s`;

/** The height of the drawing in its own units. */
const height = 60;

/** The width of a bar and of the step from one bar to the next, in units of the drawing. */
const barWidth = 3;
const barStep = 4;

const instruction = 'Point at a bar to read its value, or use the arrow keys.';

/**
 * A bar chart of rates with a scale. The value of the bar that the user points at, or selects with the arrow keys, stands below the chart
 * and is read by screen readers. The drawing has a name that sums up the chart. Drawing again keeps the selected bar.
 */
export class RateChart {
  readonly #scale = element('div', { class: 'scale', 'aria-hidden': 'true' });
  readonly #slider = element('div', {
    class: 'reader',
    role: 'slider',
    tabindex: '0',
    'aria-label': 'Rate at a time',
  });
  readonly #plot = element('div', { class: 'plot' }, this.#slider);
  readonly #times = element('div', { class: 'times', 'aria-hidden': 'true' });
  readonly #value = element('p', { class: 'value', 'aria-hidden': 'true' }, instruction);
  readonly elements: readonly HTMLElement[] = [
    element('div', { class: 'chart' }, this.#scale, this.#plot, this.#times),
    this.#value,
  ];
  #bars: readonly SVGElement[] = [];
  #barTexts: readonly string[] = [];
  /** Index of the bar that the keyboard selected; at first the newest. */
  #selected = Number.POSITIVE_INFINITY;

  constructor() {
    this.#followPointer();
    this.#followKeyboard();
  }

  /** Draws the rates, with a line at the last change of speed. */
  show(rates: Rates, formatTime: FormatTime, changedAt: number | undefined): void {
    const { from, to, perSecond } = rates;
    const highest = Math.max(...perSecond);
    const end = scaleEnd(highest);
    const change = changedAt !== undefined && changedAt > from && changedAt < to ? changedAt : undefined;
    const changeText = change === undefined ? '' : `, changed at ${formatTime(change)}`;
    const label = `Rate over time, from ${formatTime(from)} to ${formatTime(to)}: at most ${rateText(highest)}${changeText}.`;
    this.#bars = barsOf(rates, end);
    this.#barTexts = barTextsOf(rates, formatTime);
    this.#plot.querySelector('svg')?.remove();
    this.#plot.prepend(drawingOf(rates, this.#bars, change, label));
    const scaleTexts = [rateText(end), rateText(end / 2), '0'];
    this.#scale.replaceChildren(...scaleTexts.map((text) => element('span', {}, text)));
    this.#times.replaceChildren(element('span', {}, formatTime(from, 'second')), element('span', {}, formatTime(to)));
    this.#showSelected();
  }

  /** The nearest index of a bar. */
  #clamp(index: number): number {
    return Math.min(this.#bars.length - 1, Math.max(0, index));
  }

  /** Marks a bar and shows its value, or shows the instruction. */
  #highlight(index: number | undefined): void {
    setText(this.#value, index === undefined ? instruction : (this.#barTexts[index] ?? ''));
    for (const [other, bar] of this.#bars.entries()) bar.classList.toggle('looked', other === index);
  }

  /** Tells screen readers the value of the selected bar, and marks the bar if the keyboard is in use. */
  #showSelected(): void {
    const index = this.#clamp(this.#selected);
    this.#slider.setAttribute('aria-valuemin', '1');
    this.#slider.setAttribute('aria-valuemax', String(this.#bars.length));
    this.#slider.setAttribute('aria-valuenow', String(index + 1));
    this.#slider.setAttribute('aria-valuetext', this.#barTexts[index] ?? '');
    this.#highlight(document.activeElement === this.#slider ? index : undefined);
  }

  #followPointer(): void {
    this.#plot.addEventListener('pointermove', ({ clientX }) => {
      const { left, width } = this.#plot.getBoundingClientRect();
      const share = (clientX - left) / width;
      this.#highlight(this.#clamp(Math.floor(share * this.#bars.length)));
    });
    this.#plot.addEventListener('pointerleave', () => this.#showSelected());
  }

  #followKeyboard(): void {
    this.#slider.addEventListener('focus', () => this.#showSelected());
    this.#slider.addEventListener('blur', () => this.#highlight(undefined));
    this.#slider.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const index = indexForKey(event.key, this.#clamp(this.#selected), this.#bars.length);
      if (index === undefined) return;
      event.preventDefault();
      this.#selected = this.#clamp(index);
      this.#showSelected();
    });
  }
}

/** The index that a key moves to from the selected bar. Undefined for other keys. */
function indexForKey(key: string, selected: number, count: number): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowRight: selected + 1,
    ArrowUp: selected + 1,
    ArrowLeft: selected - 1,
    ArrowDown: selected - 1,
    PageUp: selected + 10,
    PageDown: selected - 10,
    Home: 0,
    End: count - 1,
  };
  return targets[key];
}

/** @param end the end of the scale, in bytes a second */
const barsOf = ({ perSecond }: Rates, end: number): SVGElement[] =>
  perSecond.map((rate, index) => {
    const barHeight = Math.max(rate > 0 ? 1 : 0, (rate / end) * height);
    return svgElement('rect', { x: index * barStep, y: height - barHeight, width: barWidth, height: barHeight });
  });

/** The times and the rate of each bar. */
function barTextsOf({ from, to, perSecond }: Rates, formatTime: FormatTime): string[] {
  const timeAt = (index: number) => formatTime(from + ((to - from) * index) / perSecond.length, 'second');
  return perSecond.map((rate, index) => `${timeAt(index)} to ${timeAt(index + 1)}: ${rateText(rate)}`);
}

/** The bars over a grid, with a line at the time `change`. */
function drawingOf(
  { from, to, perSecond }: Rates,
  bars: readonly SVGElement[],
  change: number | undefined,
  label: string,
): SVGElement {
  const width = perSecond.length * barStep;
  const horizontal = (y: number, name: string) => svgElement('line', { class: name, x1: 0, y1: y, x2: width, y2: y });
  const drawing = svgElement(
    'svg',
    {
      class: 'rates',
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    },
    horizontal(0.5, 'grid'),
    horizontal(height / 2, 'grid'),
    horizontal(height - 0.5, 'base'),
    ...bars,
  );
  if (change !== undefined) {
    const x = ((change - from) / (to - from)) * width;
    drawing.append(svgElement('line', { class: 'change', x1: x, y1: 0, x2: x, y2: height }));
  }
  return drawing;
}
