import { outcomes, type RecordedChange } from '../journal/entry.js';
import { humanDuration } from '../util/human.js';
import { quoteName, spellOut } from '../util/quote.js';
import { localTime, type Page, padded, widthOf, wrapped } from './layout.js';

const noOutcome = 'no outcome';
const outcomeColumns = Math.max(...[...outcomes, noOutcome].map(widthOf)) + 2;
/** A column of text that is narrower than this cannot be read: such a terminal gets lines that it breaks itself. */
const narrowestText = 30;

const colours = {
  accepted: 'green',
  rejected: 'red',
  unknown: 'yellow',
  'not sent': 'dim',
  declined: 'dim',
} as const;

/**
 * A change as a row of a table: when, in local time, what came of it, and what it was; below that who let it go ahead. On a terminal
 * each column keeps its place; elsewhere a change is one line, with the address that it went to.
 */
export function changeLines(change: RecordedChange, { width, paint, timeZone }: Page): string[] {
  const { time, what, tool, target, ending } = change;
  const when = `${localTime(time, timeZone) ?? 'at an unknown time'}  `;
  const outcome = padded(ending?.outcome ?? noOutcome, outcomeColumns);
  const start = paint('dim', when) + paint(ending === undefined ? 'yellow' : colours[ending.outcome], outcome);
  const indent = widthOf(when) + outcomeColumns;
  const code = ending?.code === undefined ? '' : ` (${quoteName(ending.code)})`;
  const about = `${shown(what)}${code}`;
  const people = peopleOf(change);
  if (!Number.isFinite(width) || width - indent < narrowestText)
    return [[start + about, quoteName(tool), shown(target), ...people].join('  ')];
  const [first = '', ...others] = wrapped(about, width, ' '.repeat(indent));
  const below = wrapped([quoteName(tool), ...people].join(', '), width, ' '.repeat(indent));
  return [start + first.slice(indent), ...others, ...below.map((line) => paint('dim', line))];
}

const agreed: Readonly<Record<RecordedChange['consent'], string>> = {
  asked: 'agreed when asked',
  clicked: 'agreed with a click',
  page: 'agreed on the page for decisions',
  planId: 'planId of its plan',
  option: 'agreed beforehand with --yes',
  off: 'nobody was asked',
  withdrawn: 'withdrawn by its caller',
  other: 'consent of a kind that only a newer version knows',
};

/** Who let it go ahead or declined it, and the client and the caller that it came from. */
function peopleOf({ consent, answeredAfterMs, client, caller, approver, ending }: RecordedChange): string[] {
  const after = answeredAfterMs === undefined ? '' : ` after ${humanDuration(answeredAfterMs / 1000)}`;
  const way = ending?.outcome === 'declined' ? agreed[consent].replace('agreed', 'declined') : agreed[consent];
  return [
    `${way}${after}`,
    `client ${shown(client, 100)}`,
    ...(caller === undefined ? [] : [`caller ${shown(caller, 100)}`]),
    ...(approver === undefined ? [] : [`decided by ${shown(approver, 100)}`]),
  ];
}

/** Others than this server may have written in the journal: texts are bounded, and what is invisible in them is spelled out. */
function shown(text: string, limit = 500): string {
  const characters = [...text];
  return spellOut(characters.length > limit ? `${characters.slice(0, limit).join('')}…` : text);
}
