import type { FormatTime } from '../shared/appearance.js';
import { element, nameText, setText } from '../shared/elements.js';
import { createPartMap } from './part-map.js';
import { createRateChart, ratesOf } from './rate-chart.js';
import { amountText, gapsText, type PartState, partStates, progressText, type Upload } from './upload.js';

/** The elements of the upload view. */
export interface UploadPage {
  readonly main: HTMLElement;
  show(upload: Upload, states: readonly PartState[], formatTime: FormatTime): void;
  /** The text about the selected part. */
  describePart(text: string): void;
  /** Shows or removes a problem. The rest of the page stays. */
  showProblem(sentence: string | undefined): void;
  /** Enables the refresh button, and shows if a refresh is running. */
  allowRefresh(isPossible: boolean, isRunning: boolean): void;
  /** True if the user wants automatic refreshes. */
  isAutomatic(): boolean;
  endAutomatic(): void;
  /** Draws again in changed colours. */
  redraw(): void;
}

export interface UploadPageEvents {
  /** Called when the user points at the parts `first` to `last`, or selects them. */
  onPoint(first: number, last: number): void;
  onRefresh(): void;
  onAutomatic(): void;
}

/** Isolates the writing direction of a name from the text around it. */
const isolated = (name: string) => element('bdi', {}, name);

/** Characters of a name in the heading. A longer name is shortened to its end, and shown in full on request. */
const longestTitle = 80;

/** A name in the heading. A quoted name stays within quotation marks. */
function titleText(name: string): string {
  if (name.length <= longestTitle) return name;
  return `${name.startsWith('"') ? '"' : ''}…${[...name].slice(-longestTitle / 2).join('')}`;
}

export const stateNames: Readonly<Record<PartState, string>> = {
  there: 'there',
  new: 'new since the last look',
  small: 'too small',
  sending: 'probably in flight',
  passed: 'passed over',
  expected: 'still to come',
};

export function createUploadPage({ onPoint, onRefresh, onAutomatic }: UploadPageEvents): UploadPage {
  const title = element('h1', {}, 'Upload');
  const amount = element('p', { class: 'amount' });
  const key = element('details', { class: 'key', hidden: '' });
  const bar = createBar();
  const status = element('p', { role: 'status' }, 'Waiting for the answer …');
  const problem = element('p', { role: 'alert', class: 'problem', hidden: '' });
  const { legend, swatches, showCounts } = createLegend();
  const map = createPartMap({ swatches, onPoint });
  const detail = element('p', { class: 'detail' });
  const gaps = element('p', {});
  const nextGap = element('button', { type: 'button' }, 'Next gap ', element('kbd', {}, 'N'));
  const gapLine = element('div', { class: 'gaps', hidden: '' }, gaps, nextGap);
  const body = element('div', { class: 'parts', hidden: '' }, ...map.elements, detail, legend, gapLine);
  const rateChart = createRateChart();
  const chart = element('figure', { hidden: '' }, element('figcaption', {}, 'Rate over time'), ...rateChart.elements);
  const refresh = element('button', { type: 'button' }, 'Refresh');
  const automatic = element('input', { type: 'checkbox', checked: '' });
  const checked = element('span', { class: 'checked' });
  const label = element('label', {}, automatic, ' every 10 seconds while parts arrive');
  const controls = element('div', { class: 'controls', hidden: '' }, refresh, label, checked);
  const main = element(
    'main',
    { class: 'upload' },
    title,
    key,
    amount,
    bar.element,
    status,
    problem,
    body,
    chart,
    controls,
  );
  refresh.addEventListener('click', onRefresh);
  automatic.addEventListener('change', onAutomatic);
  nextGap.addEventListener('click', () => map.jump(1));

  return {
    main,
    show(upload, states, formatTime) {
      const { account, bucket, object, percent, parts, checkedAt, rateSince } = upload;
      const where = account === undefined ? [] : [' in account ', isolated(account)];
      const name = nameText(object);
      const isLong = name.length > longestTitle;
      title.replaceChildren('Upload of ', isolated(titleText(name)), ' to ', isolated(nameText(bucket)), ...where);
      key.hidden = !isLong;
      if (isLong) key.replaceChildren(element('summary', {}, 'The whole key'), element('p', {}, isolated(name)));
      setText(amount, amountText(upload));
      bar.show(percent, upload, states);
      setText(status, progressText(upload, formatTime));
      setText(checked, checkedAt === undefined ? '' : `As of ${formatTime(checkedAt)}`);
      showCounts(states);
      body.hidden = states.length === 0 || parts === undefined;
      if (!body.hidden) map.show(states);
      const missing = gapsText(states);
      gapLine.hidden = missing === '';
      setText(gaps, missing);
      const rates = chartedRates(upload);
      chart.hidden = rates === undefined;
      if (rates !== undefined) rateChart.show(rates, formatTime, rateSince);
    },
    describePart(text) {
      setText(detail, text);
      map.describe(text);
    },
    showProblem(sentence) {
      problem.hidden = sentence === undefined;
      setText(problem, sentence ?? '');
      if (sentence !== undefined && title.children.length === 0) setText(status, '');
    },
    allowRefresh(isPossible, isRunning) {
      controls.hidden = !isPossible;
      if (isRunning) refresh.setAttribute('aria-disabled', 'true');
      else refresh.removeAttribute('aria-disabled');
    },
    isAutomatic: () => automatic.checked,
    endAutomatic() {
      automatic.checked = false;
    },
    redraw: map.redraw,
  };
}

/** The rates of the chart. Undefined if the text says that there is no rate yet. */
const chartedRates = ({ parts, checkedAt, hasRate }: Upload) =>
  parts === undefined || !hasRate ? undefined : ratesOf(parts, checkedAt);

/**
 * A progress bar. If parts are too small and the number of parts is known, the bar shows the shares of usable and of small parts; otherwise
 * the share of bytes.
 */
function createBar() {
  const usable = element('span', { class: 'usable' });
  const unusable = element('span', { class: 'unusable' });
  const bar = element(
    'div',
    {
      role: 'progressbar',
      class: 'bar',
      'aria-label': 'Progress',
      'aria-valuemin': '0',
      'aria-valuemax': '100',
      hidden: '',
    },
    usable,
    unusable,
  );
  return {
    element: bar,
    show(percent: number | undefined, upload: Upload, states: readonly PartState[]) {
      bar.hidden = percent === undefined;
      if (percent === undefined) return;
      const small = states.filter((state) => state === 'small').length;
      const isByParts = upload.expectedParts !== undefined && states.length > 0 && small > 0;
      const there = states.filter((state) => state === 'there' || state === 'new').length;
      usable.style.width = `${isByParts ? (100 * there) / states.length : percent}%`;
      unusable.style.width = `${isByParts ? (100 * small) / states.length : 0}%`;
      bar.setAttribute('aria-valuenow', String(percent));
      bar.setAttribute('aria-valuetext', amountText(upload));
    },
  };
}

/** The legend: each state with its number of parts, and a swatch from which the map takes the colour. */
function createLegend() {
  const legend = element('ul', { class: 'legend', 'aria-label': 'Parts by state' });
  const swatchOf = (state: PartState) => element('canvas', { class: `swatch ${state}`, 'aria-hidden': 'true' });
  const swatches: Readonly<Record<PartState, HTMLCanvasElement>> = {
    there: swatchOf('there'),
    new: swatchOf('new'),
    small: swatchOf('small'),
    sending: swatchOf('sending'),
    passed: swatchOf('passed'),
    expected: swatchOf('expected'),
  };
  const entries = partStates.map((state) => {
    const count = element('span');
    const item = element('li', {}, swatches[state], count, ` ${stateNames[state]}`);
    legend.append(item);
    return { state, count, item };
  });
  const showCounts = (states: readonly PartState[]) => {
    for (const { state, count, item } of entries) {
      const partCount = states.filter((other) => other === state).length;
      setText(count, partCount.toLocaleString('en'));
      item.hidden = partCount === 0;
    }
  };
  return { legend, swatches, showCounts };
}
