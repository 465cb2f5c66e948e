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
  | { readonly kind: 'argument' | 'exact'; readonly value: string }
  /** In milliseconds since 1970. */
  | { readonly kind: 'time'; readonly time: number }
  /** A template with its values, so that a translation can put them in another order. */
  | { readonly kind: 'message'; readonly words: readonly string[]; readonly values: readonly Parts[] }
  | { readonly kind: 'detail'; readonly values: readonly Parts[] }
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
    case 'argument':
      // Never shortened, because the beginning would name another argument: `a.b` of `a.b.c`.
      return quoteName(part.value);
    case 'exact':
      return escapeInvisible(part.value);
    case 'time':
      return new Date(part.time).toISOString();
    case 'message':
      return flat([part]).map(renderPart).join('');
    case 'detail':
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

/** Plans show the argument's name in words. */
export const argument = (path: string): SafeText => new SafeText([{ kind: 'argument', value: path }]);

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

/** Left out first if the text has to be short. */
export const detail = (text: SafeText): SafeText => new SafeText([{ kind: 'detail', values: [text.parts] }]);

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

/** `omitted` has the dropped details, and the cut names in full. */
interface Shortened {
  readonly line: SafeText;
  readonly omitted: readonly SafeText[];
}

export const inFull = ({ omitted }: Shortened): SafeText[] =>
  omitted.length === 0 ? [] : [shortNames(say`In full: ${join(omitted, ', ')}.`, Number.MAX_SAFE_INTEGER)];

const shortestName = 2;

export const withoutDetails = (text: SafeText): SafeText => withDetails(text, 0);

function withDetails({ parts }: SafeText, count: number): SafeText {
  let details = 0;
  return new SafeText(
    mapParts(parts, (part) => {
      if (part.kind === 'detail') details += 1;
      return part.kind === 'detail' && details > count ? [] : [part];
    }),
  );
}

/** Cuts names to `nameLimit` characters. If that is not enough, drops details, then cuts names further, then the text. */
export function fitted(text: SafeText, limit = Number.POSITIVE_INFINITY, nameLimit = longestName): Shortened {
  const details = flat(text.parts).filter((part) => part.kind === 'detail');
  const attempts = details.length + 1 + nameLimit - shortestName;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const kept = Math.max(0, details.length - attempt);
    const longest = nameLimit - Math.max(0, attempt - details.length);
    const remaining = withDetails(text, kept);
    const line = shortNames(remaining, longest);
    if (line.text.length > limit) continue;
    const dropped = details
      .slice(kept)
      .map((part) => new SafeText(withStart(part.values[0] ?? [], (start) => start.replace(/^[\s,:;]+/, ''))));
    return { line, omitted: [...longNames(remaining.parts, longest), ...dropped] };
  }
  return { line: cut(shortNames(withoutDetails(text), shortestName), limit), omitted: [text] };
}

const longNames = (parts: Parts, longest: number): readonly SafeText[] =>
  flat(parts).flatMap((part) => {
    if (part.kind === 'detail') return longNames(part.values.flat(), longest);
    return isName(part) && renderPart({ ...part, longest }) !== renderPart(part) ? [new SafeText([part])] : [];
  });

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

export function withArgumentNames(text: SafeText, nameOf: (path: string) => string | undefined): SafeText {
  const starts = joinWords(text.parts).filter((_part, index, parts) => {
    const before = parts[index - 1];
    return before === undefined || (before.kind === 'words' && before.text.endsWith('. '));
  });
  return new SafeText(
    mapParts(text.parts, (part) => {
      const name = part.kind === 'argument' ? nameOf(part.value) : undefined;
      if (name === undefined) return [part];
      // A name with a number has no article: `node pool 1`.
      const withArticle = /\d$/.test(name) ? ownWords(name) : say`the ${ownWords(name)}`;
      return (starts.includes(part) ? sentence(withArticle) : withArticle).parts;
    }),
  );
}

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
