import type { ChangeOutcome, OutcomeKind } from '../../src/mcp/views/view-contract.js';
import type { FormatTime } from '../shared/appearance.js';
import { element, shownText } from '../shared/elements.js';
import { type IconName, icon } from '../shared/icons.js';
import { t } from '../shared/texts.js';

/** A short title for each outcome. */
const outcomeTitles = {
  accepted: 'Accepted',
  partly: 'Done in part',
  rejected: 'Refused by the cloud',
  unknown: 'The outcome is not known',
  declined: 'Nothing was done',
  withdrawn: 'The plan was withdrawn',
  expired: 'The plan has expired',
  late: 'Too late',
  used: 'Decided before',
  uncounted: 'The click did not count',
  refused: 'Not sent',
} as const satisfies Readonly<Record<OutcomeKind, string>>;

const icons: Readonly<Record<OutcomeKind, IconName>> = {
  accepted: 'good',
  partly: 'unknown',
  rejected: 'bad',
  unknown: 'unknown',
  declined: 'nothing',
  withdrawn: 'nothing',
  expired: 'nothing',
  late: 'nothing',
  used: 'nothing',
  uncounted: 'nothing',
  refused: 'nothing',
};

/** Makes a panel with an icon and a heading. With the tabindex -1, scripts can focus the heading, and the Tab key skips it. */
export const panel = (kind: string, name: IconName, title: string, ...lines: readonly Node[]): HTMLElement =>
  element('section', { class: `outcome ${kind}` }, element('h1', { tabindex: '-1' }, icon(name), t(title)), ...lines);

/** Makes the panel for an outcome: the main sentence, the advice, the details, and references for the cloud's support. */
export function outcomePanel(outcome: ChangeOutcome, formatTime: FormatTime): HTMLElement {
  const { kind, sentence, details, next, earlier, sentAt } = outcome;
  const paragraph = (text: string, attributes: Readonly<Record<string, string>> = {}) =>
    element('p', { dir: 'auto', ...attributes }, ...shownText(text, formatTime));
  const paragraphs = [paragraph(sentence, { class: 'sentence' })];
  if (earlier !== undefined) paragraphs.push(paragraph(earlier));
  if (next !== undefined) paragraphs.push(paragraph(next, { class: 'next' }));
  paragraphs.push(...details.map((line) => paragraph(line)));
  // Otherwise, the decision has the time.
  if (sentAt !== undefined && earlier === undefined)
    paragraphs.push(paragraph(t('Sent {0}.', sentAt), { class: 'quiet' }));
  return panel(kind, icons[kind], outcomeTitles[kind], ...paragraphs, ...references(outcome));
}

/** Lists the cloud's error code and request IDs, which its support asks for. */
function references({ code, requestIds }: ChangeOutcome): readonly Node[] {
  const pairs = Object.entries(requestIds);
  if (code !== undefined) pairs.unshift([t('Code'), code]);
  if (pairs.length === 0) return [];
  const entries = pairs.flatMap(([name, id]) => [element('dt', {}, name), element('dd', {}, id)]);
  return [element('h2', {}, t('For the cloud’s support')), element('dl', { class: 'references' }, ...entries)];
}
