import { countText as countedText, humanBytes, humanDuration, sentenceCase } from './human.js';
import { escapeInvisible, escapeQuoted, quote, quoteName } from './quote.js';

/**
 * Text for people, models and terminals. It has our own words, and quotes everything from outside. Code that shows text takes this type,
 * so that other text does not compile. Only this file makes it (test/util/safe-text.test.ts).
 *
 * The text is a list of parts, so that it can be shortened, stored and written for another reader without searching its words.
 */
class SafeText {
  readonly parts: readonly Part[];
  #text: string | undefined;

  constructor(parts: readonly Part[]) {
    this.parts = joinWords(parts);
  }

  /** The text as models read it. */
  get text(): string {
    this.#text ??= this.parts.map(renderPart).join('');
    return this.#text;
  }

  /** True if models read the same text. */
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

export type Part =
  | { readonly kind: 'words'; readonly text: string }
  /** A value from outside, of which at most `limit` characters are shown. With `longest`, it is a short name: see `shortNames`. */
  | { readonly kind: 'quoted'; readonly value: string; readonly limit?: number; readonly longest?: number }
  /** A name that this server defines, such as the name of a tool. */
  | { readonly kind: 'name'; readonly name: string; readonly longest?: number }
  /** An argument by its dotted path. A plan shows its name in words instead. */
  | { readonly kind: 'argument'; readonly path: string }
  /** A value that is shown without quotation marks. */
  | { readonly kind: 'exact'; readonly value: string }
  /** Milliseconds since 1970. */
  | { readonly kind: 'time'; readonly time: number }
  /** Left out first if the text has to be short. */
  | { readonly kind: 'detail'; readonly parts: readonly Part[] }
  /** Words that differ by reader. */
  | { readonly kind: 'readers'; readonly readers: Readonly<Record<Reader, readonly Part[]>> };

/** A model, the person whom it works for, or the person who runs this server and reads at a terminal. */
type Reader = 'agent' | 'person' | 'operator';

/** Joins neighbouring words to one part. */
function joinWords(parts: readonly Part[]): readonly Part[] {
  const joined: Part[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.kind === 'words' && last?.kind === 'words') joined.splice(-1, 1, wordsPart(last.text + part.text));
    else joined.push(part);
  }
  return joined;
}

function renderPart(part: Part): string {
  switch (part.kind) {
    case 'words':
      return part.text;
    case 'quoted':
      return shortened(quote(part.value, part.limit), part.value, part.longest);
    case 'name':
      return shortened(quoteName(part.name), part.name, part.longest);
    case 'argument':
      return quoteName(part.path);
    case 'exact':
      return escapeInvisible(part.value);
    case 'time':
      return new Date(part.time).toISOString();
    case 'detail':
      return part.parts.map(renderPart).join('');
    case 'readers':
      return part.readers.agent.map(renderPart).join('');
  }
}

/**
 * Shortens a value that is shown as `quoted` to `longest` characters. The cut is between characters, never inside an escape sequence. A
 * name without quotation marks stays whole.
 */
function shortened(quoted: string, value: string, longest: number | undefined): string {
  if (longest === undefined || !quoted.startsWith('"')) return quoted;
  // A value may have megabytes. A character has one or two units of UTF-16.
  const characters = [...value.slice(0, 2 * longest + 2)].map(escapeQuoted);
  if (characters.join('').length <= longest) return quoted;
  return `"${characters.slice(0, longest - 1).join('')}…"`;
}

const wordsPart = (text: string): Part => ({ kind: 'words', text });
const ownWords = (text: string): SafeText => new SafeText([wordsPart(text)]);

/**
 * Makes safe text: say`Set up ${name} with ${count} nodes`. The words and numbers stay as they are, and so does other safe text. A string
 * becomes a JSON string literal on one line, shortened, with invisible characters escaped.
 */
export function say(words: TemplateStringsArray, ...values: readonly (string | number | SafeText)[]): SafeText {
  const parts: Part[] = [];
  for (const [index, text] of words.entries()) {
    if (text !== '') parts.push(wordsPart(text));
    // The words after the last value.
    if (index === values.length) break;
    const value = values[index];
    if (isSafeText(value)) parts.push(...value.parts);
    else if (typeof value === 'number') parts.push(wordsPart(String(value)));
    // Outside files of operations may pass any value.
    else parts.push({ kind: 'quoted', value: String(value) });
  }
  return new SafeText(parts);
}

/** A text from outside, of which at most `limit` characters are shown. */
export const quoted = (value: string, limit: number): SafeText => new SafeText([{ kind: 'quoted', value, limit }]);

/** A name that this server defines, such as the name of a tool, an argument or a setting. Quoted if it is not a single word. */
export const own = (name: string): SafeText => new SafeText([{ kind: 'name', name }]);

/** An argument of an operation by its dotted path: `adminCluster.controlPlane`. A plan shows its name in words instead. */
export const argument = (path: string): SafeText => new SafeText([{ kind: 'argument', path }]);

/** A list of names that this server defines. */
export const namesOf = (names: readonly string[], between: ', ' | ' or ' | '.' = ', '): SafeText =>
  join(names.map(own), between);

/**
 * A value that people copy as it is, such as an address, a planId or a command: without quotation marks, and with invisible characters
 * escaped. Use it only at the end of a line, or for a value that cannot be mistaken for words.
 */
export const exact = (value: string): SafeText => new SafeText([{ kind: 'exact', value }]);

/** The words of a definition or a schema, which no call and no answer can change. */
export const defined = (text: string): SafeText => ownWords(escapeInvisible(text));

/** A literal type, or a union of literal types. `never` for the type `string`. */
type Literal<Text extends string> = Record<never, never> extends Record<Text, 1> ? never : Text;

/** Safe text, or a literal of our own words. */
export type Wording<Text extends string> = SafeText | Literal<Text>;

/** The words of a literal: words('nothing was sent'). A string that is made of others does not compile. Safe text stays as it is. */
export const words = <const Text extends string>(text: Wording<Text>): SafeText =>
  isSafeText(text) ? text : ownWords(text);

export const join = (texts: readonly SafeText[], between: '' | ' ' | ', ' | '; ' | ' or ' | '.' | '\n'): SafeText =>
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

/** A time in ISO 8601. Models read it in UTC, and people at a terminal in their own zone. Other text stays as it is. */
export function time(iso: string): SafeText {
  const milliseconds = Date.parse(iso);
  return Number.isNaN(milliseconds) ? own(iso) : new SafeText([{ kind: 'time', time: milliseconds }]);
}

/** A part of a text that is left out first if the text has to be short, such as a remark in brackets. */
export const detail = (text: SafeText): SafeText => new SafeText([{ kind: 'detail', parts: text.parts }]);

/** A text that reads differently for a model and for people. Without `operator`, both people read the same. */
export function forReader<
  const Agent extends string,
  const Person extends string,
  const Operator extends string,
>(texts: {
  readonly agent: Wording<Agent>;
  readonly person: Wording<Person>;
  readonly operator?: Wording<Operator>;
}): SafeText {
  const person = words(texts.person).parts;
  const operator = texts.operator === undefined ? person : words(texts.operator).parts;
  return new SafeText([{ kind: 'readers', readers: { agent: words(texts.agent).parts, person, operator } }]);
}

/** The text as one reader reads it. It may be empty. */
export function textFor(reader: Reader, text: SafeText): SafeText {
  const chosen = new SafeText(partsFor(reader, text.parts));
  // A sentence for another reader leaves spaces at the beginning or end.
  const [first, ...others] = trimmedAtEnd(chosen.parts).parts;
  return first?.kind === 'words' ? new SafeText([wordsPart(first.text.trimStart()), ...others]) : chosen;
}

const partsFor = (reader: Reader, parts: readonly Part[]): readonly Part[] =>
  parts.flatMap((part): readonly Part[] => {
    if (part.kind === 'readers') return partsFor(reader, part.readers[reader]);
    return part.kind === 'detail' ? [{ ...part, parts: partsFor(reader, part.parts) }] : [part];
  });

/** Writes the first letter as a capital, unless the text begins with a value. */
export function sentence(text: SafeText): SafeText {
  const [first, ...others] = text.parts;
  return first?.kind === 'words' ? new SafeText([wordsPart(sentenceCase(first.text)), ...others]) : text;
}

/** The longest name in a headline or a table. An ID of 32 characters stays whole. */
export const longestName = 32;

/** The longest name on a button, or in a text that has to fit. */
export const longestLabelName = 24;

/** Cuts each name to `longest` characters. The whole name has to be shown elsewhere. */
export const shortNames = (text: SafeText, longest = longestName): SafeText =>
  new SafeText(mapParts(text.parts, (part) => [isName(part) ? { ...part, longest } : part]));

const isName = (part: Part) => part.kind === 'quoted' || part.kind === 'name';

/** Replaces each part that has no parts inside, at any depth. */
const mapParts = (parts: readonly Part[], replace: (part: Part) => readonly Part[]): readonly Part[] =>
  parts.flatMap((part): readonly Part[] => {
    if (part.kind === 'detail') return [{ ...part, parts: mapParts(part.parts, replace) }];
    if (part.kind !== 'readers') return replace(part);
    const { agent, person, operator } = part.readers;
    const readers = {
      agent: mapParts(agent, replace),
      person: mapParts(person, replace),
      operator: mapParts(operator, replace),
    };
    return [{ kind: 'readers', readers }];
  });

export const withoutDetails = (text: SafeText): SafeText =>
  new SafeText(text.parts.filter((part) => part.kind !== 'detail'));

/** A shortened text, and what it lacks: the details that were dropped and the names that were cut, whole. */
export interface Shortened {
  readonly line: SafeText;
  readonly lacks: readonly SafeText[];
}

/** The line with everything that a shortened text lacks. */
export const inFull = ({ lacks }: Shortened): SafeText[] =>
  lacks.length === 0 ? [] : [say`In full: ${join(lacks, ', ')}.`];

/** One character and an ellipsis. */
const shortestName = 2;

/**
 * Shortens a text to `limit` characters. Names get at most `longest` characters, then details are dropped from the last to the first, then
 * names are cut further, and then the text is cut.
 */
export function fitted(text: SafeText, limit = Number.POSITIVE_INFINITY, longest = longestName): Shortened {
  const details = text.parts.filter((part) => part.kind === 'detail');
  for (let detailCount = details.length; detailCount >= 0; detailCount -= 1) {
    const dropped = details.slice(detailCount);
    const remaining = new SafeText(text.parts.filter((part) => !dropped.some((detail) => detail === part)));
    const shortest = detailCount === 0 ? shortestName : longest;
    for (let nameLimit = longest; nameLimit >= shortest; nameLimit -= 1) {
      const line = shortNames(remaining, nameLimit);
      if (line.text.length > limit) continue;
      return { line, lacks: [...cutNames(remaining, nameLimit), ...dropped.map(detailText)] };
    }
  }
  return { line: cut(shortNames(withoutDetails(text), shortestName), limit), lacks: [text] };
}

/** The names of a text that have more than `longest` characters. */
const cutNames = ({ parts }: SafeText, longest: number): readonly SafeText[] =>
  parts.flatMap((part) => {
    if (part.kind === 'detail') return cutNames(new SafeText(part.parts), longest);
    return isName(part) && renderPart({ ...part, longest }) !== renderPart(part) ? [new SafeText([part])] : [];
  });

/** A detail without the comma, colon or space that joins it to its sentence. */
function detailText({ parts: [first, ...others] }: Extract<Part, { kind: 'detail' }>): SafeText {
  const start = first?.kind === 'words' ? wordsPart(first.text.replace(/^[\s,:;]+/, '')) : first;
  return new SafeText(start === undefined ? [] : [start, ...others]);
}

/** Shortens a text to `limit` characters. A value is kept or dropped as a whole. */
export function cut(text: SafeText, limit: number): SafeText {
  if (text.text.length <= limit) return text;
  // One character is for the ellipsis.
  let charactersLeft = limit - 1;
  const start: Part[] = [];
  for (const part of text.parts) {
    const rendered = renderPart(part);
    if (rendered.length > charactersLeft) {
      if (part.kind === 'words') start.push(wordsPart(rendered.slice(0, charactersLeft)));
      break;
    }
    start.push(part);
    charactersLeft -= rendered.length;
  }
  return say`${trimmedAtEnd(start)}…`;
}

function trimmedAtEnd(parts: readonly Part[]): SafeText {
  const last = parts.at(-1);
  if (last?.kind !== 'words') return new SafeText(parts);
  const text = last.text.trimEnd();
  return text === '' ? trimmedAtEnd(parts.slice(0, -1)) : new SafeText([...parts.slice(0, -1), wordsPart(text)]);
}

/** The text before the first `mark` in our own words, or undefined if the words do not have the mark. */
export function upTo(text: SafeText, mark: '. ' | ': ' | '\n'): SafeText | undefined {
  const index = text.parts.findIndex((part) => part.kind === 'words' && part.text.includes(mark));
  const part = text.parts[index];
  if (part?.kind !== 'words') return undefined;
  return new SafeText([...text.parts.slice(0, index), wordsPart(part.text.slice(0, part.text.indexOf(mark)))]);
}

/** The text with its times as `write` writes them (milliseconds since 1970). */
export const withTimes = (text: SafeText, write: (time: number) => SafeText): SafeText =>
  new SafeText(mapParts(text.parts, (part) => (part.kind === 'time' ? write(part.time).parts : [part])));

/** The text with arguments in words: `the disk size`. An argument for which `nameOf` returns undefined stays a path. */
export const withArgumentNames = ({ parts }: SafeText, nameOf: (path: string) => string | undefined): SafeText =>
  new SafeText(
    parts.map((part, index) => {
      const name = part.kind === 'argument' ? nameOf(part.path) : undefined;
      if (name === undefined) return part;
      // "node pool 1" is a name by itself.
      const withArticle = /\d$/.test(name) ? name : `the ${name}`;
      const before = parts[index - 1];
      const startsSentence = before === undefined || (before.kind === 'words' && before.text.endsWith('. '));
      return wordsPart(startsSentence ? sentenceCase(withArticle) : withArticle);
    }),
  );

/** Splits a text at its line breaks. All of them are in this program's own words, because quoting escapes those of values. */
export function linesOf(text: SafeText): SafeText[] {
  const lines: Part[][] = [[]];
  for (const part of text.parts) {
    const pieces = part.kind === 'words' ? part.text.split('\n').map(wordsPart) : [part];
    for (const [index, piece] of pieces.entries()) {
      if (index === 0) lines.at(-1)?.push(piece);
      else lines.push([piece]);
    }
  }
  return lines.map((parts) => new SafeText(parts));
}

/**
 * The text in pieces: each time as milliseconds since 1970, and everything between two times as models read it. A reader that shows times
 * in its own zone writes them.
 */
export function piecesOf(text: SafeText): readonly (string | number)[] {
  const pieces: (string | number)[] = [];
  for (const piece of text.parts.flatMap(piecesOfPart)) {
    const last = pieces.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') pieces[pieces.length - 1] = last + piece;
    else pieces.push(piece);
  }
  return pieces;
}

function piecesOfPart(part: Part): readonly (string | number)[] {
  if (part.kind === 'time') return [part.time];
  if (part.kind === 'detail') return piecesOf(new SafeText(part.parts));
  if (part.kind === 'readers') return piecesOf(new SafeText(part.readers.agent));
  return [renderPart(part)];
}

/** A value as JSON can hold it, with the parts of each safe text in it: `{ parts: […] }`. `fromServer` reads them. */
export function withStoredTexts(value: unknown): unknown {
  if (isSafeText(value)) return { parts: value.parts };
  if (Array.isArray(value)) return value.map(withStoredTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withStoredTexts(inner)]));
}

/** Reads a text of this server that was sealed, or came back from a view. A string counts as our own words. */
export const fromServer = (text: string | readonly Part[]): SafeText =>
  typeof text === 'string' ? ownWords(text) : new SafeText(text);
