import type * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import { sentences } from '../util/human.js';
import { isObject, withoutNulls } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import { defined, listed, own, quoted, type SafeText, say, words } from '../util/safe-text.js';

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
  const expected = issue.code === 'invalid_type' ? issue.expected : 'unknown';
  const converted = convert(issue.input, expected);
  const parent = issue.path.slice(0, -1).reduce<unknown>((at, step) => Object(at)[step], record);
  const [last = ''] = issue.path.slice(-1);
  if (typeof parent === 'object' && parent !== null) Reflect.set(parent, last, converted);
  const fate = words(converted === undefined ? 'it was left out' : 'it was converted');
  return say`${own(name)} in the answer is ${show(issue.input)}, not ${defined(typeNames[expected] ?? 'what it should be')}; ${fate}.`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a whole number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** Converts a value to the expected type. Returns undefined if that would lose something. */
function convert(value: unknown, expected: string): unknown {
  if (expected === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value);
  if (expected === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  // The XML parser returns an empty text for an element without children.
  if (expected === 'object' && value === '') return {};
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
  return expected === 'number' || expected === 'int' ? number : undefined;
}

const show = (value: unknown) => quoted(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'), 100);

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
const longestName = 100;

/**
 * Escapes invisible characters in a record of a service, also in its field names, and truncates long texts and the whole record. A warning
 * says how many fields were dropped.
 * @param exact names of fields whose texts are not escaped, because the client passes them back as arguments
 */
export function truncateRecord(
  record: Readonly<Record<string, unknown>>,
  exact: readonly string[] = [],
): Omit<Reading, 'missingFields'> {
  const copier = new RecordCopier(exact);
  const shown = copier.copy(record, 0);
  const { leftOut } = copier;
  const warnings =
    leftOut === 0 ? [] : [say`The answer is too long to show: ${leftOut} fields or entries were left out.`];
  return { record: { ...Object(shown) }, warnings };
}

/** Copies a record until the copy, written as text, has about `maximumCharacters`. */
class RecordCopier {
  readonly #exact: readonly string[];
  /** Characters that the rest of the copy may have. */
  #room = maximumCharacters;
  /** Number of fields and elements for which there was no room. */
  leftOut = 0;

  constructor(exact: readonly string[]) {
    this.#exact = exact;
  }

  /** @param indent number of characters before the value in its line. Each element of a list has such a line of its own */
  copy(value: unknown, indent: number): unknown {
    if (typeof value === 'string') return this.#copyText(value, longestText);
    // The number 6 stands for brackets or a short value, with the punctuation around it.
    this.#room -= typeof value === 'object' ? indent + 6 : 6;
    if (Array.isArray(value)) return value.flatMap((element) => (this.#hasRoom() ? [this.copy(element, indent)] : []));
    return isObject(value) ? this.#copyFields(value) : value;
  }

  #copyFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const copied: [string, unknown][] = [];
    for (const [name, value] of Object.entries(fields)) {
      if (!this.#hasRoom() || name === '__proto__') continue;
      const shownName = this.#copyText(name, longestName);
      if (typeof value === 'string' && this.#exact.includes(name)) {
        this.#room -= value.length + 4;
        copied.push([shownName, value.slice(0, longestText)]);
      } else copied.push([shownName, this.copy(value, shownName.length + 2)]);
    }
    return Object.fromEntries(copied);
  }

  #copyText(text: string, longest: number): string {
    const cut = text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text;
    const shown = escapeInvisible(cut);
    this.#room -= shown.length + 4;
    return shown;
  }

  #hasRoom(): boolean {
    if (this.#room > 0) return true;
    this.leftOut += 1;
    return false;
  }
}
