import { countText as countedText, humanBytes, humanDuration, sentenceCase } from './human.js';
import { escapeInvisible, escapeQuoted, quote, quoteName } from './quote.js';

/**
 * Text that is safe to show to people and agents: our own words, with everything from outside quoted, so that a value cannot pass for our
 * words. Code that shows text takes this type and no `string`. Only this file makes it (test/util/safe-text.test.ts).
 *
 * The text is a list of parts, so that it can be shortened, stored and written for another reader without searching its words.
 */
class SafeText {
  readonly parts: readonly Part[];
  #text: string | undefined;

  constructor(parts: readonly Part[]) {
    this.parts = joinWords(parts);
  }

  /** The whole text. If words differ by reader, it has the words for agents. */
  get text(): string {
    this.#text ??= this.parts.map(renderPart).join('');
    return this.#text;
  }

  /** True if agents read the same words in both texts. */
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
  /** A value from outside in quotation marks, with at most `limit` characters, or at most `longest` if `shortNames` has set it. */
  | { readonly kind: 'quoted'; readonly value: string; readonly limit?: number; readonly longest?: number }
  /** A word without quotation marks, such as the name of a tool. It is quoted if it is not a plain word. */
  | { readonly kind: 'name'; readonly name: string; readonly longest?: number }
  /** An argument by its dotted path. A plan shows its name in words instead. */
  | { readonly kind: 'argument'; readonly path: string }
  /** A value that is shown without quotation marks: see the function `exact`. */
  | { readonly kind: 'exact'; readonly value: string }
  /** A time in milliseconds since 1970. */
  | { readonly kind: 'time'; readonly time: number }
  /** A remark that is left out first if the text has to be short. */
  | { readonly kind: 'detail'; readonly parts: readonly Part[] }
  /** Words that differ by reader. */
  | { readonly kind: 'readers'; readonly readers: Readonly<Record<Reader, readonly Part[]>> };

/** Who reads a text: an agent, the person whom it works for, or the person who runs this server and reads at a terminal. */
type Reader = 'agent' | 'person' | 'operator';

/** Joins neighbouring parts that are our own words to one part. */
function joinWords(parts: readonly Part[]): readonly Part[] {
  const joined: Part[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.kind === 'words' && last?.kind === 'words') joined.splice(-1, 1, wordsPart(last.text + part.text));
    else joined.push(part);
  }
  return joined;
}

/** Writes a part as text. If words differ by reader (`readers`), writes the words for agents. */
function renderPart(part: Part): string {
  switch (part.kind) {
    case 'words':
      return part.text;
    case 'quoted':
      return part.longest === undefined ? quote(part.value, part.limit) : shortQuotation(part.value, part.longest);
    case 'name': {
      const name = quoteName(part.name);
      // A name without quotation marks stays whole.
      return part.longest === undefined || name === part.name ? name : shortQuotation(part.name, part.longest);
    }
    case 'argument':
      // A path is never shortened, not even by `shortNames`, because its beginning would name another argument: `a.b` of `a.b.c`.
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
 * Quotes a value. If it needs more than `longest` characters between the quotation marks, with its escape sequences, quotes its first
 * `longest - 1` characters and an ellipsis. Cutting the escaped value instead could split an escape sequence.
 */
function shortQuotation(value: string, longest: number): string {
  // Only the beginning is split, because a value may have megabytes. A character has one or two units of UTF-16.
  const characters = [...value.slice(0, 2 * longest + 2)].map(escapeQuoted);
  const escaped = characters.join('');
  if (escaped.length <= longest) return `"${escaped}"`;
  return `"${characters.slice(0, longest - 1).join('')}…"`;
}

const wordsPart = (text: string): Part => ({ kind: 'words', text });
/** Takes any string as our own words. Use it only for strings that this file makes or checks. */
const ownWords = (text: string): SafeText => new SafeText([wordsPart(text)]);

/**
 * Makes safe text from a template: say`Set up ${name} with ${3} nodes` reads `Set up "wiki" with 3 nodes`. A string between the words is
 * quoted, shortened and escaped, because it may come from outside. Numbers and other safe text stay as they are.
 */
export function say(words: TemplateStringsArray, ...values: readonly (string | number | SafeText)[]): SafeText {
  const parts: Part[] = [];
  for (const [index, text] of words.entries()) {
    if (text !== '') parts.push(wordsPart(text));
    // No value follows the last text of a template.
    if (index === values.length) break;
    const value = values[index];
    if (isSafeText(value)) parts.push(...value.parts);
    else if (typeof value === 'number') parts.push(wordsPart(String(value)));
    else if (value !== undefined) parts.push({ kind: 'quoted', value });
  }
  return new SafeText(parts);
}

/** A text from outside in quotation marks, of which at most `limit` characters are shown: `quoted('my bucket', 60)`. */
export const quoted = (value: string, limit: number): SafeText => new SafeText([{ kind: 'quoted', value, limit }]);

/** A word such as the name of a tool or an error code, without quotation marks: `own('list_parts')`. Quoted if it is not a plain word. */
export const own = (name: string): SafeText => new SafeText([{ kind: 'name', name }]);

/** An argument of an operation, by its path: `argument('adminCluster.controlPlane')`. Plans show its name in words: `the control plane`. */
export const argument = (path: string): SafeText => new SafeText([{ kind: 'argument', path }]);

/** A list of words, each as `own` shows it: `list_parts, restore_instance`. */
export const namesOf = (names: readonly string[], between: ', ' | ' or ' | '.' = ', '): SafeText =>
  join(names.map(own), between);

/** A value that people copy, such as a URL, without quotation marks. Only for the end of a line, or for a value that cannot pass for words. */
export const exact = (value: string): SafeText => new SafeText([{ kind: 'exact', value }]);

/** Takes the words of an operation's definition or a schema as our own, because no call and no answer can change them. */
export const defined = (text: string): SafeText => ownWords(escapeInvisible(text));

/** `Text` if it is the type of literals, such as `'a' | 'b'`; `never` if it is `string`. */
type Literal<Text extends string> = Record<never, never> extends Record<Text, 1> ? never : Text;

/** Safe text, or a string literal in the code. A computed string does not compile. */
export type Wording<Text extends string> = SafeText | Literal<Text>;

/** Safe text of a literal, such as `words('nothing was sent')`. Computed strings need `say`, and safe text is returned unchanged. */
export const words = <const Text extends string>(text: Wording<Text>): SafeText =>
  isSafeText(text) ? text : ownWords(text);

/** Joins texts with a separator: join([say`One.`, say`Two.`], ' ') reads `One. Two.` */
export const join = (texts: readonly SafeText[], between: '' | ' ' | ', ' | '; ' | ' or ' | '.' | '\n'): SafeText =>
  new SafeText(texts.flatMap((text, index) => (index === 0 ? text.parts : [wordsPart(between), ...text.parts])));

/** The texts without repetitions. Two texts are the same if agents read the same words. */
export const distinct = (texts: readonly SafeText[]): SafeText[] => [
  ...new Map(texts.map((text) => [text.text, text])).values(),
];

/** Lists texts as a sentence does: `a`, `a and b`, `a, b and c`. */
export const listed = (texts: readonly SafeText[], last: 'and' | 'or' = 'and'): SafeText =>
  new SafeText(
    texts.flatMap((text, index) => {
      const between = index === texts.length - 1 ? ` ${last} ` : ', ';
      return index === 0 ? text.parts : [wordsPart(between), ...text.parts];
    }),
  );

/** A number with its noun: `counted(3, 'part')` reads `3 parts`. */
export const counted = <const Noun extends string>(count: number, noun: Literal<Noun>): SafeText =>
  ownWords(countedText(count, noun));

/** A number of bytes: `bytes(100663296)` reads `96.0 MiB`. */
export const bytes = (count: number): SafeText => ownWords(humanBytes(count));

/** A duration: `duration(5430)` reads `1 h 30 min`. */
export const duration = (seconds: number): SafeText => ownWords(humanDuration(seconds));

/** A time, given in ISO 8601. Agents read it in UTC, and people at a terminal in their own time zone. Other text is shown as by `own`. */
export function time(iso: string): SafeText {
  const milliseconds = Date.parse(iso);
  return Number.isNaN(milliseconds) ? own(iso) : new SafeText([{ kind: 'time', time: milliseconds }]);
}

/** A remark inside a text that is left out first if the text has to be short: say`Create server ${name}${detail(say` in ${region}`)}`. */
export const detail = (text: SafeText): SafeText => new SafeText([{ kind: 'detail', parts: text.parts }]);

/** A text with different words for an agent and for people. Without `operator`, the operator of this server reads the text for `person`. */
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

/** The text with the words for one reader. It is empty if all words are for other readers. */
export function textFor(reader: Reader, text: SafeText): SafeText {
  const chosen = new SafeText(partsFor(reader, text.parts));
  // A sentence for another reader leaves a space at the beginning or end, which is removed.
  const [first, ...others] = trimmedAtEnd(chosen.parts).parts;
  return first?.kind === 'words' ? new SafeText([wordsPart(first.text.trimStart()), ...others]) : chosen;
}

const partsFor = (reader: Reader, parts: readonly Part[]): readonly Part[] =>
  parts.flatMap((part): readonly Part[] => {
    if (part.kind === 'readers') return partsFor(reader, part.readers[reader]);
    return part.kind === 'detail' ? [{ ...part, parts: partsFor(reader, part.parts) }] : [part];
  });

/** Writes the first letter as a capital, as at the start of a sentence. A text that begins with a value stays as it is. */
export function sentence(text: SafeText): SafeText {
  const [first, ...others] = text.parts;
  return first?.kind === 'words' ? new SafeText([wordsPart(sentenceCase(first.text)), ...others]) : text;
}

/** Length limit of a name in a headline or a table (characters). An ID of 32 characters stays whole. */
export const longestName = 32;

/** Length limit of a name on a button, or in a text with little space (characters). */
export const longestLabelName = 24;

/** Cuts each quoted value, and each name that has to be quoted, to `longest` characters. Show the whole name elsewhere. */
export const shortNames = (text: SafeText, longest = longestName): SafeText =>
  new SafeText(mapParts(text.parts, (part) => [isName(part) ? { ...part, longest } : part]));

const isName = (part: Part) => part.kind === 'quoted' || part.kind === 'name';

/** Replaces each part that has no parts inside. Looks for these parts also in details and in words that differ by reader. */
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

/** A shortened text, and the whole text of everything that it omits: the details that were dropped, and the names that were cut. */
interface Shortened {
  readonly line: SafeText;
  readonly omitted: readonly SafeText[];
}

/** The line `In full: …` with everything that a shortened text omits. Empty if it omits nothing. */
export const inFull = ({ omitted }: Shortened): SafeText[] =>
  omitted.length === 0 ? [] : [say`In full: ${join(omitted, ', ')}.`];

/** Length of the shortest cut name, which is one character and an ellipsis. */
const shortestName = 2;

export const withoutDetails = (text: SafeText): SafeText =>
  new SafeText(text.parts.filter((part) => part.kind !== 'detail'));

/**
 * Shortens a text to `limit` characters. Always cuts names to `nameLimit` characters. If the text is still too long, drops details (the last
 * first), then cuts names further, and at last cuts the text.
 */
export function fitted(text: SafeText, limit = Number.POSITIVE_INFINITY, nameLimit = longestName): Shortened {
  const details = text.parts.filter((part) => part.kind === 'detail');
  /** Shortens the text by leaving out `dropped`, and cutting names to `longest` characters. Undefined if the result is still too long. */
  const attempt = (dropped: typeof details, longest: number): Shortened | undefined => {
    const remaining = new SafeText(text.parts.filter((part) => !dropped.some((detail) => detail === part)));
    const line = shortNames(remaining, longest);
    if (line.text.length > limit) return undefined;
    return { line, omitted: [...longNames(remaining, longest), ...dropped.map(detailText)] };
  };

  for (let keptDetails = details.length; keptDetails >= 0; keptDetails -= 1) {
    const shortened = attempt(details.slice(keptDetails), nameLimit);
    if (shortened !== undefined) return shortened;
  }
  for (let longest = nameLimit - 1; longest >= shortestName; longest -= 1) {
    const shortened = attempt(details, longest);
    if (shortened !== undefined) return shortened;
  }
  // A cut text may end anywhere, so all of it counts as omitted.
  return { line: cut(shortNames(withoutDetails(text), shortestName), limit), omitted: [text] };
}

/** Returns the names of a text, in full, that `shortNames` would cut to `longest` characters. */
const longNames = ({ parts }: SafeText, longest: number): readonly SafeText[] =>
  parts.flatMap((part) => {
    if (part.kind === 'detail') return longNames(new SafeText(part.parts), longest);
    return isName(part) && renderPart({ ...part, longest }) !== renderPart(part) ? [new SafeText([part])] : [];
  });

/** The text of a detail, without the comma, colon or space at its start. */
function detailText({ parts: [first, ...others] }: Extract<Part, { kind: 'detail' }>): SafeText {
  const start = first?.kind === 'words' ? wordsPart(first.text.replace(/^[\s,:;]+/, '')) : first;
  return new SafeText(start === undefined ? [] : [start, ...others]);
}

/** Cuts a text to `limit` characters, of which the last is an ellipsis. A value is kept or dropped as a whole. */
export function cut(text: SafeText, limit: number): SafeText {
  if (text.text.length <= limit) return text;

  let charactersLeft = limit - '…'.length;
  const kept: Part[] = [];
  for (const part of text.parts) {
    const rendered = renderPart(part);
    if (rendered.length > charactersLeft) {
      // Only our own words may be cut. A cut value would be misread.
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

/** The text with its times written by `write`, which gets milliseconds since 1970. */
export const withTimes = (text: SafeText, write: (time: number) => SafeText): SafeText =>
  new SafeText(mapParts(text.parts, (part) => (part.kind === 'time' ? write(part.time).parts : [part])));

/** The text with arguments named in words, such as `the disk size` for `diskSize`. If `nameOf` returns undefined, the path stays. */
export const withArgumentNames = ({ parts }: SafeText, nameOf: (path: string) => string | undefined): SafeText =>
  new SafeText(
    parts.map((part, index) => {
      const name = part.kind === 'argument' ? nameOf(part.path) : undefined;
      if (name === undefined) return part;
      // A name with a number, such as `node pool 1`, has no article.
      const withArticle = /\d$/.test(name) ? name : `the ${name}`;
      const before = parts[index - 1];
      const startsSentence = before === undefined || (before.kind === 'words' && before.text.endsWith('. '));
      return wordsPart(startsSentence ? sentenceCase(withArticle) : withArticle);
    }),
  );

/** Splits a text at its line breaks. Only our own words have line breaks, because those in values are escaped. */
export function linesOf(text: SafeText): SafeText[] {
  const lines: Part[][] = [[]];
  for (const part of text.parts) {
    const pieces = part.kind === 'words' ? part.text.split('\n').map(wordsPart) : [part];
    for (const [index, piece] of pieces.entries()) {
      // The first piece continues the last line, and each further piece begins a line.
      if (index === 0) lines.at(-1)?.push(piece);
      else lines.push([piece]);
    }
  }
  return lines.map((parts) => new SafeText(parts));
}

/** The text in pieces, for a view that writes times itself. Numbers are times (milliseconds since 1970), and strings the text between. */
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

/** Replaces each safe text inside a value by `{ parts: […] }`, which JSON can hold and `fromServer` reads. */
export function withStoredTexts(value: unknown): unknown {
  if (isSafeText(value)) return { parts: value.parts };
  if (Array.isArray(value)) return value.map(withStoredTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withStoredTexts(inner)]));
}

/**
 * Reads back a text that this server sealed or made for a view: the parts of `withStoredTexts`, or a string. The string counts as our own
 * words, so pass none that anybody else can have written.
 */
export const fromServer = (text: string | readonly Part[]): SafeText =>
  typeof text === 'string' ? ownWords(text) : new SafeText(text);
