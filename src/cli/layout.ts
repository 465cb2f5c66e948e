import type { Writable } from 'node:stream';
import type { styleText } from 'node:util';
import { exact, type SafeText, say, type Wording, words } from '../util/safe-text.js';

/** The width, the colours and the time zone of text for people. */
export interface HelpPage {
  /** Columns. Infinite for files and pipes. */
  readonly width: number;
  readonly paint: (format: Parameters<typeof styleText>[0], text: string) => string;
  /** By default, the time zone of the process. */
  readonly timeZone?: string | undefined;
}

/** Longer lines than this are hard to read. */
const widestColumns = 120;
const narrowestColumns = 40;

/** The columns that text may fill. A terminal of unknown width has 80. */
export const columnsOf = ({ isTTY, columns }: { readonly isTTY?: boolean; readonly columns?: number }): number =>
  isTTY === true ? Math.max(narrowestColumns, Math.min(widestColumns, columns || 80)) : Number.POSITIVE_INFINITY;

/** East Asian letters, full-width forms and emoji take two columns. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3ffff}]/gu;
const combining = /\p{M}/gu;

/** Number of columns that a line takes on a terminal. */
export const widthOf = (line: string): number =>
  [...line.replace(combining, '')].length + (line.match(wide)?.length ?? 0);

/** Truncates a line to `width` columns, with an ellipsis at its end. */
export function shortened(line: string, width: number): string {
  if (widthOf(line) <= width) return line;
  let start = '';
  let columns = 0;
  for (const character of line) {
    columns += widthOf(character);
    if (columns > width - 1) break;
    start += character;
  }
  return `${start}…`;
}

/** Appends spaces up to a number of columns. */
export const padded = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - widthOf(text)));

export const printLine = <const Text extends string>(screen: Pick<Writable, 'write'>, line: Wording<Text>): void =>
  void screen.write(`${words(line)}\n`);

/**
 * Breaks a paragraph into lines between words. A word that is longer than a line, such as an address, stays whole so that it can be copied.
 * @param first the beginning of the first line, or its number of spaces
 * @param hang number of spaces at the beginning of the other lines
 */
export function wrapped<const Text extends string, const First extends string>(
  text: Wording<Text>,
  width: number,
  first: Wording<First> | number = 0,
  hang = typeof first === 'number' ? first : widthOf(words(first).text),
): string[] {
  const lines: string[] = [];
  let line: string = typeof first === 'number' ? ' '.repeat(first) : words(first).text;
  let isBegun = false;
  for (const word of words(text).text.split(' ')) {
    if (isBegun && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line);
      line = ' '.repeat(hang) + word;
    } else {
      line += isBegun ? ` ${word}` : word;
    }
    isBegun = true;
  }
  return [...lines, line];
}

/** Formats rows in two columns: a label, and each of its texts on a line of its own. Leaves out rows without texts. */
export function labelled<const Label extends string>(
  rows: readonly (readonly [label: Wording<Label>, texts: readonly SafeText[]])[],
  { width, paint }: HelpPage,
): string[] {
  const filledRows = rows
    .filter(([, texts]) => texts.length > 0)
    .map(([label, texts]) => [words(label).text, texts] as const);
  const textColumn = Math.max(0, ...filledRows.map(([label]) => widthOf(label))) + 2;
  const lines: string[] = [];
  for (const [label, texts] of filledRows) {
    let head = paint('bold', label) + ' '.repeat(textColumn - widthOf(label));
    for (const text of texts) {
      const [firstLine = '', ...otherLines] = wrapped(text, width, textColumn);
      lines.push(head + firstLine.slice(textColumn), ...otherLines);
      head = ' '.repeat(textColumn);
    }
  }
  return lines;
}

/** Rows of cells in columns, each row on one line within the width. */
export function tableLines(rows: readonly (readonly SafeText[])[], width: number): string[] {
  const [first = []] = rows;
  const widths = first.map((_, column) => Math.max(...rows.map((row) => widthOf(row[column]?.text ?? ''))));
  return rows.map((row) => {
    const cells = row.map(({ text }, column) => padded(text, widths[column] ?? 0));
    return shortened(cells.join('  ').trimEnd(), width);
  });
}

/** Formats a time in its zone: `2026-11-22 15:41:39 GMT+1`. Undefined if `time` is not a time. */
export const localTime = (time: string | Date, timeZone?: string): SafeText | undefined => localTimes(timeZone)(time);

/** Returns a function that formats times in one zone, for many times. Making the format takes much longer than using it. */
export function localTimes(timeZone?: string): (time: string | Date) => SafeText | undefined {
  const format = new Intl.DateTimeFormat('en-CA', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZone,
    timeZoneName: 'short',
  });
  return (time) => {
    const date = new Date(time);
    if (Number.isNaN(date.getTime())) return undefined;
    const parts = format.formatToParts(date);
    const part = (type: Intl.DateTimeFormatPartTypes) =>
      parts.find((candidate) => candidate.type === type)?.value ?? '';
    return say`${exact(`${part('year')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')}:${part('second')} ${part('timeZoneName')}`)}`;
  };
}
