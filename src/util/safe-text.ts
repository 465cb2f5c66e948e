import { countText as countedText, humanBytes, humanDuration, sentenceCase } from './human.js';
import { escapeInvisible, escapeQuoted, quote, quoteName } from './quote.js';
import { findWords, piecesOfTemplate, type TextTable, translationOf } from './translate.js';

/**
 * Text that is safe to show: our own words, with everything from outside quoted, so that a value cannot pass for our words.
 * Only this file makes it (test/util/safe-text.test.ts).
 */
class SafeText {
  readonly parts: Parts;
  #text: string | undefined;

  constructor(parts: Parts) {
    this.parts = parts;
  }

  /** The words for agents, if words differ by reader. */
  get text(): string {
    this.#text ??= this.parts.map(renderPart).join('');
    return this.#text;
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

type Parts = readonly Part[];

/** In the order of the texts for each of them. */
const readers = ['agent', 'person', 'operator'] as const;
type Reader = (typeof readers)[number];

interface Quoted {
  readonly kind: 'quoted' | 'name';
  readonly value: string;
  readonly limit?: number;
  /** Set by `shortNames`. */
  readonly longest?: number;
}

export type Part =
  | { readonly kind: 'words'; readonly text: string }
  | Quoted
  | { readonly kind: 'exact'; readonly value: string }
  /** In milliseconds since 1970. */
  | { readonly kind: 'time'; readonly time: number }
  /** A template with its values, so that a translation can put them in another order. */
  | { readonly kind: 'message'; readonly words: readonly string[]; readonly values: readonly Parts[] }
  /** A text for each of the `readers`. */
  | { readonly kind: 'readers'; readonly values: readonly Parts[] };

const flat = (parts: Parts): Parts =>
  parts.flatMap((part) =>
    part.kind === 'message'
      ? part.words.flatMap((text, index) => [wordsPart(text), ...flat(part.values[index] ?? [])])
      : part,
  );

function joinWords(parts: Parts): Parts {
  const joined: Part[] = [];
  for (const part of flat(parts)) {
    const last = joined.at(-1);
    if (part.kind === 'words' && part.text === '') continue;
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
    case 'name': {
      const whole = part.kind === 'quoted' ? quote(part.value, part.limit) : quoteName(part.value);
      return part.longest === undefined || whole === part.value ? whole : shortQuotation(part.value, part.longest);
    }
    case 'exact':
      return escapeInvisible(part.value);
    case 'time':
      return new Date(part.time).toISOString();
    case 'message':
      return flat([part]).map(renderPart).join('');
    case 'readers':
      return (part.values[0] ?? []).map(renderPart).join('');
  }
}

/** Cuts between escaped characters, so that no escape sequence is split. */
function shortQuotation(value: string, longest: number): string {
  // A value may have megabytes.
  const characters = [...value.slice(0, 2 * longest + 2)].map(escapeQuoted);
  const escaped = characters.join('');
  if (escaped.length <= longest) return `"${escaped}"`;
  return `"${characters.slice(0, longest - 1).join('')}…"`;
}

const wordsPart = (text: string): Part => ({ kind: 'words', text });
/** Only for strings that this file makes or checks. */
const ownWords = (text: string): SafeText => new SafeText([wordsPart(text)]);

/** Quotes the strings in a template, because they may come from outside. */
export const say = (template: TemplateStringsArray, ...values: readonly (string | number | SafeText)[]): SafeText =>
  message(
    template,
    values.map((value) => {
      if (isSafeText(value)) return value.parts;
      return [typeof value === 'string' ? { kind: 'quoted', value } : wordsPart(String(value))];
    }),
  );

function message(template: readonly string[], values: readonly Parts[]): SafeText {
  if (values.length === 0) return ownWords(template.join(''));
  return new SafeText(
    template.every((text) => text === '') ? values.flat() : [{ kind: 'message', words: template, values }],
  );
}

export const definedMessage = (template: readonly string[], values: readonly SafeText[]): SafeText =>
  message(
    template.map(escapeInvisible),
    values.map(({ parts }) => parts),
  );

export const quoted = (value: string, limit: number): SafeText => new SafeText([{ kind: 'quoted', value, limit }]);

/** Quoted if the name is not a plain word. */
export const own = (name: string): SafeText => new SafeText([{ kind: 'name', value: name }]);

export const namesOf = (names: readonly string[], between: ', ' | ' or ' | '.' = ', '): SafeText =>
  join(names.map(own), between);

/** Shows a value without quotation marks, such as a URL. Only for the end of a line, or if the value cannot pass for words. */
export const exact = (value: string): SafeText => new SafeText([{ kind: 'exact', value }]);

/** Takes words of a definition or a schema, which no call and no answer can change. */
export const defined = (text: string): SafeText => ownWords(escapeInvisible(text));

export const shownValue = (value: unknown, limit: number): SafeText =>
  typeof value === 'string' ? quoted(value, limit) : exact(JSON.stringify(value));

type Literal<Text extends string> = Record<never, never> extends Record<Text, 1> ? never : Text;

/** A computed string does not compile. */
export type Wording<Text extends string> = SafeText | Literal<Text>;

export const words = <const Text extends string>(text: Wording<Text>): SafeText =>
  isSafeText(text) ? text : ownWords(text);

export const join = (texts: readonly SafeText[], between: '' | ' ' | ', ' | '; ' | ' or ' | '.' | '\n'): SafeText =>
  joinBy(texts, () => between);

const joinBy = (texts: readonly SafeText[], before: (index: number) => string): SafeText =>
  new SafeText(texts.flatMap(({ parts }, index) => (index === 0 ? parts : [wordsPart(before(index)), ...parts])));

export const distinct = (texts: readonly SafeText[]): SafeText[] => [
  ...new Map(texts.map((text) => [text.text, text])).values(),
];

export const listed = (texts: readonly SafeText[], last: 'and' | 'or' = 'and'): SafeText =>
  joinBy(texts, (index) => (index === texts.length - 1 ? ` ${last} ` : ', '));

export const counted = <const Noun extends string>(count: number, noun: Literal<Noun>): SafeText =>
  ownWords(countedText(count, noun));

export const bytes = (count: number): SafeText => ownWords(humanBytes(count));

export const duration = (seconds: number): SafeText => ownWords(humanDuration(seconds));

/** People at a terminal read the time in their own zone. */
export function time(iso: string): SafeText {
  const milliseconds = Date.parse(iso);
  return Number.isNaN(milliseconds) ? own(iso) : new SafeText([{ kind: 'time', time: milliseconds }]);
}

/** Without `operator`, the operator reads the text for `person`. */
export const forReader = <
  const Agent extends string,
  const Person extends string,
  const Operator extends string,
>(texts: {
  readonly agent: Wording<Agent>;
  readonly person: Wording<Person>;
  readonly operator?: Wording<Operator>;
}): SafeText => {
  const person = words(texts.person);
  const operator = texts.operator === undefined ? person : words(texts.operator);
  return new SafeText([{ kind: 'readers', values: [words(texts.agent), person, operator].map(({ parts }) => parts) }]);
};

export function textFor(reader: Reader, text: SafeText): SafeText {
  const chosen = mapParts(text.parts, (part) =>
    part.kind === 'readers' ? (part.values[readers.indexOf(reader)] ?? []) : [part],
  );
  // A sentence for another reader leaves a space.
  return new SafeText(withStart(trimmedAtEnd(joinWords(chosen)), (start) => start.trimStart()));
}

export const sentence = (text: SafeText): SafeText => new SafeText(withStart(text.parts, sentenceCase));

function withStart([first, ...others]: Parts, change: (start: string) => string): Parts {
  if (first === undefined) return [];
  if (first.kind === 'words') return [wordsPart(change(first.text)), ...others];
  if (first.kind === 'readers')
    return [{ ...first, values: first.values.map((text) => withStart(text, change)) }, ...others];
  if (first.kind !== 'message') return [first, ...others];
  const [start = '', ...laterWords] = first.words;
  if (start !== '') return [{ ...first, words: [change(start), ...laterWords] }, ...others];
  const [value = [], ...laterValues] = first.values;
  return [{ ...first, values: [withStart(value, change), ...laterValues] }, ...others];
}

/** For headlines and tables. An ID of 32 characters stays whole. */
export const longestName = 32;

export const longestLabelName = 24;

/** Cuts quoted values and names. Show the whole name elsewhere. */
export const shortNames = (text: SafeText, longest = longestName): SafeText =>
  new SafeText(mapParts(text.parts, (part) => [isName(part) ? { ...part, longest } : part]));

const isName = (part: Part): part is Quoted => part.kind === 'quoted' || part.kind === 'name';

/** Replaces parts within other parts first. */
const mapParts = (parts: Parts, replace: (part: Part) => Parts): Parts =>
  parts.flatMap((part) =>
    replace('values' in part ? { ...part, values: part.values.map((inner) => mapParts(inner, replace)) } : part),
  );

const shortestName = 2;

/** Cuts names to `longest` characters, and further until the text fits. If that is not enough, cuts the text. */
export function fitted(text: SafeText, limit: number, longest = longestName): SafeText {
  const line = shortNames(text, longest);
  if (line.text.length <= limit) return line;
  return longest > shortestName ? fitted(text, limit, longest - 1) : cut(line, limit);
}

/** Keeps or drops each value as a whole. */
export function cut(text: SafeText, limit: number): SafeText {
  if (text.text.length <= limit) return text;

  let charactersLeft = limit - '…'.length;
  const kept: Part[] = [];
  for (const part of joinWords(text.parts)) {
    const rendered = renderPart(part);
    if (rendered.length > charactersLeft) {
      if (part.kind === 'words') kept.push(wordsPart(rendered.slice(0, charactersLeft)));
      break;
    }
    kept.push(part);
    charactersLeft -= rendered.length;
  }
  return say`${new SafeText(trimmedAtEnd(kept))}…`;
}

function trimmedAtEnd(parts: Parts): Parts {
  const last = parts.at(-1);
  if (last?.kind !== 'words') return parts;
  const [text, others] = [last.text.trimEnd(), parts.slice(0, -1)];
  return text === '' ? trimmedAtEnd(others) : [...others, wordsPart(text)];
}

export const withTimes = (text: SafeText, write: (time: number) => SafeText): SafeText =>
  new SafeText(mapParts(text.parts, (part) => (part.kind === 'time' ? write(part.time).parts : [part])));

/** Puts our own words into the language of a table. Words that the table lacks stay. */
export const translated = ({ parts }: SafeText, table: TextTable): SafeText =>
  new SafeText(withoutSpacesAfterStops(mapParts(parts, (part) => translatedPart(part, table))));

function translatedPart(part: Part, table: TextTable): Parts {
  if (part.kind === 'words') {
    const found = findWords(table, part.text);
    if (found === undefined) return [part];
    const values = found.values.map((value) => translatedPart(wordsPart(value), table));
    return filledTemplate(found.template, values);
  }
  if (part.kind !== 'message') return [part];
  const english = part.words.reduce((text, next, index) => `${text}{${index - 1}}${next}`);
  const translation = translationOf(table, english);
  return translation === undefined ? [part] : filledTemplate(translation, part.values);
}

const filledTemplate = (template: string, values: readonly Parts[]): Parts =>
  piecesOfTemplate(template).flatMap((piece) =>
    typeof piece === 'number' ? (values[piece] ?? []) : [wordsPart(piece)],
  );

/** A full stop of Japanese has its own space. */
const withoutSpacesAfterStops = (parts: Parts): Parts =>
  joinWords(parts).map((part) => {
    if (part.kind === 'words') return wordsPart(part.text.replaceAll('。 ', '。'));
    return 'values' in part ? { ...part, values: part.values.map(withoutSpacesAfterStops) } : part;
  });

/** Line breaks in values are escaped. */
export function linesOf(text: SafeText): SafeText[] {
  const lines: Part[][] = [[]];
  for (const part of joinWords(text.parts)) {
    const [first = part, ...later] = part.kind === 'words' ? part.text.split('\n').map(wordsPart) : [];
    lines.at(-1)?.push(first);
    lines.push(...later.map((piece) => [piece]));
  }
  return lines.map((parts) => new SafeText(parts));
}

export function withStoredTexts(value: unknown): unknown {
  if (isSafeText(value)) return { parts: value.parts };
  if (Array.isArray(value)) return value.map(withStoredTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withStoredTexts(inner)]));
}

/** Reads back our own texts, so pass none from outside. */
export const fromServer = (parts: Parts): SafeText => new SafeText(parts);
