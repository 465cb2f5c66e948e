import type { UploadPart } from '../../src/tools/upload/part.js';
import { humanBytes } from '../../src/util/human.js';
import type { FormatTime } from '../shared/appearance.js';
import { svgElement } from '../shared/elements.js';

/** Bytes a second in even steps of time. Times in milliseconds since 1970. */
export interface Rates {
  readonly from: number;
  readonly to: number;
  readonly perSecond: readonly number[];
}

const mostSteps = 48;

/**
 * How fast an upload went, from its first part to the time of the answer. The first part's bytes came before its time, so they
 * count for nothing. Undefined where there is no time to divide by.
 */
export function ratesOf(parts: readonly UploadPart[], checkedAt: number | undefined): Rates | undefined {
  const timed = parts.filter(({ uploadedAt }) => !Number.isNaN(uploadedAt));
  const from = timed.reduce((earliest, { uploadedAt }) => Math.min(earliest, uploadedAt), Number.POSITIVE_INFINITY);
  const last = timed.reduce((latest, { uploadedAt }) => Math.max(latest, uploadedAt), 0);
  const to = Math.max(last, checkedAt ?? 0);
  if (timed.length < 2 || to <= from) return undefined;
  // A step has two parts on average: with fewer, a steady upload would look like one with pauses.
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

/**
 * The rates as bars, with a line where the rate has changed for the last time. The picture has a name that says the same to those who
 * do not see it.
 */
export function drawRates(
  { from, to, perSecond }: Rates,
  formatTime: FormatTime,
  changedAt: number | undefined,
): SVGElement {
  const highest = Math.max(...perSecond);
  const isChanged = changedAt !== undefined && changedAt > from && changedAt < to;
  const bars = perSecond.map((rate, index) => {
    const height = highest === 0 ? 0 : Math.max(rate > 0 ? 1 : 0, (rate / highest) * 40);
    return svgElement('rect', { x: index * 4, y: 40 - height, width: 3, height });
  });
  const label = `Rate over time, from ${formatTime(from)} to ${formatTime(to)}: at most ${humanBytes(Math.round(highest))} a second${isChanged ? `, changed at ${formatTime(changedAt)}` : ''}.`;
  const width = perSecond.length * 4;
  const base = svgElement('line', { x1: 0, y1: 40.5, x2: width, y2: 40.5 });
  const x = isChanged ? ((changedAt - from) / (to - from)) * width : 0;
  const change = isChanged ? [svgElement('line', { class: 'change', x1: x, y1: 0, x2: x, y2: 40 })] : [];
  const view = { viewBox: `0 0 ${width} 41`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label };
  return svgElement('svg', { class: 'rates', ...view }, ...bars, ...change, base);
}
