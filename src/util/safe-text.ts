import { countText as countedText, humanBytes, humanDuration, sentenceCase, withLocalTimes } from './human.js';
import { escapeInvisible, quote, quoteName } from './quote.js';

/**
 * Text for people, models and terminals: our own words, in which everything from outside is quoted. Whatever shows text takes this
 * type, so that other text does not compile. Only this file makes it (test/util/safe-text.test.ts).
 */
class SafeText {
  readonly parts: readonly Part[];
  #text: string | undefined;

  constructor(parts: readonly Part[]) {
    this.parts = parts;
  }

  /** The text as a string. */
  get text(): string {
    this.#text ??= this.parts.map(renderPart).join('');
    return this.#text;
  }

  /** True if both read the same. */
  equals(other: SafeText | undefined): boolean {
    return this.text === other?.text;
  }

  toString(): string {
    return this.text;
  }

  toJSON(): string {
    return this.text;
  }
}

export type { SafeText };

export const isSafeText = (value: unknown): value is SafeText => value instanceof SafeText;

type Part =
  | { readonly kind: 'words'; readonly text: string }
  /** A value from outside, of which at most `limit` characters are shown. */
  | { readonly kind: 'quoted'; readonly value: string; readonly limit?: number }
  /** The name of something of this server's own. */
  | { readonly kind: 'name'; readonly name: string }
  /** A value that is shown without quotation marks. */
  | { readonly kind: 'exact'; readonly value: string };

function renderPart(part: Part): string {
  switch (part.kind) {
    case 'words':
      return part.text;
    case 'quoted':
      return quote(part.value, part.limit);
    case 'name':
      return quoteName(part.name);
    case 'exact':
      return escapeInvisible(part.value);
  }
}

const wordsPart = (text: string): Part => ({ kind: 'words', text });
const textOfPart = (part: Part): SafeText => new SafeText([part]);
const ownWords = (text: string): SafeText => textOfPart(wordsPart(text));

/**
 * Makes safe text: say`Set up ${name} with ${count} nodes`. The words and numbers stay as they are, and so does other safe text. A string
 * is quoted: as a JSON string literal on one line, shortened, with invisible characters escaped.
 */
export function say(words: TemplateStringsArray, ...values: readonly (string | number | SafeText)[]): SafeText {
  return new SafeText(
    words.flatMap((text, index) => {
      const before = text === '' ? [] : [wordsPart(text)];
      const value = values[index];
      return index < values.length ? [...before, ...partsOf(value)] : before;
    }),
  );
}

function partsOf(value: unknown): readonly Part[] {
  if (isSafeText(value)) return value.parts;
  return [typeof value === 'number' ? wordsPart(String(value)) : { kind: 'quoted', value: String(value) }];
}

/** A text from outside, of which at most `limit` characters are shown. */
export const quoted = (value: string, limit: number): SafeText => textOfPart({ kind: 'quoted', value, limit });

/** The name of something of this server's own, such as a tool, an argument, a setting or a time. Quoted if it is not a single word. */
export const own = (name: string): SafeText => textOfPart({ kind: 'name', name });

/** Names of things of this server's own, in a row. */
export const namesOf = (names: readonly string[], between: ', ' | ' or ' | '.' = ', '): SafeText =>
  joined(names.map(own), between);

/**
 * A value that people copy as it is, such as an address, a planId or a command: without quotation marks, and with invisible characters
 * escaped. It stands alone or at the end of a line, or has a form that no words have.
 */
export const exact = (value: string): SafeText => textOfPart({ kind: 'exact', value });

/** The words of a definition or a schema, which no call and no answer can change. */
export const defined = (text: string): SafeText => ownWords(escapeInvisible(text));

/** A string that is one of several literals. */
type Literal<Text extends string> = Record<never, never> extends Record<Text, 1> ? never : Text;

/** Safe text, or a literal of our own words. */
export type Wording<Text extends string> = SafeText | Literal<Text>;

/** The words of a literal: words('nothing was sent'). A string that is made of others does not compile. Safe text stays as it is. */
export const words = <const Text extends string>(text: Wording<Text>): SafeText =>
  isSafeText(text) ? text : ownWords(text);

export const join = (texts: readonly SafeText[], between: ' ' | ', ' | '; ' | '\n'): SafeText => joined(texts, between);

const joined = (texts: readonly SafeText[], between: string): SafeText =>
  new SafeText(texts.flatMap((text, index) => (index === 0 ? text.parts : [wordsPart(between), ...text.parts])));

/** The texts without repetitions. */
export const distinct = (texts: readonly SafeText[]): SafeText[] => [
  ...new Map(texts.map((text) => [text.text, text])).values(),
];

/** `a`, `a and b`, `a, b and c`. */
export const listed = (texts: readonly SafeText[], last: 'and' | 'or' = 'and'): SafeText =>
  new SafeText(
    texts.flatMap((text, index) => {
      const between = index === texts.length - 1 ? ` ${last} ` : ', ';
      return index === 0 ? text.parts : [wordsPart(between), ...text.parts];
    }),
  );

/** `1 part`, `3 parts`. */
export const counted = <const Noun extends string>(count: number, noun: Literal<Noun>): SafeText =>
  ownWords(countedText(count, noun));

/** `96.0 MiB` */
export const bytes = (count: number): SafeText => ownWords(humanBytes(count));

/** `1 h 30 min` */
export const duration = (seconds: number): SafeText => ownWords(humanDuration(seconds));

/** With a capital at its beginning. */
export const sentence = (text: SafeText): SafeText => ownWords(sentenceCase(text.text));

/** The longest name in a headline, or on a button. */
export const longestName = 24;
const quotedIn = /"((?:[^"\\]|\\.)*)"(?: \(cut, \d+ characters\))?/g;

/**
 * A headline, or the words of a button. What is cut has to stand whole below.
 * @param most characters of a quoted name
 */
export const shortNames = (text: SafeText, most = longestName): SafeText =>
  ownWords(
    text.text.replace(quotedIn, (whole, name: string) => ([...name].length <= most ? whole : shortened(name, most))),
  );

/** An escape is not cut in two. */
function shortened(name: string, most: number): string {
  const pieces = [...name.matchAll(/\\u[\da-f]{4}|\\.|[^\\]/gu)].slice(0, most - 1);
  return `"${pieces.join('')}…"`;
}

/**
 * Sentence by sentence in other words, without those of which no word is left. Each expression is tried in turn on a sentence. What is
 * quoted ends no sentence and stays as it is.
 */
export function reworded(text: SafeText, rewrites: readonly (readonly [RegExp, string])[]): SafeText {
  const names: string[] = [];
  const unquoted = text.text.replace(quotedIn, (name) => `"${names.push(name) - 1}"`);
  const made = (unquoted.match(sentenceIn) ?? [])
    .map((one) => rewrites.reduce((before, [from, to]) => before.replace(from, to), one.trim()))
    .filter((one) => /\w/.test(one))
    .map(sentenceCase)
    .join(' ');
  return ownWords(made.replace(quotedIn, (_, index) => names[Number(index)] ?? ''));
}

/** Up to a full stop that ends it, which one within brackets does not. */
const sentenceIn = /(?:[^.(]|\([^)]*\)|\.(?! |$))+(?:\.|$)(?: |$)/g;

/** Without the words that an expression finds, none of which are in quotation marks. */
export const without = (text: SafeText, found: RegExp): SafeText => ownWords(text.text.replace(found, ''));

/** With other words for what an expression without groups finds; undefined leaves it as it is. */
export const replaced = (
  text: SafeText,
  found: RegExp,
  other: (found: string, before: string) => SafeText | undefined,
): SafeText =>
  ownWords(text.text.replace(found, (one, offset: number) => other(one, text.text.slice(0, offset))?.text ?? one));

/** With its times as `write` writes them (milliseconds since 1970). What it quotes stays as it is. */
export const withTimes = (text: SafeText, write: (time: number) => SafeText): SafeText =>
  ownWords(withLocalTimes(text.text, (time) => write(time).text));

/** The first match of an expression that begins and ends outside of quotation marks. */
export function partOf(text: SafeText, found: RegExp): SafeText | undefined {
  const part = found.exec(text.text)?.[0];
  return part === undefined ? undefined : ownWords(part);
}

/** As much of it as so many characters hold, and no part of what is in quotation marks. */
export function beginning(text: SafeText, limit: number): SafeText {
  if (text.text.length <= limit) return text;
  let kept = '';
  for (const [piece] of text.text.matchAll(/"(?:[^"\\]|\\.)*"|[\s\S]/g)) {
    if (kept.length + piece.length >= limit) break;
    kept += piece;
  }
  return ownWords(`${kept.trimEnd()}…`);
}

/** Its first line. What is quoted has no other. */
export const firstLine = (text: SafeText): SafeText => ownWords(text.text.split('\n', 1)[0] ?? '');

/** Its lines. What is quoted is on one. */
export const linesOf = (text: SafeText): SafeText[] => text.text.split('\n').map(ownWords);

/** Text that this server made, where it comes back sealed, or reaches a view. */
export const fromServer = (text: string): SafeText => ownWords(text);
