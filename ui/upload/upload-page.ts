import type { FormatTime } from '../shared/appearance.js';
import { element, nameText, setText } from '../shared/elements.js';
import { PartMap } from './part-map.js';
import { amountText, gapsText, type PartState, partStates, progressText, type Upload } from './upload.js';

interface UploadPage {
  readonly main: HTMLElement;
  show(upload: Upload, states: readonly PartState[], formatTime: FormatTime): void;
  /** Shows a text about the part under the pointer or the selected part, and sets it for screen readers. */
  describePart(text: string): void;
  /** Shows a problem above the earlier state of the upload, which stays. Without a sentence, removes the problem. */
  showProblem(sentence: string | undefined): void;
  /** Shows the controls if refreshes are possible. While a refresh is running, its button is marked as disabled. */
  updateControls(refresh: { readonly canRefresh: boolean; readonly isRefreshing: boolean }): void;
  /** True if the checkbox for automatic refreshes is checked. */
  isAutomatic(): boolean;
  /** Clears the checkbox for automatic refreshes. */
  clearAutomatic(): void;
  /** Draws the map again. Called after the host's colours have changed. */
  redraw(): void;
}

interface UploadPageEvents {
  /** Called when the user points at the parts `first` to `last`, or selects them. */
  onPoint(first: number, last: number): void;
  onRefresh(): void;
  /** Called when the user checks or clears the checkbox for automatic refreshes. */
  onAutomaticChange(): void;
}

export const stateNames: Readonly<Record<PartState, string>> = {
  there: 'there',
  new: 'new since the last look',
  small: 'too small',
  missing: 'missing',
  expected: 'still to come',
};

/** Creates the elements of the upload view, from top to bottom, and returns the functions that update them. */
export function createUploadPage({ onPoint, onRefresh, onAutomaticChange }: UploadPageEvents): UploadPage {
  const heading = createHeading();
  const amount = element('p', { class: 'amount' });
  const bar = createBar();
  const status = element('p', { role: 'status' }, 'Waiting for the answer …');
  const problem = element('p', { role: 'alert', class: 'problem', hidden: '' });

  const legend = createLegend();
  const map = new PartMap({ swatches: legend.swatches, onPoint });
  const selectedPart = element('p', { class: 'detail' });
  // A gap is a part number that has to be sent, or sent again.
  const gapLine = createGapLine(() => map.selectGap('next'));
  const partsSection = element('div', { class: 'parts', hidden: '' });
  partsSection.append(...map.elements, selectedPart, legend.element, gapLine.element);

  const controls = createControls(onRefresh, onAutomaticChange);
  const main = element('main', { class: 'upload' });
  main.append(...heading.elements, amount, bar.element, status, problem, partsSection, controls.element);

  let hasShownUpload = false;
  return {
    main,
    show(upload, states, formatTime) {
      hasShownUpload = true;
      heading.show(upload);
      setText(amount, amountText(upload));
      bar.show(upload, states);
      setText(status, progressText(upload, formatTime));

      // If the answer does not list the stored parts, their states are not known, and the map would show them as missing.
      const hasPartsToShow = states.length > 0 && upload.parts !== undefined;
      partsSection.hidden = !hasPartsToShow;
      legend.show(states);
      if (hasPartsToShow) map.show(states);
      gapLine.show(states);

      controls.showTime(upload.checkedAt, formatTime);
    },
    describePart(text) {
      setText(selectedPart, text);
      map.describe(text);
    },
    showProblem(sentence) {
      problem.hidden = sentence === undefined;
      setText(problem, sentence ?? '');
      // Before the first upload is shown, the status is "Waiting for the answer …", which is no longer true.
      if (sentence !== undefined && !hasShownUpload) setText(status, '');
    },
    updateControls: controls.updateControls,
    isAutomatic: controls.isAutomatic,
    clearAutomatic: controls.clearAutomatic,
    redraw: () => map.redraw(),
  };
}

/** Keeps right-to-left letters in a name from reordering the words around it. */
const isolated = (name: string) => element('bdi', {}, name);

/** The maximum length of a name in the heading (characters). If a name is longer, only its last `longestTitle / 2` characters are shown. */
const longestTitle = 80;

/** The name, or "…" and the end of the name if it is too long for the heading. Keeps the quotation marks of a quoted name. */
function titleText(name: string): string {
  if (name.length <= longestTitle) return name;
  return `${name.startsWith('"') ? '"' : ''}…${[...name].slice(-longestTitle / 2).join('')}`;
}

/** The heading with the names of object, bucket and account. Below it, a long key can be opened in full. */
function createHeading() {
  const title = element('h1', {}, 'Upload');
  const wholeKey = element('details', { class: 'key', hidden: '' });
  return {
    elements: [title, wholeKey],
    show({ account, bucket, object }: Upload) {
      const key = nameText(object);
      const inAccount = account === undefined ? [] : [' in account ', isolated(account)];
      title.replaceChildren('Upload of ', isolated(titleText(key)), ' to ', isolated(nameText(bucket)), ...inAccount);
      wholeKey.hidden = key.length <= longestTitle;
      if (!wholeKey.hidden)
        wholeKey.replaceChildren(element('summary', {}, 'The whole key'), element('p', {}, isolated(key)));
    },
  };
}

/** A list of the part numbers that have to be sent, with a button that selects the next of them in the map. */
function createGapLine(onNextGap: () => void) {
  const text = element('p', {});
  const nextGap = element('button', { type: 'button' }, 'Next gap ', element('kbd', {}, 'N'));
  nextGap.addEventListener('click', onNextGap);
  const line = element('div', { class: 'gaps', hidden: '' }, text, nextGap);
  return {
    element: line,
    show(states: readonly PartState[]) {
      const gaps = gapsText(states);
      line.hidden = gaps === '';
      setText(text, gaps);
    },
  };
}

/** The refresh button, the checkbox for automatic refreshes, and the time at which the shown state was read. */
function createControls(onRefresh: () => void, onAutomaticChange: () => void) {
  const refresh = element('button', { type: 'button' }, 'Refresh');
  const automatic = element('input', { type: 'checkbox', checked: '' });
  const label = element('label', {}, automatic, ' every 10 seconds while parts arrive');
  const time = element('span', { class: 'checked' });
  const controls = element('div', { class: 'controls', hidden: '' }, refresh, label, time);
  refresh.addEventListener('click', onRefresh);
  automatic.addEventListener('change', onAutomaticChange);

  return {
    element: controls,
    showTime: (checkedAt: number | undefined, formatTime: FormatTime) =>
      setText(time, checkedAt === undefined ? '' : `As of ${formatTime(checkedAt)}`),
    updateControls({ canRefresh, isRefreshing }: { readonly canRefresh: boolean; readonly isRefreshing: boolean }) {
      controls.hidden = !canRefresh;
      // The view itself ignores clicks during a refresh. With the attribute `disabled`, the button would lose the focus.
      refresh.ariaDisabled = isRefreshing ? 'true' : null;
    },
    isAutomatic: () => automatic.checked,
    clearAutomatic() {
      automatic.checked = false;
    },
  };
}

/**
 * A progress bar for the share of bytes. If some parts are too small and `expectedParts` is known, the bar shows the shares of usable and of
 * small parts instead. Without `expectedParts`, `states` may lack parts that are still to come. Screen readers always get the share of bytes.
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
    show(upload: Upload, states: readonly PartState[]) {
      const { percent, expectedParts } = upload;
      bar.hidden = percent === undefined;
      if (percent === undefined) return;

      const smallParts = states.filter((state) => state === 'small').length;
      const usableParts = states.filter((state) => state === 'there' || state === 'new').length;
      const showsParts = expectedParts !== undefined && smallParts > 0;
      usable.style.width = `${showsParts ? (100 * usableParts) / states.length : percent}%`;
      unusable.style.width = `${showsParts ? (100 * smallParts) / states.length : 0}%`;
      bar.setAttribute('aria-valuenow', String(percent));
      bar.setAttribute('aria-valuetext', amountText(upload));
    },
  };
}

/** The legend of the map: for each state a small sample, the number of its parts and its name. The map takes the colours from the samples. */
function createLegend() {
  const legend = element('ul', { class: 'legend', 'aria-label': 'Parts by state' });
  const swatchOf = (state: PartState) => element('canvas', { class: `swatch ${state}`, 'aria-hidden': 'true' });
  const swatches: Readonly<Record<PartState, HTMLCanvasElement>> = {
    there: swatchOf('there'),
    new: swatchOf('new'),
    small: swatchOf('small'),
    missing: swatchOf('missing'),
    expected: swatchOf('expected'),
  };
  const entries = partStates.map((state) => {
    const count = element('span');
    const item = element('li', {}, swatches[state], count, ` ${stateNames[state]}`);
    legend.append(item);
    return { state, count, item };
  });

  return {
    element: legend,
    swatches,
    show(states: readonly PartState[]) {
      for (const { state, count, item } of entries) {
        const partCount = states.filter((stateOfPart) => stateOfPart === state).length;
        setText(count, partCount.toLocaleString('en'));
        item.hidden = partCount === 0;
      }
    },
  };
}
