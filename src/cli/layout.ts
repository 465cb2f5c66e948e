import type { Writable } from 'node:stream';
import { lazy } from '../util/objects.js';
import { exact, type SafeText, type Wording, words } from '../util/safe-text.js';

/** An output stream: a terminal, which has `columns`, or a file or pipe. */
export type Screen = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Number of columns that text may fill: infinite in a file or pipe. Longer lines than 120 are hard to read. */
export const columnsOf = ({ isTTY, columns }: Pick<Screen, 'isTTY' | 'columns'>): number =>
  isTTY === true ? Math.max(40, Math.min(120, columns || 80)) : Number.POSITIVE_INFINITY;

/** Characters that take two columns, such as East Asian letters and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3ffff}]/gu;
/** Number of columns that a line takes on a terminal. Marks above or below a letter take none. */
export const widthOf = (line: string): number =>
  [...line.replace(/\p{M}/gu, '')].length + (line.match(wide)?.length ?? 0);

export const printLine = <const Text extends string>(screen: Pick<Writable, 'write'>, line: Wording<Text>): void =>
  void screen.write(`${words(line)}\n`);

interface Beginnings<Start extends string> {
  /** Text, or a number of spaces. */
  readonly start?: Wording<Start> | number;
  /** Number of spaces before the other lines. */
  readonly indent?: number;
}

/** Before a space, and around marks of Japanese, which has no spaces. */
const breaks = /(?= )|(?<=[、。：）])(?=[^ 、。）])|(?=（)/;

/** Breaks a paragraph into lines between words. A longer word stays whole so that it can be copied. */
export function wrapped<const Text extends string, const Start extends string>(
  text: Wording<Text>,
  width: number,
  { indent, start = indent ?? 0 }: Beginnings<Start> = {},
): string[] {
  const startText: string = typeof start === 'number' ? ' '.repeat(start) : words(start).text;
  const indentText = ' '.repeat(indent ?? widthOf(startText));
  const [firstWord = '', ...otherWords] = words(text).text.split(breaks);

  const fullLines: string[] = [];
  let line = startText + firstWord;
  for (const word of otherWords) {
    if (widthOf(line + word) <= width) {
      line += word;
    } else {
      fullLines.push(line);
      line = indentText + word.replace(/^ /, '');
    }
  }
  return [...fullLines, line];
}

export const printWrapped = <const Text extends string, const Start extends string>(
  screen: Screen,
  text: Wording<Text>,
  beginnings?: Beginnings<Start>,
): void => void screen.write(`${wrapped(text, columnsOf(screen), beginnings).join('\n')}\n`);

/** Returns the function that formats a time in a time zone: `2026-11-22 15:41:39 GMT+1`. Undefined if it is not a time. */
export function localTimeIn(timeZone: string | undefined): (time: string | number) => SafeText | undefined {
  // Making a format takes much longer than using it. Swedes write dates as ISO 8601 does.
  const getFormat = lazy(
    () => new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'long', ...(timeZone && { timeZone }) }),
  );
  return (time) => {
    const date = new Date(time);
    return Number.isNaN(date.getTime()) ? undefined : exact(getFormat().format(date));
  };
}
