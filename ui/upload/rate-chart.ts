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

/** A chart of rates: bars that the user can point at, or select with the arrow keys. */
export interface RateChart {
  readonly elements: readonly HTMLElement[];
  /** Draws the rates, with a line at the last change of speed. */
  show(rates: Rates, formatTime: FormatTime, changedAt: number | undefined): void;
}

const instruction = 'Point at a bar to read its value, or use the arrow keys.';

/**
 * A bar chart with a scale. The value of the bar under the pointer, or of the selected bar, stands below the chart and is read by screen
 * readers. The drawing has a name that sums up the chart. Redrawing keeps the selected bar.
 */
export function createRateChart(): RateChart {
  const hidden = { 'aria-hidden': 'true' };
  const scale = element('div', { class: 'scale', ...hidden });
  const slider = element('div', { class: 'reader', role: 'slider', tabindex: '0', 'aria-label': 'Rate at a time' });
  const plot = element('div', { class: 'plot' }, slider);
  const times = element('div', { class: 'times', ...hidden });
  const value = element('p', { class: 'value', ...hidden }, instruction);
  let bars: readonly SVGElement[] = [];
  let barTexts: readonly string[] = [];
  /** Index of the bar that the keyboard selected; at first the newest. */
  let selected = Number.POSITIVE_INFINITY;

  const clamp = (index: number) => Math.min(bars.length - 1, Math.max(0, index));
  const textAt = (index: number) => barTexts[index] ?? '';
  /** Marks a bar and shows its value, or shows the instruction. */
  const highlight = (index: number | undefined) => {
    setText(value, index === undefined ? instruction : textAt(index));
    for (const [other, bar] of bars.entries()) bar.classList.toggle('looked', other === index);
  };
  const showSelected = () => {
    const index = clamp(selected);
    slider.setAttribute('aria-valuemin', '1');
    slider.setAttribute('aria-valuemax', String(bars.length));
    slider.setAttribute('aria-valuenow', String(index + 1));
    slider.setAttribute('aria-valuetext', textAt(index));
    highlight(document.activeElement === slider ? index : undefined);
  };

  plot.addEventListener('pointermove', ({ clientX }) => {
    const { left, width } = plot.getBoundingClientRect();
    highlight(clamp(Math.floor(((clientX - left) / width) * bars.length)));
  });
  plot.addEventListener('pointerleave', showSelected);
  slider.addEventListener('focus', showSelected);
  slider.addEventListener('blur', () => highlight(undefined));
  slider.addEventListener('keydown', (event) => {
    const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey;
    const index = isPlain ? indexForKey(event.key, clamp(selected), bars.length) : undefined;
    if (index === undefined) return;
    event.preventDefault();
    selected = clamp(index);
    showSelected();
  });

  return {
    elements: [element('div', { class: 'chart' }, scale, plot, times), value],
    show(rates, formatTime, changedAt) {
      const { from, to } = rates;
      const highest = Math.max(...rates.perSecond);
      const end = scaleEnd(highest);
      const change = changedAt !== undefined && changedAt > from && changedAt < to ? changedAt : undefined;
      const changeText = change === undefined ? '' : `, changed at ${formatTime(change)}`;
      const label = `Rate over time, from ${formatTime(from)} to ${formatTime(to)}: at most ${rateText(highest)}${changeText}.`;
      bars = barsOf(rates, end);
      barTexts = barTextsOf(rates, formatTime);
      plot.querySelector('svg')?.remove();
      plot.prepend(drawingOf(rates, bars, change, label));
      scale.replaceChildren(
        ...[end, end / 2, 0].map((bytes) => element('span', {}, bytes === 0 ? '0' : rateText(bytes))),
      );
      times.replaceChildren(element('span', {}, formatTime(from, 'second')), element('span', {}, formatTime(to)));
      showSelected();
    },
  };
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
