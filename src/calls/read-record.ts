import type * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import type { Operation } from '../tools/define-operation.js';
import { sentences } from '../util/human.js';
import { isObject, withoutNulls } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import { readBoolean, readWholeNumber } from '../util/read-values.js';
import { counted, defined, listed, own, quoted, type SafeText, say, words } from '../util/safe-text.js';

/** The record of an answer after repairs, with warnings about the repaired fields. */
export interface Reading {
  readonly record: Record<string, unknown>;
  readonly warnings: readonly SafeText[];
  /** Paths of expected fields that are missing. */
  readonly missingFields: readonly string[];
}

const maximumWarnings = 20;

/**
 * Reads the record of an answer by its schema, and never rejects it. A field of the wrong type is converted if that loses nothing, and
 * dropped otherwise, with a warning. Unknown fields stay.
 */
export function readRecord(schema: z.ZodObject, value: unknown): Reading {
  const answer = withoutNulls(value);
  if (!isObject(answer)) {
    const warning = say`The answer is ${show(value)}, not an object; it was left out.`;
    // The warning says that there is no answer, so the fields are not named.
    return { record: {}, warnings: [warning], missingFields: [] };
  }
  const parsed = schema.safeParse(answer, { reportInput: true });
  // The record is the answer and not `parsed.data`, because parsing drops unknown fields.
  if (parsed.success) return { record: { ...answer }, warnings: [], missingFields: [] };

  const { issues } = parsed.error;
  const missing = issues.filter(({ input }) => input === undefined);
  const wrong = issues.filter(({ input }) => input !== undefined);
  // `repairField` changes this copy, and sets a field to undefined if its value cannot be converted. `compact` then drops the field.
  const repaired = structuredClone(answer);
  const warnings: SafeText[] = [];
  for (const issue of wrong) warnings.push(repairField(repaired, issue));
  const unlisted = warnings.length - maximumWarnings;
  return {
    record: { ...compact(repaired) },
    missingFields: missing.map(({ path }) => toDotPath(path)),
    warnings: sentences(...warnings.slice(0, maximumWarnings), unlisted > 0 && say`${unlisted} more fields were odd.`),
  };
}

/**
 * Returns the warning about missing fields that matter to a person, as a list of one; an empty list if no such field is missing.
 * @param descriptions words for the fields that matter, by path, with `[]` for each element of a list
 */
export function missingWarning(
  missingFields: readonly string[],
  descriptions: Readonly<Record<string, string>> = {},
): SafeText[] {
  const paths = missingFields.map((path) => path.replace(/\[\d+\]/g, '[]'));
  // If a structure is missing, so is each field in it.
  const isMissing = (path: string) => paths.some((absent) => path === absent || path.startsWith(`${absent}.`));
  const missing = Object.entries(descriptions).filter(([path]) => isMissing(path));
  if (missing.length === 0) return [];
  const texts = missing.map(([, description]) => say`${defined(description)}`);
  return [say`The answer does not say ${listed(texts, 'or')}.`];
}

/** Converts the value that an issue names, or sets it to undefined, in place. Returns the warning. */
function repairField(record: unknown, issue: z.core.$ZodIssue): SafeText {
  const name = toDotPath(issue.path);
  const expected = expectedBy(issue);
  const converted = convert(issue.input, expected);
  const parent = issue.path.slice(0, -1).reduce<unknown>((at, step) => Object(at)[step], record);
  const [last = ''] = issue.path.slice(-1);
  if (typeof parent === 'object' && parent !== null) Reflect.set(parent, last, converted);
  const fate = words(converted === undefined ? 'it was left out' : 'it was converted');
  return say`${own(name)} in the answer is ${show(issue.input, expected)}, not ${defined(typeNames[expected] ?? 'what it should be')}; ${fate}.`;
}

/** The type or the text format that a value should have, as zod names it. */
function expectedBy(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return issue.expected;
  return issue.code === 'invalid_format' ? issue.format : 'unknown';
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  datetime: 'a time',
  base64: 'base64',
};

/** Converts a value to the expected type. Returns undefined if that would lose something. */
function convert(value: unknown, expected: string): unknown {
  if (expected === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value);
  if (expected === 'boolean') return readBoolean(String(value));
  // The XML parser returns an empty text for an element without children.
  if (expected === 'object' && value === '') return {};
  const isNumber = expected === 'number' || expected === 'int';
  return isNumber && typeof value === 'string' ? readWholeNumber(value) : undefined;
}

/** Shows a value. A structure, or a text in place of a structure, is only named by its kind, because no schema says which part is a secret. */
function show(value: unknown, expected = 'object'): SafeText {
  if (Array.isArray(value)) return words('a list');
  if (isObject(value)) return words('an object');
  if (typeof value === 'string' && value !== '' && ['object', 'array'].includes(expected)) return words('a text');
  return quoted(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'), 100);
}

/** Copies a value without the fields and elements that `repairField` set to undefined. */
function compact(value: unknown): object {
  const keep = (inner: unknown) => (typeof inner === 'object' && inner !== null ? compact(inner) : inner);
  if (Array.isArray(value)) return value.filter((element) => element !== undefined).map(keep);
  const fields = Object.entries(Object(value)).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, keep(field)]));
}

/** About 25,000 tokens, because more would fill an agent's context. */
const maximumCharacters = 60_000;
const longestText = 2000;
/** Length limit of a text that the client passes back, such as the token of a page, which is useless if it is cut. */
const longestExact = 16_384;
const longestName = 100;
/** Maximum number of lists whose left-out entries the warning names. */
const maximumLists = 3;

/**
 * Escapes invisible characters in a record of a service, also in its field names, and truncates long texts and the whole record. An entry of a
 * list is left out as a whole, unless it is the first. A warning says how many entries of which lists were left out.
 * @param exact names of fields whose texts are not escaped, because the client passes them back as arguments
 * @param isWhole true to truncate nothing
 */
export function truncateRecord(
  record: Readonly<Record<string, unknown>>,
  exact: Operation['exact'] = [],
  isWhole = false,
): Omit<Reading, 'missingFields'> {
  const copier = new RecordCopier(typeof exact === 'function' ? exact() : exact, isWhole);
  const shown = copier.copy(record);
  return {
    record: { ...Object(shown) },
    warnings: copier.leftOut.length === 0 ? [] : [leftOutWarning(copier.leftOut)],
  };
}

/** A field that was left out, or the number of entries of a list that were left out. */
type LeftOut =
  | { readonly kind: 'field' }
  | { readonly kind: 'entries'; readonly name: string; readonly leftOut: number; readonly all: number };

/** Says how much was left out, such as `737 of 1105 entries of "Contents" and 2 fields`. */
function leftOutWarning(parts: readonly LeftOut[]): SafeText {
  const sums = new Map<string, { leftOut: number; all: number }>();
  let fields = 0;
  for (const part of parts) {
    if (part.kind === 'field') fields += 1;
    else {
      const sum = sums.get(part.name) ?? { leftOut: 0, all: 0 };
      sums.set(part.name, { leftOut: sum.leftOut + part.leftOut, all: sum.all + part.all });
    }
  }
  const lists = [...sums];
  // An empty field name would be shown as mere quotation marks, so it is left out.
  const listTexts = lists.map(([name, { leftOut, all }]) =>
    name === '' ? say`${leftOut} of ${all} entries` : say`${leftOut} of ${all} entries of ${quoted(name, longestName)}`,
  );
  const texts = sentences(
    ...listTexts.slice(0, maximumLists),
    lists.length > maximumLists && say`entries of ${counted(lists.length - maximumLists, 'other list')}`,
    fields > 0 && say`${counted(fields, 'field')}`,
  );
  const isSingle = lists.reduce((total, [, { leftOut }]) => total + leftOut, fields) === 1;
  return say`The answer is too long to show: ${listed(texts)} ${words(isSingle ? 'was' : 'were')} left out.`;
}

/** Copies a record until the copy, written as text, has about `maximumCharacters`. */
class RecordCopier {
  readonly #exact: readonly string[];
  readonly #longestText: number;
  /** Characters that the rest of the copy may have. */
  #room: number;
  readonly leftOut: LeftOut[] = [];

  constructor(exact: readonly string[], isWhole: boolean) {
    this.#exact = exact;
    this.#room = isWhole ? Number.POSITIVE_INFINITY : maximumCharacters;
    this.#longestText = isWhole ? Number.POSITIVE_INFINITY : longestText;
  }

  /**
   * Copies a value, and subtracts its characters from the room.
   * @param labelLength characters of the label before the value, such as `Contents: `. Each element of a list has a label
   * @param name name of the field that holds the value. The record itself has neither name nor label
   */
  copy(value: unknown, labelLength = 0, name = ''): unknown {
    if (typeof value === 'string')
      return this.#exact.includes(name) ? this.#copyExact(value) : this.#copyText(value, this.#longestText);
    // The number 6 stands for brackets or a short value, with the punctuation around it.
    this.#room -= typeof value === 'object' ? labelLength + 6 : 6;
    if (Array.isArray(value)) return this.#copyList(value, labelLength, name);
    return isObject(value) ? this.#copyFields(value) : value;
  }

  /** Copies the entries of a list for which there is room. The first entry stays even if a part of it was left out, because it is better than none. */
  #copyList(values: readonly unknown[], labelLength: number, name: string): unknown[] {
    const copied: unknown[] = [];
    for (const value of values) {
      if (this.#room <= 0) break;
      const lengthBefore = this.leftOut.length;
      const copy = this.copy(value, labelLength, name);
      const isIncomplete = this.leftOut.length > lengthBefore;
      if (isIncomplete && copied.length > 0) {
        // The incomplete copy is dropped, because the service would seem not to have sent the missing parts. As the whole entry is left out, its
        // missing parts do not count. Its characters stay subtracted from the room, because copying ends here.
        this.leftOut.length = lengthBefore;
        break;
      }
      copied.push(copy);
    }
    if (copied.length < values.length) this.#leaveOut(name, values.length - copied.length, values.length);
    return copied;
  }

  #leaveOut(name: string, leftOut: number, all: number): void {
    this.leftOut.push({ kind: 'entries', name, leftOut, all });
  }

  /** Copies the fields of an object for which there is room. */
  #copyFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const copied = new Map<string, readonly [string, unknown]>();
    // Lists come last, so that a long list leaves room for the fields after it.
    for (const [name, value] of listsLast(fields)) {
      // Copying this field by assignment would set the prototype of the copy. No API is known to have such a field.
      if (name === '__proto__') continue;
      if (this.#room <= 0) {
        if (Array.isArray(value) && value.length > 0) this.#leaveOut(name, value.length, value.length);
        else this.leftOut.push({ kind: 'field' });
        continue;
      }
      const shownName = this.#copyText(name, longestName);
      const label = `${shownName}: `;
      copied.set(name, [shownName, this.copy(value, label.length, name)]);
    }
    const inOriginalOrder = Object.keys(fields).map((name) => copied.get(name));
    return Object.fromEntries(inOriginalOrder.filter((entry) => entry !== undefined));
  }

  /** Copies a text that the client passes back. A cut text is useless, so only a text beyond `longestExact` is cut. */
  #copyExact(text: string): string {
    if (text.length > Math.max(longestExact, this.#longestText)) return this.#copyText(text, this.#longestText);
    this.#room -= text.length + 4;
    return text;
  }

  #copyText(text: string, longest: number): string {
    const cut = text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text;
    const shown = escapeInvisible(cut);
    this.#room -= shown.length + 4;
    return shown;
  }
}

/** The fields of an object: first the plain values, then the objects, then the lists. */
const listsLast = (fields: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] => {
  const rank = (value: unknown) => (Array.isArray(value) ? 2 : isObject(value) ? 1 : 0);
  return Object.entries(fields).sort(([, a], [, b]) => rank(a) - rank(b));
};
