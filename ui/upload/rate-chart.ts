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

/** A chart of rates that can be pointed at and walked through with the arrow keys. */
export interface RateChart {
  readonly elements: readonly HTMLElement[];
  /** Draws the rates, with a line at the last change of speed. */
  show(rates: Rates, formatTime: FormatTime, changedAt: number | undefined): void;
}

const usual = 'Point at a bar to read its value, or use the arrow keys.';

/**
 * A bar chart with a scale. The value of the bar under the pointer, or of the selected bar, stands below the chart and is read by screen
 * readers. The drawing has a name that sums up the chart. Redrawing keeps the selected bar.
 */
export function createRateChart(): RateChart {
  const hidden = { 'aria-hidden': 'true' };
  const scale = element('div', { class: 'scale', ...hidden });
  const reader = element('div', { class: 'reader', role: 'slider', tabindex: '0', 'aria-label': 'Rate at a time' });
  const plot = element('div', { class: 'plot' }, reader);
  const times = element('div', { class: 'times', ...hidden });
  const value = element('p', { class: 'value', ...hidden }, usual);
  let bars: readonly SVGElement[] = [];
  let textAt = (_step: number) => '';
  /** The bar that the keyboard selected; at first the newest. */
  let selected = Number.POSITIVE_INFINITY;

  const within = (step: number) => Math.min(bars.length - 1, Math.max(0, step));
  const look = (step: number | undefined) => {
    setText(value, step === undefined ? usual : textAt(step));
    for (const [index, bar] of bars.entries()) bar.classList.toggle('looked', index === step);
  };
  const tell = () => {
    const step = within(selected);
    reader.setAttribute('aria-valuemin', '1');
    reader.setAttribute('aria-valuemax', String(bars.length));
    reader.setAttribute('aria-valuenow', String(step + 1));
    reader.setAttribute('aria-valuetext', textAt(step));
    look(document.activeElement === reader ? step : undefined);
  };

  plot.addEventListener('pointermove', ({ clientX }) => {
    const { left, width } = plot.getBoundingClientRect();
    look(within(Math.floor(((clientX - left) / width) * bars.length)));
  });
  plot.addEventListener('pointerleave', tell);
  reader.addEventListener('focus', tell);
  reader.addEventListener('blur', () => look(undefined));
  reader.addEventListener('keydown', (event) => {
    const step = within(selected);
    const steps: Readonly<Record<string, number>> = {
      ...{ ArrowRight: step + 1, ArrowUp: step + 1, ArrowLeft: step - 1, ArrowDown: step - 1 },
      ...{ PageUp: step + 10, PageDown: step - 10, Home: 0, End: bars.length - 1 },
    };
    const next = event.ctrlKey || event.altKey || event.metaKey ? undefined : steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    selected = within(next);
    tell();
  });

  return {
    elements: [element('div', { class: 'chart' }, scale, plot, times), value],
    show({ from, to, perSecond }, formatTime, changedAt) {
      const highest = Math.max(...perSecond);
      const end = scaleEnd(highest);
      const at = (index: number) => formatTime(from + ((to - from) * index) / perSecond.length, 'second');
      textAt = (step) => `${at(step)} to ${at(step + 1)}: ${rateText(perSecond[step] ?? 0)}`;
      bars = perSecond.map((rate, index) => {
        const tall = Math.max(rate > 0 ? 1 : 0, (rate / end) * height);
        return svgElement('rect', { x: index * 4, y: height - tall, width: 3, height: tall });
      });
      const isChanged = changedAt !== undefined && changedAt > from && changedAt < to;
      const label = `Rate over time, from ${formatTime(from)} to ${formatTime(to)}: at most ${rateText(highest)}${isChanged ? `, changed at ${formatTime(changedAt)}` : ''}.`;
      const width = perSecond.length * 4;
      const line = (y: number, name: string) => svgElement('line', { class: name, x1: 0, y1: y, x2: width, y2: y });
      const x = isChanged ? ((changedAt - from) / (to - from)) * width : 0;
      const change = isChanged ? [svgElement('line', { class: 'change', x1: x, y1: 0, x2: x, y2: height })] : [];
      const view = { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label };
      const grid = [line(0.5, 'grid'), line(height / 2, 'grid'), line(height - 0.5, 'base')];
      const drawing = svgElement('svg', { class: 'rates', ...view }, ...grid, ...bars, ...change);
      plot.querySelector('svg')?.remove();
      plot.prepend(drawing);
      scale.replaceChildren(
        ...[end, end / 2, 0].map((bytes) => element('span', {}, bytes === 0 ? '0' : rateText(bytes))),
      );
      times.replaceChildren(element('span', {}, formatTime(from, 'second')), element('span', {}, formatTime(to)));
      tell();
    },
  };
}
