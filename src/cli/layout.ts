import type { Writable } from 'node:stream';
import type { styleText } from 'node:util';
import { lazy } from '../util/objects.js';
import { exact, type SafeText, type Wording, words } from '../util/safe-text.js';

/** An output stream: a terminal, which has `columns`, or a file or pipe. */
export type Screen = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** The width, the colours and the times of text for people. */
export interface TextLayout {
  /** Number of columns. Infinite for files and pipes, whose lines are never broken or cut. */
  readonly width: number;
  readonly paint: (format: Parameters<typeof styleText>[0], text: string) => string;
  /** Formats a time in the reader's zone: `2026-11-22 15:41:39 GMT+1`. Undefined if `time` is not a time. */
  readonly localTime: (time: string | number) => SafeText | undefined;
}

/** Text does not fill wider terminals, because longer lines are hard to read. */
const widestColumns = 120;
/** On a narrower terminal, the terminal itself breaks the lines. */
const narrowestColumns = 40;

/** Number of columns that text may fill: infinite in a file or pipe, and 80 on a terminal of unknown width. */
export const columnsOf = ({ isTTY, columns }: Pick<Screen, 'isTTY' | 'columns'>): number =>
  isTTY === true ? Math.max(narrowestColumns, Math.min(widestColumns, columns || 80)) : Number.POSITIVE_INFINITY;

/** Characters that take two columns: East Asian letters, full-width forms and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3ffff}]/gu;
/** Marks that take no column, because they stand above or below a letter. */
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

/** How the lines of a paragraph begin. If only one of the two is given, all lines begin at the same column. */
interface Beginnings<Start extends string> {
  /** The beginning of the first line, or its number of spaces. */
  readonly start?: Wording<Start> | number;
  /** Number of spaces at the beginning of the other lines. */
  readonly indent?: number;
}

/** Breaks a paragraph into lines between words. A word that is longer than a line, such as an address, stays whole so that it can be copied. */
export function wrapped<const Text extends string, const Start extends string>(
  text: Wording<Text>,
  width: number,
  { indent, start = indent ?? 0 }: Beginnings<Start> = {},
): string[] {
  const startText: string = typeof start === 'number' ? ' '.repeat(start) : words(start).text;
  const indentText = ' '.repeat(indent ?? widthOf(startText));
  const [firstWord = '', ...otherWords] = words(text).text.split(' ');

  const fullLines: string[] = [];
  let line = startText + firstWord;
  for (const word of otherWords) {
    if (widthOf(`${line} ${word}`) <= width) {
      line = `${line} ${word}`;
    } else {
      fullLines.push(line);
      line = indentText + word;
    }
  }
  return [...fullLines, line];
}

/** Returns the `localTime` of a layout. By default, the zone is that of the process. */
export function localTimeIn(timeZone: string | undefined): TextLayout['localTime'] {
  // Created once, when the first time is formatted, because creating the format takes much longer than using it.
  const format = lazy(
    () =>
      new Intl.DateTimeFormat('en-CA', {
        year: 'numeric',
        month: '2-digit',
        day: '2-digit',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
        hourCycle: 'h23',
        timeZone,
        timeZoneName: 'short',
      }),
  );
  return (time) => {
    const date = new Date(time);
    if (Number.isNaN(date.getTime())) return undefined;

    const parts = format().formatToParts(date);
    const part = (type: Intl.DateTimeFormatPartTypes) =>
      parts.find((candidate) => candidate.type === type)?.value ?? '';
    const day = `${part('year')}-${part('month')}-${part('day')}`;
    const clock = `${part('hour')}:${part('minute')}:${part('second')}`;
    return exact(`${day} ${clock} ${part('timeZoneName')}`);
  };
}
