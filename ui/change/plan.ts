import type { ProposedChange, RiskName, ShownTable } from '../../src/mcp/views/view-contract.js';
import { sentenceCase } from '../../src/util/human.js';
import type { FormatTime } from '../shared/appearance.js';
import { element, listSection, shownText } from '../shared/elements.js';
import { type IconName, icon } from '../shared/icons.js';
import { t } from '../shared/texts.js';

const riskBadges: Readonly<Record<RiskName, { readonly words: string; readonly icon: IconName }>> = {
  'costs money': { words: 'Costs money', icon: 'cost' },
  'may cost money': { words: 'May cost money', icon: 'cost' },
  'no way back': { words: 'No way back', icon: 'oneWay' },
};

/** The banner above a plan for the sandbox. Empty for any other plan. */
export const sandboxBanner = (isSandbox: boolean): readonly Node[] =>
  isSandbox ? [element('p', { class: 'sandbox' }, t('Sandbox: nothing real happens'))] : [];

/** The line with region, zone and account. Empty if they are not known. */
export function whereLine(where: readonly string[]): readonly Node[] {
  if (where.length === 0) return [];
  return [element('p', { class: 'where', dir: 'auto' }, ...shownText(sentenceCase(where.join(' · '))))];
}

/** The upper part of a plan: the change in one sentence, its risks, and its region and account. */
export const planHead = (change: ProposedChange): readonly Node[] => [
  ...sandboxBanner(change.isSandbox),
  element('h1', { dir: 'auto' }, ...shownText(change.sentence)),
  ...riskList(change),
  ...whereLine(change.where),
];

/** The risks as badges. */
export function riskList({ risks }: ProposedChange): readonly Node[] {
  if (risks.length === 0) return [];
  const badges = risks.map((risk) => {
    const { words, icon: iconName } = riskBadges[risk];
    return element('li', { class: iconName }, icon(iconName), t(words));
  });
  return [element('ul', { class: 'risks', 'aria-label': t('Risks') }, ...badges)];
}

/** A table under its title. It can be scrolled sideways in a narrow chat. With the tabindex, arrow keys scroll it too. */
export function tableSection(
  { title, columns, rows, more }: ShownTable,
  formatTime: FormatTime,
  moreText = 'And {0} more.',
): Node {
  const head = element('tr', {}, ...columns.map((column) => element('th', { scope: 'col' }, column)));
  const bodyRows = rows.map((row) =>
    element('tr', {}, ...row.map((text) => element('td', { dir: 'auto' }, ...shownText(text, formatTime)))),
  );
  const section = element(
    'section',
    { class: 'table', tabindex: '0', 'aria-label': title },
    element('h2', {}, title),
    element('table', {}, element('thead', {}, head), element('tbody', {}, ...bodyRows)),
  );
  if (more > 0) section.append(element('p', { class: 'quiet' }, t(moreText, String(more))));
  return section;
}

/** The values that the cloud uses for arguments that were left out. */
function defaultsSection(defaults: ProposedChange['defaults']): Node {
  const entries = defaults.flatMap(({ name, value }) => [
    element('dt', { dir: 'auto' }, sentenceCase(name)),
    element('dd', { dir: 'auto' }, ...shownText(value)),
  ]);
  return element(
    'section',
    { class: 'defaults' },
    element('h2', {}, t('Left to the cloud')),
    element('dl', {}, ...entries),
  );
}

const requestDetails = (request: string): Node =>
  element('details', {}, element('summary', {}, t('The exact request')), element('pre', { tabindex: '0' }, request));

/** The lower part of a plan: consequences, tables, warnings, defaults and the request. Each section is left out if it is empty. */
export function planBody(change: ProposedChange, formatTime: FormatTime): readonly Node[] {
  const { effects, tables, warnings, notChecked, defaults, request } = change;
  const linesOf = (texts: readonly string[]) => texts.map((text) => shownText(text, formatTime));
  return [
    ...listSection('What will happen', linesOf(effects), 'effects'),
    ...tables.map((table) => tableSection(table, formatTime, 'And {0} more, in the request below.')),
    ...listSection('Warnings', linesOf(warnings), 'warnings'),
    ...listSection('Not checked beforehand', linesOf(notChecked.map(sentenceCase)), 'not-checked'),
    ...(defaults.length === 0 ? [] : [defaultsSection(defaults)]),
    ...(request === '' ? [] : [requestDetails(request)]),
  ];
}
