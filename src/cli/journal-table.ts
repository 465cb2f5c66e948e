import { outcomes, type RecordedChange } from '../journal/entry.js';
import { shownTool } from '../journal/journal.js';
import { duration, join, quoted, type Said, type Shown, said, say, words } from '../util/safe-text.js';
import { type HelpPage, localTime, padded, widthOf, wrapped } from './layout.js';

const noOutcome = 'no outcome';
const outcomeColumns = Math.max(...[...outcomes, noOutcome].map(widthOf)) + 2;
/** A column of text that is narrower than this cannot be read: such a terminal gets lines that it breaks itself. */
const narrowestText = 30;

/** Characters of a text of the journal that are shown: others than this server may have written it. */
const longestText = 500;
const longestName = 100;

const colours = {
  accepted: 'green',
  rejected: 'red',
  unknown: 'yellow',
  'not sent': 'dim',
  declined: 'dim',
} as const;

/**
 * A change as a row of a table: when, in local time, what came of it, and what it was; below that its tool and account, and who let it
 * go ahead. On a terminal each column keeps its place; elsewhere a change is one line, with the address that it went to.
 */
export function changeLines(change: RecordedChange, { width, paint, timeZone }: HelpPage): string[] {
  const { time, what, target, ending } = change;
  const when = `${localTime(time, timeZone) ?? 'at an unknown time'}  `;
  const outcome = padded(ending?.outcome ?? noOutcome, outcomeColumns);
  const start = paint('dim', when) + paint(ending === undefined ? 'yellow' : colours[ending.outcome], outcome);
  const indent = widthOf(when) + outcomeColumns;
  const code = said(ending?.code === undefined ? words('') : say` (${quoted(ending.code, longestName)})`);
  const about = say`${quoted(what, longestText)}${code}`;
  const called = shownTool(change);
  const people = peopleOf(change);
  if (!Number.isFinite(width) || width - indent < narrowestText)
    return [[start + about, called, say`${quoted(target, longestText)}`, ...people].join('  ')];
  const [first = '', ...others] = wrapped(about, width, indent);
  const below = wrapped(join([called, ...people], ', '), width, indent);
  return [start + first.slice(indent), ...others, ...below.map((line) => paint('dim', line))];
}

const agreed = {
  asked: 'agreed when asked',
  clicked: 'agreed with a click',
  page: 'agreed on the page for decisions',
  planId: 'planId of its plan',
  option: 'agreed beforehand with --yes',
  off: 'nobody was asked',
  withdrawn: 'withdrawn by its caller',
  other: 'consent of a kind that only a newer version knows',
} as const satisfies Record<RecordedChange['consent'], string>;

const declined: Readonly<Partial<Record<RecordedChange['consent'], Shown>>> = {
  asked: words('declined when asked'),
  clicked: words('declined with a click'),
  page: words('declined on the page for decisions'),
  option: words('declined beforehand with --yes'),
};

/** Who let it go ahead or declined it, and the client and the caller that it came from. */
function peopleOf({ consent, answeredAfterMs, client, caller, approver, ending }: RecordedChange): Shown[] {
  const after = said(answeredAfterMs === undefined ? words('') : say` after ${duration(answeredAfterMs / 1000)}`);
  const refused = ending?.outcome === 'declined' ? declined[consent] : undefined;
  const named = (name: string): Said => quoted(name, longestName);
  return [
    say`${said(refused ?? words(agreed[consent]))}${after}`,
    say`client ${named(client)}`,
    ...(caller === undefined ? [] : [say`caller ${named(caller)}`]),
    ...(approver === undefined ? [] : [say`decided by ${named(approver)}`]),
  ];
}
