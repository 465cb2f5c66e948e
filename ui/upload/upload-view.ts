import { type Fields, textOf } from '../contract/read.js';
import type { Host, ToolResult } from '../host/host.js';
import { type FormatTime, timeFormat } from '../shared/appearance.js';
import { element, setText } from '../shared/elements.js';
import { startView } from '../shared/start-view.js';
import { createAutoRefresh } from './auto-refresh.js';
import { createPartDetails, partText } from './part-details.js';
import { createPartMap } from './part-map.js';
import { drawRates, ratesOf } from './rate-chart.js';
import {
  amountText,
  hasStopped,
  isComplete,
  type PartState,
  partStates,
  progressText,
  readUpload,
  statesOf,
  type Upload,
} from './upload.js';

const refreshMs = 10_000;

/** The server gives a call a minute; the way there and back takes a little. */
const answerMs = 75_000;

const stateNames: Readonly<Record<PartState, string>> = {
  there: 'there',
  new: 'new since the last look',
  small: 'too small',
  missing: 'missing',
  expected: 'still to come',
};

/** Shows what an upload has received so far, and reads it again as long as it moves. */
export async function startUploadView(): Promise<void> {
  let host: Host | undefined;
  let formatTime: FormatTime = timeFormat({ locale: undefined, timeZone: undefined });
  let args: Fields = {};
  let upload: Upload | undefined;
  let states: readonly PartState[] = [];
  let looked: readonly [number, number] = [1, 1];
  let refreshing = false;
  let failed = false;

  const title = element('h1', {}, 'Upload');
  const amount = element('p', { class: 'amount' });
  const progress = element('progress', { max: '100', 'aria-label': 'Progress', hidden: '' });
  const status = element('p', { role: 'status' }, 'Waiting for the answer …');
  const problem = element('p', { role: 'alert', class: 'problem', hidden: '' });
  const legend = element('ul', { class: 'legend', 'aria-label': 'Parts by state' });
  const detail = element('p', { class: 'detail' });
  const chart = element('figure', { hidden: '' }, element('figcaption', {}, 'Rate over time'));
  const refreshButton = element('button', { type: 'button' }, 'Refresh');
  const automatic = element('input', { type: 'checkbox', checked: '' });
  const checked = element('span', { class: 'checked' });
  const controls = element(
    'div',
    { class: 'controls', hidden: '' },
    refreshButton,
    element('label', {}, automatic, ' every 10 seconds while parts arrive'),
    checked,
  );

  const swatches: Record<PartState, HTMLCanvasElement> = {
    there: swatch('there'),
    new: swatch('new'),
    small: swatch('small'),
    missing: swatch('missing'),
    expected: swatch('expected'),
  };
  const counts = new Map(partStates.map((state) => [state, element('span')]));
  for (const state of partStates)
    legend.append(
      element('li', { 'data-state': state }, swatches[state], counts.get(state) ?? '', ` ${stateNames[state]}`),
    );

  const details = createPartDetails(
    () => host,
    () => args,
    () => showLooked(),
  );
  const map = createPartMap({
    swatches,
    onLook(first, last) {
      looked = [first, last];
      showLooked();
    },
  });
  const body = element('div', { class: 'parts', hidden: '' }, map.element, detail, legend);
  const main = element('main', { class: 'upload' }, title, amount, progress, status, problem, body, chart, controls);

  const auto = createAutoRefresh(main, {
    everyMs: refreshMs,
    wanted: () => automatic.checked && !failed && upload !== undefined && !isComplete(upload) && !hasStopped(upload),
    run: () => void refresh(),
  });
  refreshButton.addEventListener('click', () => void refresh());
  automatic.addEventListener('change', auto.plan);

  document.body.append(main);
  map.redraw();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', map.redraw);

  host = await startView('cloudops-upload', main, {
    onInput(given) {
      args = given;
    },
    onResult: (result) => take(result, false),
    onCancelled: () => fail('The call was cancelled.'),
    onTeardown: auto.stop,
    onAppearance: map.redraw,
  });
  if (host !== undefined) formatTime = timeFormat(host.context);
  map.redraw();

  /** Reads the list again, as the call that the view belongs to did. */
  async function refresh(): Promise<void> {
    if (host === undefined || refreshing) return;
    refreshing = true;
    refreshButton.setAttribute('aria-disabled', 'true');
    const { maxParts: _, partNumberMarker: __, ...rest } = args;
    const place = upload === undefined ? {} : { bucket: upload.bucket, object: upload.key, uploadId: upload.uploadId };
    try {
      take(await host.callTool('list_parts', { ...place, ...rest, view: 'summary' }, answerMs), true);
    } catch {
      fail('No answer came. What you see is as it was; Refresh tries again.');
    } finally {
      refreshing = false;
      refreshButton.removeAttribute('aria-disabled');
      auto.plan();
    }
  }

  function take(result: ToolResult, again: boolean): void {
    controls.hidden = host?.callsTools !== true;
    if (result.isError) {
      fail(textOf(result.structured.summary) ?? result.text.split('\n')[0] ?? 'The call failed.');
      return;
    }
    failed = false;
    problem.hidden = true;
    const before = again ? upload : undefined;
    upload = readUpload(result, args);
    states = statesOf(upload, before);
    details.forget();
    show(upload);
    if (again && upload.summary !== before?.summary) host?.updateModelContext(upload.summary);
    // A single page says little of an upload.
    if (!again && result.structured.view === 'parts') void refresh();
    auto.plan();
  }

  /** What was there stays; it says since when it may no longer be true. */
  function fail(sentence: string): void {
    failed = true;
    setText(problem, sentence);
    problem.hidden = false;
    if (upload === undefined) setText(status, '');
  }

  function show(shown: Upload): void {
    title.replaceChildren('Upload of ', element('bdi', {}, shown.key), ' to ', element('bdi', {}, shown.bucket));
    setText(amount, amountText(shown, args));
    progress.hidden = shown.percent === undefined;
    progress.value = shown.percent ?? 0;
    setText(status, progressText(shown, formatTime));
    setText(checked, shown.checkedAt === undefined ? '' : `As of ${formatTime(shown.checkedAt)}`);
    for (const state of partStates) {
      const count = states.reduce((sum, other) => (other === state ? sum + 1 : sum), 0);
      setText(counts.get(state) ?? detail, count.toLocaleString('en'));
      legend.querySelector<HTMLElement>(`[data-state=${state}]`)?.toggleAttribute('hidden', count === 0);
    }
    body.hidden = states.length === 0 || shown.parts === undefined;
    if (!body.hidden) map.show(states);
    const rates = shown.parts === undefined ? undefined : ratesOf(shown.parts, shown.checkedAt);
    chart.hidden = rates === undefined;
    chart.querySelector('svg')?.remove();
    if (rates !== undefined) chart.append(drawRates(rates, formatTime));
  }

  function showLooked(): void {
    const [first, last] = looked;
    if (upload === undefined) return;
    const text = first === last ? textOfPart(first, upload) : textOfParts(first, last);
    setText(detail, text);
    map.describe(text);
  }

  function textOfPart(number: number, { parts = [], sizeUnit }: Upload): string {
    const state = states[number - 1];
    const exact = details.of(number);
    const packed = exact ?? parts.find(({ partNumber }) => partNumber === number);
    if (packed !== undefined && packed.etag === undefined && exact === undefined) details.want(number);
    return partText(number, state, packed, { sizeUnit: exact === undefined ? sizeUnit : 1 }, formatTime);
  }

  function textOfParts(first: number, last: number): string {
    const among = states.slice(first - 1, last);
    const found = partStates.flatMap((state) => {
      const count = among.filter((other) => other === state).length;
      return count === 0 ? [] : [`${count} ${stateNames[state]}`];
    });
    return `Parts ${first.toLocaleString('en')} to ${last.toLocaleString('en')}: ${found.join(', ')}`;
  }
}

function swatch(state: PartState): HTMLCanvasElement {
  return element('canvas', { class: `swatch ${state}`, 'aria-hidden': 'true' });
}
