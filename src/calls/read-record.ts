import type * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import { sentences } from '../util/human.js';
import { isObject, withoutNulls } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import { defined, listed, own, quoted, type SafeText, say, words } from '../util/safe-text.js';

/** The usable record of an answer, with warnings about odd fields. */
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
  const given = withoutNulls(value);
  const parsed = schema.safeParse(given, { reportInput: true });
  if (parsed.success) return { record: isObject(given) ? { ...given } : {}, warnings: [], missingFields: [] };
  if (!isObject(given)) {
    const warning = say`The answer is ${show(value)}, not an object; it was left out.`;
    return { record: {}, warnings: [warning], missingFields: [] };
  }
  const { issues } = parsed.error;
  const missing = issues.filter(({ input }) => input === undefined);
  const wrong = issues.filter(({ input }) => input !== undefined);
  const repaired = structuredClone(given);
  const warnings = wrong.map((issue) => repair(repaired, issue));
  const more = warnings.length - maximumWarnings;
  return {
    record: { ...compact(repaired) },
    missingFields: missing.map(({ path }) => toDotPath(path)),
    warnings: sentences(...warnings.slice(0, maximumWarnings), more > 0 && say`${more} more fields were odd.`),
  };
}

/**
 * The warning about missing fields that matter to a person.
 * @param named descriptions of these fields by path, with `[]` for each element of a list
 */
export function missingWarning(
  missingFields: readonly string[],
  named: Readonly<Record<string, string>> = {},
): SafeText[] {
  const paths = missingFields.map((path) => path.replace(/\[\d+\]/g, '[]'));
  // If a structure is missing, so is each field in it.
  const isMissing = (path: string) => paths.some((absent) => path === absent || path.startsWith(`${absent}.`));
  const missing = Object.entries(named).filter(([path]) => isMissing(path));
  if (missing.length === 0) return [];
  const descriptions = missing.map(([, description]) => say`${defined(description)}`);
  return [say`The answer does not say ${listed(descriptions, 'or')}.`];
}

/** Converts or removes the value that an issue names. Returns the warning. */
function repair(record: unknown, issue: z.core.$ZodIssue): SafeText {
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

/** Converts a value to the expected type if that loses nothing. */
function convert(value: unknown, expected: string): unknown {
  if (expected === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value);
  if (expected === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  // An empty XML element and an empty structure look the same.
  if (expected === 'object' && value === '') return {};
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
  return expected === 'number' || expected === 'int' ? number : undefined;
}

const show = (value: unknown) => quoted(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'), 100);

/** Drops the fields that `repair` set to undefined. */
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
 * Escapes invisible characters in a service's data, also in names, and truncates long texts and the whole record. Counts the fields that
 * it drops.
 * @param exact names of fields whose texts stay unchanged because they are passed back as arguments
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

/** Copies a record until its copy has about `maximumCharacters` as text. */
class RecordCopier {
  readonly #exact: readonly string[];
  #room = maximumCharacters;
  /** Number of fields and entries for which there was no room. */
  leftOut = 0;

  constructor(exact: readonly string[]) {
    this.#exact = exact;
  }

  /** @param indent length of the beginning of the value's line, which is repeated for each element with its own lines */
  copy(value: unknown, indent: number): unknown {
    if (typeof value === 'string') return this.#copyText(value, longestText);
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
