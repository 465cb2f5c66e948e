import type { ProposedChange, RiskName, ShownTable } from '../../src/mcp/views/contract/change-data.js';
import { sentenceCase, withLocalTimes } from '../../src/util/human.js';
import type { FormatTime } from '../shared/appearance.js';
import { element, listSection, shownText } from '../shared/elements.js';
import { type IconName, icon } from '../shared/icons.js';

const risks: Readonly<Record<RiskName, { readonly words: string; readonly icon: IconName }>> = {
  'costs money': { words: 'Costs money', icon: 'cost' },
  'no way back': { words: 'No way back', icon: 'oneWay' },
};

/** The banner of a plan for the sandbox. */
export const sandboxBanner = (isSandbox: boolean): readonly Node[] =>
  isSandbox ? [element('p', { class: 'sandbox' }, 'Sandbox: nothing real happens')] : [];

/** Region, zone and account. */
export const whereLine = (where: readonly string[]): readonly Node[] =>
  where.length === 0
    ? []
    : [element('p', { class: 'where', dir: 'auto' }, ...shownText(sentenceCase(where.join(' · '))))];

/** The decision: the change, its risks, and where it takes place. */
export const planHead = (change: ProposedChange): readonly Node[] => [
  ...sandboxBanner(change.isSandbox),
  element('h1', { dir: 'auto' }, ...shownText(change.sentence)),
  ...riskList(change),
  ...whereLine(change.where),
];

/** The risks as badges. */
export const riskList = ({ risks: marked }: ProposedChange): readonly Node[] =>
  marked.length === 0
    ? []
    : [
        element(
          'ul',
          { class: 'risks', 'aria-label': 'Risks' },
          ...marked.map((risk) =>
            element('li', { class: risks[risk].icon }, icon(risks[risk].icon), risks[risk].words),
          ),
        ),
      ];

/** A table under its title. A narrow chat scrolls it sideways, by keyboard too. */
const tableSection = ({ title, columns, rows, more }: ShownTable): readonly Node[] => [
  element(
    'section',
    { class: 'table', tabindex: '0', 'aria-label': title },
    element('h2', {}, title),
    element(
      'table',
      {},
      element('thead', {}, element('tr', {}, ...columns.map((column) => element('th', { scope: 'col' }, column)))),
      element(
        'tbody',
        {},
        ...rows.map((row) => element('tr', {}, ...row.map((text) => element('td', { dir: 'auto' }, text)))),
      ),
    ),
    ...(more === 0 ? [] : [element('p', { class: 'quiet' }, `And ${more} more, in the request below.`)]),
  ),
];

/** The rest of the plan: consequences, warnings, defaults and the request. */
export function planBody(change: ProposedChange, formatTime: FormatTime): readonly Node[] {
  const { effects, warnings, notChecked, defaults, request } = change;
  const local = (lines: readonly string[]) => lines.map((line) => withLocalTimes(line, formatTime));
  return [
    ...listSection('What will happen', local(effects), 'effects'),
    ...change.tables.flatMap(tableSection),
    ...listSection('Warnings', local(warnings), 'warnings'),
    ...listSection('Not checked beforehand', notChecked.map(sentenceCase), 'not-checked'),
    ...(defaults.length === 0
      ? []
      : [
          element(
            'section',
            { class: 'defaults' },
            element('h2', {}, 'Left to the cloud'),
            element(
              'dl',
              {},
              ...defaults.flatMap(({ name, value }) => [
                element('dt', { dir: 'auto' }, sentenceCase(name)),
                element('dd', { dir: 'auto' }, ...shownText(value)),
              ]),
            ),
          ),
        ]),
    ...(request === ''
      ? []
      : [
          element(
            'details',
            {},
            element('summary', {}, 'The exact request'),
            element('pre', { tabindex: '0' }, request),
          ),
        ]),
  ];
}
