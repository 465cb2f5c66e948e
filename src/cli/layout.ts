import type { Writable } from 'node:stream';
import type { styleText } from 'node:util';
import { exact, type SafeText, say, type Wording, words } from '../util/safe-text.js';

/** The layout of text for people: its width, its colours and the zone of its times. */
export interface HelpPage {
  /** Columns; infinite where nobody reads along, such as in a pipe. */
  readonly width: number;
  readonly paint: (format: Parameters<typeof styleText>[0], text: string) => string;
  /** Name of a time zone; the process's own if absent. */
  readonly timeZone?: string | undefined;
}

/** Longer lines than this are hard to read. */
const widestColumns = 120;
const narrowestColumns = 40;

/** The columns of a terminal that text may fill. One that does not know its width has 80. */
export const columnsOf = ({ isTTY, columns }: { readonly isTTY?: boolean; readonly columns?: number }): number =>
  isTTY === true ? Math.max(narrowestColumns, Math.min(widestColumns, columns || 80)) : Number.POSITIVE_INFINITY;

/** Letters of East Asia, full-width forms and emoji, which take two columns. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3ffff}]/gu;
const combining = /\p{M}/gu;

/** The columns that a line takes on a terminal. */
export const widthOf = (line: string): number =>
  [...line.replace(combining, '')].length + (line.match(wide)?.length ?? 0);

/** The line itself, or as much of it as fits with a mark that more follows. */
export function shortened(line: string, width: number): string {
  if (widthOf(line) <= width) return line;
  const kept: string[] = [];
  let used = 0;
  for (const character of line) {
    used += widthOf(character);
    if (used > width - 1) break;
    kept.push(character);
  }
  return `${kept.join('')}…`;
}

/** `text` padded to a number of columns. */
export const padded = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - widthOf(text)));

/** Prints a line for people. */
export const printLine = <const Text extends string>(screen: Pick<Writable, 'write'>, line: Wording<Text>): void =>
  void screen.write(`${words(line)}\n`);

/**
 * Lines of a paragraph, broken between words. The first begins with `first`, or so many spaces, the others with as many spaces as `hang`
 * says. A word that is longer than a line, such as an address, stays whole so that it can be copied.
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

/** Rows of a label and its texts, one below the other in a column of their own. */
export function labelled<const Label extends string>(
  rows: readonly (readonly [label: Wording<Label>, texts: readonly SafeText[]])[],
  { width, paint }: HelpPage,
): string[] {
  const shown = rows.flatMap(([label, texts]) => (texts.length === 0 ? [] : [{ label: words(label).text, texts }]));
  const column = Math.max(0, ...shown.map(({ label }) => widthOf(label))) + 2;
  return shown.flatMap(({ label, texts }) =>
    texts.flatMap((text, index) => {
      const [start = '', ...others] = wrapped(text, width, column);
      const head = index === 0 ? paint('bold', label) + ' '.repeat(column - widthOf(label)) : ' '.repeat(column);
      return [head + start.slice(column), ...others];
    }),
  );
}

/** `2026-11-22 15:41:39 GMT+1`: a time as the clock on the wall shows it, with its zone. Undefined if it is none. */
export function localTime(time: string | Date, timeZone?: string): SafeText | undefined {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return undefined;
  const parts = new Intl.DateTimeFormat('en-CA', {
    ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' },
    hourCycle: 'h23',
    timeZone,
    timeZoneName: 'short',
  }).formatToParts(date);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? '';
  return say`${exact(`${part('year')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')}:${part('second')} ${part('timeZoneName')}`)}`;
}
