import type { UploadPart } from '../../src/tools/upload/part.js';
import { humanBytes } from '../../src/util/human.js';
import type { FormatTime } from '../shared/appearance.js';
import { element, setText, svgElement } from '../shared/elements.js';

/** Rates in bytes per second. The time from `from` to `to` (milliseconds since 1970) is divided into equal steps, one for each rate. */
export interface Rates {
  readonly from: number;
  readonly to: number;
  readonly perSecond: readonly number[];
}

const maximumSteps = 48;

/**
 * Returns the rates from the first arrival of a part until the later of the last arrival and the answer (`checkedAt`). Undefined if fewer than
 * two parts have a time, or if the chart would have no duration.
 */
export function ratesOf(parts: readonly UploadPart[], checkedAt: number | undefined): Rates | undefined {
  const timed = parts.filter(({ uploadedAt }) => !Number.isNaN(uploadedAt));
  const from = timed.reduce((earliest, { uploadedAt }) => Math.min(earliest, uploadedAt), Number.POSITIVE_INFINITY);
  const lastArrival = timed.reduce((latest, { uploadedAt }) => Math.max(latest, uploadedAt), 0);
  const to = Math.max(lastArrival, checkedAt ?? 0);
  if (timed.length < 2 || to <= from) return undefined;

  // The chart has a rate for each step of time. A step is long enough for two parts on average, because in shorter steps, a steady upload would
  // seem to have pauses.
  const shortestStepMs = (2 * (lastArrival - from)) / timed.length;
  // If all parts arrived at the same time, `shortestStepMs` is 0, the quotient is infinite, and `maximumSteps` applies.
  const possibleSteps = Math.floor((to - from) / shortestStepMs);
  const steps = Math.max(1, Math.min(maximumSteps, possibleSteps));
  const stepMs = (to - from) / steps;

  const perSecond = Array.from({ length: steps }, () => 0);
  for (const { uploadedAt, size } of timed) {
    // A part that arrived at `from`, where the chart begins, was sent before the first step, and counts in no step.
    if (uploadedAt === from) continue;
    // A part that arrived exactly at `to` belongs to the last step.
    const step = Math.min(steps - 1, Math.floor((uploadedAt - from) / stepMs));
    perSecond[step] = (perSecond[step] ?? 0) + size / (stepMs / 1000);
  }
  return { from, to, perSecond };
}

/** Returns a round number at or above the highest rate, for the top of the scale: 1, 2, 5, 10, … or 500 bytes, KiB, MiB and so on. */
export function scaleTopFor(highest: number): number {
  const unit = 1024 ** Math.max(0, Math.min(5, Math.floor(Math.log2(Math.max(1, highest)) / 10)));
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024];
  return (steps.find((step) => step * unit >= highest) ?? 1024) * unit;
}

const rateText = (bytes: number) => `${humanBytes(Math.round(bytes))}/s`;

/** The height of the SVG drawing in its own units, which the browser stretches to the size of the chart. */
const height = 60;

/** The width of a bar, and the distance from the start of a bar to the start of the next, in units of the drawing. */
const barWidth = 3;
const barStep = 4;

const instruction = 'Point at a bar to read its value, or use the arrow keys.';

/** A bar chart of rates. Pointing at a bar, or selecting it with the arrow keys, shows its value below the chart and for screen readers. */
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
  /** Index of the bar that was selected with the keyboard. Infinity stands for the last bar, until a key is pressed. */
  #selected = Number.POSITIVE_INFINITY;

  constructor() {
    this.#followPointer();
    this.#followKeyboard();
  }

  /** Draws the rates. @param rateSince the time of the last change of speed, which is marked by a vertical line */
  show(rates: Rates, formatTime: FormatTime, rateSince: number | undefined): void {
    const { from, to, perSecond } = rates;
    const highest = Math.max(...perSecond);
    const scaleTop = scaleTopFor(highest);
    const isInChart = rateSince !== undefined && rateSince > from && rateSince < to;
    const markedTime = isInChart ? rateSince : undefined;

    // Screen readers read this in place of the drawing.
    const changeText = markedTime === undefined ? '' : `, changed at ${formatTime(markedTime)}`;
    const label = `Rate over time, from ${formatTime(from)} to ${formatTime(to)}: at most ${rateText(highest)}${changeText}.`;

    this.#bars = barsOf(rates, scaleTop);
    this.#barTexts = barTextsOf(rates, formatTime);
    this.#plot.querySelector('svg')?.remove();
    this.#plot.prepend(drawingOf(rates, this.#bars, markedTime, label));

    const scaleTexts = [rateText(scaleTop), rateText(scaleTop / 2), '0'];
    this.#scale.replaceChildren(...scaleTexts.map((text) => element('span', {}, text)));
    // The left end has only the time of day. The right end has date and zone too, as in the label.
    this.#times.replaceChildren(element('span', {}, formatTime(from, 'second')), element('span', {}, formatTime(to)));
    this.#showSelected();
  }

  /** The index itself, or the first or last bar if the index lies outside the chart. */
  #clamp(index: number): number {
    return Math.min(this.#bars.length - 1, Math.max(0, index));
  }

  /** Marks a bar and shows its value. Without an index, marks no bar and shows how to use the chart. */
  #highlight(index: number | undefined): void {
    setText(this.#value, index === undefined ? instruction : (this.#barTexts[index] ?? ''));
    for (const [barIndex, bar] of this.#bars.entries()) bar.classList.toggle('looked', barIndex === index);
  }

  /** Sets the value of the selected bar for screen readers, and marks the bar if the chart has the keyboard focus. */
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

/** The index to which a key moves the selection. May lie outside the chart. Undefined for a key that does not move it. */
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

/** The bars of the chart. @param scaleTop the rate at the top of the chart, in bytes per second */
const barsOf = ({ perSecond }: Rates, scaleTop: number): SVGElement[] =>
  perSecond.map((rate, index) => {
    // Any rate above 0 has at least a thin bar.
    const barHeight = Math.max(rate > 0 ? 1 : 0, (rate / scaleTop) * height);
    return svgElement('rect', { x: index * barStep, y: height - barHeight, width: barWidth, height: barHeight });
  });

/** A text for each bar: when it begins and ends, and its rate. */
function barTextsOf({ from, to, perSecond }: Rates, formatTime: FormatTime): string[] {
  const timeAt = (index: number) => formatTime(from + ((to - from) * index) / perSecond.length, 'second');
  return perSecond.map((rate, index) => `${timeAt(index)} to ${timeAt(index + 1)}: ${rateText(rate)}`);
}

/** The bars in front of horizontal lines, with a vertical line at `markedTime`. Screen readers read `label` in place of the drawing. */
function drawingOf(
  { from, to, perSecond }: Rates,
  bars: readonly SVGElement[],
  markedTime: number | undefined,
  label: string,
): SVGElement {
  const width = perSecond.length * barStep;
  const horizontalLine = (y: number, className: string) =>
    svgElement('line', { class: className, x1: 0, y1: y, x2: width, y2: y });

  const drawing = svgElement(
    'svg',
    {
      class: 'rates',
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    },
    horizontalLine(0.5, 'grid'),
    horizontalLine(height / 2, 'grid'),
    horizontalLine(height - 0.5, 'base'),
    ...bars,
  );

  if (markedTime !== undefined) {
    const x = ((markedTime - from) / (to - from)) * width;
    drawing.append(svgElement('line', { class: 'change', x1: x, y1: 0, x2: x, y2: height }));
  }
  return drawing;
}
