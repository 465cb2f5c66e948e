import {
  countText as countedText,
  humanBytes,
  humanDuration,
  listText as listedText,
  sentenceCase,
  withLocalTimes,
} from './human.js';
import { escapeInvisible, quote, quoteName } from './quote.js';

/**
 * Text for people, models and terminals: our own words, in which everything from outside is quoted. Whatever shows text takes this
 * type, so that other text does not compile. No other file makes it (test/util/safe-text.test.ts).
 */
export type Shown = string & { readonly [brand]: true };
declare const brand: unique symbol;

const shown = (text: string) => text as Shown;

/** A piece of `say` that is ready to be shown. An object, because no text from outside is one. */
export class Said {
  readonly text: Shown;
  constructor(text: Shown) {
    this.text = text;
  }
}

/** A value that `say` takes: a text is quoted, and one that is shown already goes through `said`. */
type Value<Given> = Given extends Shown ? never : Given extends string | number | Said ? Given : never;

type Say = <const Values extends readonly unknown[]>(
  words: TemplateStringsArray,
  ...values: { readonly [Index in keyof Values]: Value<Values[Index]> }
) => Shown;

/** A `say` whose texts somebody keeps. */
export const sayAndKeep =
  (keep: (text: Shown) => void): Say =>
  (words, ...values) => {
    const text = shown(words.reduce((before, next, index) => before + pieceOf(values[index - 1]) + next));
    keep(text);
    return text;
  };

/**
 * Makes text to be shown: say`Set up ${name} with ${count} nodes`. The words and numbers stay as they are. A text is quoted: as a JSON
 * string literal on one line, bounded, with what is invisible spelled out.
 */
export const say: Say = sayAndKeep(() => undefined);

function pieceOf(value: unknown): string {
  if (value instanceof Said) return value.text;
  return typeof value === 'number' ? String(value) : quote(String(value));
}

/** A text that is shown already, as a piece. */
export const said = (text: Shown): Said => new Said(text);

/** A text from outside, of which so many characters are shown. */
export const quoted = (text: string, limit: number): Said => said(shown(quote(text, limit)));

/** The name of something of this server's own, such as a tool, an argument, a setting or a time: bare where it is one word. */
export const own = (name: string): Said => said(shown(quoteName(name)));

/** Names of things of this server's own, in a row. */
export const namesOf = (names: readonly string[], between: ', ' | ' or ' | '.' = ', '): Said =>
  said(shown(names.map(quoteName).join(between)));

/**
 * A value that people copy as it is, such as an address, a planId or a command: without quotation marks, and with what is invisible
 * spelled out. It stands alone or at the end of a line, or is of a form that no words have.
 */
export const exact = (value: string): Said => said(shown(escapeInvisible(value)));

/** The words of a definition or a schema, which no call and no answer can change. */
export const defined = (text: string): Said => said(shown(escapeInvisible(text)));

/** A text that is one of several literals. */
export type Literal<Text extends string> = Text extends Shown
  ? Text
  : Record<never, never> extends Record<Text, 1>
    ? never
    : Text;

/** The words of a literal: words('nothing was sent'). A text that is made of others does not compile. */
export const words = <const Text extends string>(text: Literal<Text>): Shown => shown(text);

export const join = (parts: readonly Shown[], between: ' ' | ', ' | '; ' | '\n'): Shown => shown(parts.join(between));

/** `a`, `a and b`, `a, b and c`. */
export const listed = (parts: readonly Shown[], last?: 'and' | 'or'): Said => said(shown(listedText(parts, last)));

/** `1 part`, `3 parts`. */
export const counted = <const Noun extends string>(count: number, noun: Literal<Noun>): Said =>
  said(shown(countedText(count, noun)));

/** `96.0 MiB` */
export const bytes = (count: number): Said => said(shown(humanBytes(count)));

/** `1 h 30 min` */
export const duration = (seconds: number): Said => said(shown(humanDuration(seconds)));

/** With a capital at its beginning. */
export const sentence = (text: Shown): Shown => shown(sentenceCase(text));

/** The longest name in a headline, or on a button. */
export const longestName = 24;
const quotedIn = /"((?:[^"\\]|\\.)*)"(?: \(cut, \d+ characters\))?/g;

/**
 * A headline, or the words of a button. What is cut has to stand whole below.
 * @param most characters of a quoted name
 */
export const shortNames = (text: Shown, most = longestName): Shown =>
  shown(text.replace(quotedIn, (whole, name: string) => ([...name].length <= most ? whole : shortened(name, most))));

/** An escape is not cut in two. */
function shortened(name: string, most: number): string {
  const pieces = [...name.matchAll(/\\u[\da-f]{4}|\\.|[^\\]/gu)].slice(0, most - 1);
  return `"${pieces.join('')}…"`;
}

/**
 * Sentence by sentence in other words, without those of which no word is left. Each expression is tried in turn on a sentence. What is
 * quoted ends no sentence and stays as it is.
 */
export function reworded(text: Shown, rewrites: readonly (readonly [RegExp, string])[]): Shown {
  const names: string[] = [];
  const unquoted = text.replace(quotedIn, (name) => `"${names.push(name) - 1}"`);
  const made = (unquoted.match(sentenceIn) ?? [])
    .map((one) => rewrites.reduce((before, [from, to]) => before.replace(from, to), one.trim()))
    .filter((one) => /\w/.test(one))
    .map(sentenceCase)
    .join(' ');
  return shown(made.replace(quotedIn, (_, index) => names[Number(index)] ?? ''));
}

/** Up to a full stop that ends it, which one within brackets does not. */
const sentenceIn = /(?:[^.(]|\([^)]*\)|\.(?! |$))+(?:\.|$)(?: |$)/g;

/** Without the words that an expression finds, none of which are in quotation marks. */
export const without = (text: Shown, found: RegExp): Shown => shown(text.replace(found, ''));

/** With other words for what an expression without groups finds; undefined leaves it as it is. */
export const replaced = (
  text: Shown,
  found: RegExp,
  other: (found: string, before: string) => Said | undefined,
): Shown => shown(text.replace(found, (one, offset: number) => other(one, text.slice(0, offset))?.text ?? one));

/** With its times as `write` writes them (milliseconds since 1970). What it quotes stays as it is. */
export const withTimes = (text: Shown, write: (time: number) => Said): Shown =>
  shown(withLocalTimes(text, (time) => write(time).text));

/** The first match of an expression that begins and ends outside of quotation marks. */
export function partOf(text: Shown, found: RegExp): Shown | undefined {
  const part = found.exec(text)?.[0];
  return part === undefined ? undefined : shown(part);
}

/** As much of it as so many characters hold, and no part of what is in quotation marks. */
export function beginning(text: Shown, limit: number): Shown {
  if (text.length <= limit) return text;
  let kept = '';
  for (const [piece] of text.matchAll(/"(?:[^"\\]|\\.)*"|[\s\S]/g)) {
    if (kept.length + piece.length >= limit) break;
    kept += piece;
  }
  return shown(`${kept.trimEnd()}…`);
}

/** Its first line. What is quoted has no other. */
export const firstLine = (text: Shown): Shown => shown(text.split('\n', 1)[0] ?? '');

/** Its lines. What is quoted is on one. */
export const linesOf = (text: Shown): Shown[] => text.split('\n').map(shown);

/** Text that this server made, where it comes back sealed, or reaches a view. */
export const fromServer = (text: string): Shown => shown(text);
