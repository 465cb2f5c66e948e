import { said, say } from '../util/safe-text.js';
import { type HelpPage, padded, widthOf, wrapped } from './layout.js';
import type { Finding } from './probe.js';

/** Colours of the states, the longest of which makes the first column. */
const colours = { ok: 'green', 'not checked': 'cyan', warning: 'yellow', problem: 'red' } as const;
const statusColumns = Math.max(...Object.keys(colours).map((status) => status.length)) + 2;
/** A column of text that is narrower than this stands below its check. */
const narrowestText = 40;

/** The findings of `doctor`, for people. `apisChecked` is undefined if the configuration did not allow any check of them. */
export function doctorReport(
  findings: readonly Finding[],
  apisChecked: number | undefined,
  { width, paint }: HelpPage,
): string {
  const checkColumns = Math.max(...findings.map(({ check }) => widthOf(check))) + 2;
  const beside = statusColumns + checkColumns;
  const isBeside = width - beside >= narrowestText;
  const lines = findings.flatMap(({ check, status, detail, remedy }) => {
    const state = paint(colours[status], padded(status, statusColumns));
    const indent = isBeside ? beside : statusColumns;
    const [first = '', ...others] = wrapped(detail, width, indent);
    return [
      ...(isBeside
        ? [state + padded(check, checkColumns) + first.slice(beside)]
        : [state + paint('bold', check), first]),
      ...others,
      ...(remedy === undefined ? [] : wrapped(say`→ ${said(remedy)}`, width, indent, indent + 2)),
    ];
  });
  const count = (wanted: Finding['status']) => findings.filter(({ status }) => status === wanted).length;
  const summary = [
    say`problems: ${count('problem')}, warnings: ${count('warning')}, not checked: ${count('not checked')}`,
    ...(apisChecked === 0
      ? [say`No API was checked, because none is set up. CLOUDOPS_SANDBOX=1 needs no account.`]
      : []),
  ];
  return `${[...lines, '', ...summary.flatMap((line) => wrapped(line, width))].join('\n')}\n`;
}
