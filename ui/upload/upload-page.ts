import { longestKey } from '../../src/tools/upload/keys.js';
import { everyInvisible, quote } from '../../src/util/quote.js';
import type { FormatTime } from '../shared/appearance.js';
import { element, setText } from '../shared/elements.js';
import { createPartMap } from './part-map.js';
import { drawRates, ratesOf } from './rate-chart.js';
import { amountText, type PartState, partStates, progressText, type Upload } from './upload.js';

/** The elements of the upload view. */
export interface UploadPage {
  readonly main: HTMLElement;
  show(upload: Upload, states: readonly PartState[], formatTime: FormatTime): void;
  /** What is said of the part that is looked at. */
  describePart(text: string): void;
  /** Says that something failed, or no longer does. What was shown before stays. */
  showProblem(sentence: string | undefined): void;
  /** Whether the list can be read again, and whether that is under way. */
  allowRefresh(isPossible: boolean, isRunning: boolean): void;
  /** Whether the person wants the list to be read again by itself. */
  isAutomatic(): boolean;
  endAutomatic(): void;
  /** Colours have changed. */
  redraw(): void;
}

export interface UploadPageEvents {
  /** Someone looks at these part numbers now. */
  onLook(first: number, last: number): void;
  onRefresh(): void;
  onAutomatic(): void;
}

/** A name whose direction of writing does not reach what is around it. */
const isolated = (name: string) => element('bdi', {}, name);

/** A name as it is, or quoted if it holds what nobody can see. */
const readable = (name: string) => (name.search(everyInvisible) < 0 ? name : quote(name, longestKey));

export const stateNames: Readonly<Record<PartState, string>> = {
  there: 'there',
  new: 'new since the last look',
  small: 'too small',
  sending: 'probably in flight',
  passed: 'passed over',
  expected: 'still to come',
};

export function createUploadPage({ onLook, onRefresh, onAutomatic }: UploadPageEvents): UploadPage {
  const title = element('h1', {}, 'Upload');
  const amount = element('p', { class: 'amount' });
  const progress = element('progress', { max: '100', 'aria-label': 'Progress', hidden: '' });
  const status = element('p', { role: 'status' }, 'Waiting for the answer …');
  const problem = element('p', { role: 'alert', class: 'problem', hidden: '' });
  const { legend, swatches, showCounts } = createLegend();
  const map = createPartMap({ swatches, onLook });
  const detail = element('p', { class: 'detail' });
  const body = element('div', { class: 'parts', hidden: '' }, map.element, detail, legend);
  const chart = element('figure', { hidden: '' }, element('figcaption', {}, 'Rate over time'));
  const refresh = element('button', { type: 'button' }, 'Refresh');
  const automatic = element('input', { type: 'checkbox', checked: '' });
  const checked = element('span', { class: 'checked' });
  const label = element('label', {}, automatic, ' every 10 seconds while parts arrive');
  const controls = element('div', { class: 'controls', hidden: '' }, refresh, label, checked);
  const main = element('main', { class: 'upload' }, title, amount, progress, status, problem, body, chart, controls);
  refresh.addEventListener('click', onRefresh);
  automatic.addEventListener('change', onAutomatic);

  return {
    main,
    show(upload, states, formatTime) {
      const { account, bucket, object, percent, parts, checkedAt, rateSince } = upload;
      const where = account === undefined ? [] : [' in account ', isolated(account)];
      title.replaceChildren('Upload of ', isolated(readable(object)), ' to ', isolated(readable(bucket)), ...where);
      setText(amount, amountText(upload));
      progress.hidden = percent === undefined;
      progress.value = percent ?? 0;
      setText(status, progressText(upload, formatTime));
      setText(checked, checkedAt === undefined ? '' : `As of ${formatTime(checkedAt)}`);
      showCounts(states);
      body.hidden = states.length === 0 || parts === undefined;
      if (!body.hidden) map.show(states);
      const rates = parts === undefined ? undefined : ratesOf(parts, checkedAt);
      chart.hidden = rates === undefined;
      chart.querySelector('svg')?.remove();
      if (rates !== undefined) chart.append(drawRates(rates, formatTime, rateSince));
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

/** The states with how many parts are in each, and the colours that the map takes from here. */
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
      const among = states.reduce((sum, other) => (other === state ? sum + 1 : sum), 0);
      setText(count, among.toLocaleString('en'));
      item.hidden = among === 0;
    }
  };
  return { legend, swatches, showCounts };
}
