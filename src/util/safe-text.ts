import { countText as countedText, humanBytes, humanDuration, sentenceCase } from './human.js';
import { escapeInvisible, escapeQuoted, quote, quoteName } from './quote.js';
import { findWords, piecesOfTemplate, type TextTable, translationOf } from './translate.js';

/**
 * Text that is safe to show: our own words, with everything from outside quoted, so that a value cannot pass for our words.
 * Only this file makes it (test/util/safe-text.test.ts).
 */
class SafeText {
  readonly parts: readonly Part[];
  #text: string | undefined;

  constructor(parts: readonly Part[]) {
    this.parts = parts;
  }

  /** The parts in English, without messages. */
  get flat(): readonly Part[] {
    return joinWords(flatParts(this.parts));
  }

  /** The words for agents, if words differ by reader. */
  get text(): string {
    this.#text ??= this.parts.map(renderPart).join('');
    return this.#text;
  }

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
  /** A template with its values, so that a translation can put them in another order. */
  | { readonly kind: 'message'; readonly words: readonly string[]; readonly values: readonly (readonly Part[])[] }
  /** `longest` is set by `shortNames`. */
  | { readonly kind: 'quoted'; readonly value: string; readonly limit?: number; readonly longest?: number }
  | { readonly kind: 'name'; readonly name: string; readonly longest?: number }
  | { readonly kind: 'argument'; readonly path: string }
  | { readonly kind: 'exact'; readonly value: string }
  /** In milliseconds since 1970. */
  | { readonly kind: 'time'; readonly time: number }
  | { readonly kind: 'detail'; readonly parts: readonly Part[] }
  | { readonly kind: 'readers'; readonly readers: Readonly<Record<Reader, readonly Part[]>> };

type Reader = 'agent' | 'person' | 'operator';

const flatParts = (parts: readonly Part[]): readonly Part[] =>
  parts.flatMap((part) =>
    part.kind === 'message'
      ? part.words.flatMap((text, index) => [wordsPart(text), ...flatParts(part.values[index] ?? [])])
      : [part],
  );

function joinWords(parts: readonly Part[]): readonly Part[] {
  const joined: Part[] = [];
  for (const part of parts) {
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
    case 'message':
      return flatParts([part]).map(renderPart).join('');
    case 'quoted':
      return part.longest === undefined ? quote(part.value, part.limit) : shortQuotation(part.value, part.longest);
    case 'name': {
      const name = quoteName(part.name);
      return part.longest === undefined || name === part.name ? name : shortQuotation(part.name, part.longest);
    }
    case 'argument':
      // Never shortened, because the beginning would name another argument: `a.b` of `a.b.c`.
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
export function say(words: TemplateStringsArray, ...values: readonly (string | number | SafeText)[]): SafeText {
  const valueParts = values.map((value): readonly Part[] => {
    if (isSafeText(value)) return value.parts;
    return [typeof value === 'string' ? { kind: 'quoted', value } : wordsPart(String(value))];
  });
  return message(words, valueParts);
}

function message(words: readonly string[], values: readonly (readonly Part[])[]): SafeText {
  if (values.length === 0) return ownWords(words.join(''));
  return new SafeText(words.every((text) => text === '') ? values.flat() : [{ kind: 'message', words, values }]);
}

/** As `say`, for the words of a definition around the values. */
export const definedMessage = (words: readonly string[], values: readonly SafeText[]): SafeText =>
  message(
    words.map(escapeInvisible),
    values.map(({ parts }) => parts),
  );

export const quoted = (value: string, limit: number): SafeText => new SafeText([{ kind: 'quoted', value, limit }]);

/** Quoted if the name is not a plain word. */
export const own = (name: string): SafeText => new SafeText([{ kind: 'name', name }]);

/** Plans show the argument's name in words. */
export const argument = (path: string): SafeText => new SafeText([{ kind: 'argument', path }]);

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
export const detail = (text: SafeText): SafeText => new SafeText([{ kind: 'detail', parts: text.parts }]);

/** Without `operator`, the operator reads the text for `person`. */
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

export function textFor(reader: Reader, text: SafeText): SafeText {
  const chosen = new SafeText(
    mapParts(text.parts, (part) => (part.kind === 'readers' ? part.readers[reader] : [part])),
  );
  // A sentence for another reader leaves a space.
  return new SafeText(withStart(trimmedAtEnd(chosen.flat).parts, (start) => start.trimStart()));
}

export const sentence = (text: SafeText): SafeText => new SafeText(withStart(text.parts, sentenceCase));

/** Changes the first words, if the text begins with words. */
function withStart([first, ...others]: readonly Part[], change: (start: string) => string): readonly Part[] {
  if (first === undefined) return [];
  if (first.kind === 'words') return [wordsPart(change(first.text)), ...others];
  if (first.kind === 'readers') {
    const { agent, person, operator } = first.readers;
    const changed = (texts: readonly Part[]) => withStart(texts, change);
    return [
      { ...first, readers: { agent: changed(agent), person: changed(person), operator: changed(operator) } },
      ...others,
    ];
  }
  if (first.kind !== 'message') return [first, ...others];
  const [words = '', ...laterWords] = first.words;
  const [value = [], ...laterValues] = first.values;
  if (words !== '') return [{ ...first, words: [change(words), ...laterWords] }, ...others];
  return [{ ...first, values: [withStart(value, change), ...laterValues] }, ...others];
}

/** For headlines and tables. An ID of 32 characters stays whole. */
export const longestName = 32;

export const longestLabelName = 24;

/** Cuts quoted values and names. Show the whole name elsewhere. */
export const shortNames = (text: SafeText, longest = longestName): SafeText =>
  new SafeText(mapParts(text.parts, (part) => [isName(part) ? { ...part, longest } : part]));

const isName = (part: Part) => part.kind === 'quoted' || part.kind === 'name';

/** Replaces parts within other parts first. */
const mapParts = (parts: readonly Part[], replace: (part: Part) => readonly Part[]): readonly Part[] =>
  parts.flatMap((part): readonly Part[] => {
    const inner = (innerParts: readonly Part[]) => mapParts(innerParts, replace);
    if (part.kind === 'detail') return replace({ ...part, parts: inner(part.parts) });
    if (part.kind === 'message') return [{ ...part, values: part.values.map(inner) }];
    if (part.kind !== 'readers') return replace(part);
    const { agent, person, operator } = part.readers;
    return replace({ ...part, readers: { agent: inner(agent), person: inner(person), operator: inner(operator) } });
  });

/** `omitted` has the dropped details, and the cut names in full. */
interface Shortened {
  readonly line: SafeText;
  readonly omitted: readonly SafeText[];
}

export const inFull = ({ omitted }: Shortened): SafeText[] =>
  omitted.length === 0 ? [] : [shortNames(say`In full: ${join(omitted, ', ')}.`, Number.MAX_SAFE_INTEGER)];

const shortestName = 2;

export const withoutDetails = (text: SafeText): SafeText => withDetails(text, 0);

/** Keeps the first `count` details. */
function withDetails({ parts }: SafeText, count: number): SafeText {
  let details = 0;
  return new SafeText(
    mapParts(parts, (part) => {
      if (part.kind !== 'detail') return [part];
      details += 1;
      return details <= count ? [part] : [];
    }),
  );
}

/** Cuts names to `nameLimit` characters. If the text is still too long, drops details, then cuts names further, then cuts the text. */
export function fitted(text: SafeText, limit = Number.POSITIVE_INFINITY, nameLimit = longestName): Shortened {
  const details = text.flat.filter((part) => part.kind === 'detail');
  const attempt = (keptDetails: number, longest: number): Shortened | undefined => {
    const remaining = withDetails(text, keptDetails);
    const line = shortNames(remaining, longest);
    if (line.text.length > limit) return undefined;
    const dropped = details.slice(keptDetails).map(detailText);
    return { line, omitted: [...longNames(remaining, longest), ...dropped] };
  };

  for (let keptDetails = details.length; keptDetails >= 0; keptDetails -= 1) {
    const shortened = attempt(keptDetails, nameLimit);
    if (shortened !== undefined) return shortened;
  }
  for (let longest = nameLimit - 1; longest >= shortestName; longest -= 1) {
    const shortened = attempt(0, longest);
    if (shortened !== undefined) return shortened;
  }
  return { line: cut(shortNames(withoutDetails(text), shortestName), limit), omitted: [text] };
}

const longNames = ({ flat }: SafeText, longest: number): readonly SafeText[] =>
  flat.flatMap((part) => {
    if (part.kind === 'detail') return longNames(new SafeText(part.parts), longest);
    return isName(part) && renderPart({ ...part, longest }) !== renderPart(part) ? [new SafeText([part])] : [];
  });

const detailText = ({ parts }: Extract<Part, { kind: 'detail' }>): SafeText =>
  new SafeText(withStart(parts, (start) => start.replace(/^[\s,:;]+/, '')));

/** Keeps or drops each value as a whole. */
export function cut(text: SafeText, limit: number): SafeText {
  if (text.text.length <= limit) return text;

  let charactersLeft = limit - '…'.length;
  const kept: Part[] = [];
  for (const part of text.flat) {
    const rendered = renderPart(part);
    if (rendered.length > charactersLeft) {
      if (part.kind === 'words') kept.push(wordsPart(rendered.slice(0, charactersLeft)));
      break;
    }
    kept.push(part);
    charactersLeft -= rendered.length;
  }
  return say`${trimmedAtEnd(kept)}…`;
}

function trimmedAtEnd(parts: readonly Part[]): SafeText {
  const last = parts.at(-1);
  if (last?.kind !== 'words') return new SafeText(parts);
  const text = last.text.trimEnd();
  return text === '' ? trimmedAtEnd(parts.slice(0, -1)) : new SafeText([...parts.slice(0, -1), wordsPart(text)]);
}

export const withTimes = (text: SafeText, write: (time: number) => SafeText): SafeText =>
  new SafeText(mapParts(text.parts, (part) => (part.kind === 'time' ? write(part.time).parts : [part])));

export function withArgumentNames(text: SafeText, nameOf: (path: string) => string | undefined): SafeText {
  const starts = text.flat.filter((_part, index, flat) => {
    const before = flat[index - 1];
    return before === undefined || (before.kind === 'words' && before.text.endsWith('. '));
  });
  return new SafeText(
    mapParts(text.parts, (part) => {
      const name = part.kind === 'argument' ? nameOf(part.path) : undefined;
      if (name === undefined) return [part];
      // A name with a number has no article: `node pool 1`.
      const withArticle = /\d$/.test(name) ? ownWords(name) : say`the ${ownWords(name)}`;
      return (starts.includes(part) ? sentence(withArticle) : withArticle).parts;
    }),
  );
}

/** Puts our own words into the language of a table. Words that the table lacks stay. */
export const translated = ({ parts }: SafeText, table: TextTable): SafeText =>
  new SafeText(translatedParts(parts, table));

function translatedParts(parts: readonly Part[], table: TextTable): readonly Part[] {
  const inner = (innerParts: readonly Part[]) => translatedParts(innerParts, table);
  const done: Part[] = [];
  for (const part of parts) {
    const before = done.at(-1);
    // A full stop of Japanese has its own space.
    const isSpaceAfterStop =
      part.kind === 'words' && part.text === ' ' && before?.kind === 'words' && before.text.endsWith('。');
    if (!isSpaceAfterStop) done.push(...translatedPart(part, table, inner));
  }
  return done;
}

function translatedPart(
  part: Part,
  table: TextTable,
  inner: (parts: readonly Part[]) => readonly Part[],
): readonly Part[] {
  switch (part.kind) {
    case 'words': {
      const found = findWords(table, part.text);
      return found === undefined
        ? [part]
        : filledTemplate(
            found.template,
            found.values.map((value) => inner([wordsPart(value)])),
          );
    }
    case 'message': {
      const values = part.values.map(inner);
      const english = part.words.reduce((text, next, index) => `${text}{${index - 1}}${next}`);
      const translation = translationOf(table, english);
      return translation === undefined ? [{ ...part, values }] : filledTemplate(translation, values);
    }
    case 'detail':
      return [{ ...part, parts: inner(part.parts) }];
    case 'readers': {
      const { agent, person, operator } = part.readers;
      return [{ ...part, readers: { agent: inner(agent), person: inner(person), operator: inner(operator) } }];
    }
    default:
      return [part];
  }
}

const filledTemplate = (template: string, values: readonly (readonly Part[])[]): readonly Part[] =>
  piecesOfTemplate(template).flatMap((piece) =>
    typeof piece === 'number' ? (values[piece] ?? []) : [wordsPart(piece)],
  );

/** Line breaks in values are escaped. */
export function linesOf(text: SafeText): SafeText[] {
  const lines: Part[][] = [[]];
  for (const part of text.flat) {
    const pieces = part.kind === 'words' ? part.text.split('\n').map(wordsPart) : [part];
    for (const [index, piece] of pieces.entries()) {
      if (index === 0) lines.at(-1)?.push(piece);
      else lines.push([piece]);
    }
  }
  return lines.map((parts) => new SafeText(parts));
}

/** Numbers are times, which the view writes. */
export function piecesOf(text: SafeText): readonly (string | number)[] {
  const pieces: (string | number)[] = [];
  for (const piece of text.flat.flatMap(piecesOfPart)) {
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

export function withStoredTexts(value: unknown): unknown {
  if (isSafeText(value)) return { parts: value.parts };
  if (Array.isArray(value)) return value.map(withStoredTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withStoredTexts(inner)]));
}

/** Reads back our own texts. A string counts as our own words, so pass none from outside. */
export const fromServer = (text: string | readonly Part[]): SafeText =>
  typeof text === 'string' ? ownWords(text) : new SafeText(text);
