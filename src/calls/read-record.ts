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
  if (!isObject(given))
    return {
      record: {},
      warnings: [say`The answer is ${show(value)}, not an object; it was left out.`],
      missingFields: [],
    };
  const { issues } = parsed.error;
  const missingFields = issues.filter(({ input }) => input === undefined).map(({ path }) => toDotPath(path));
  const odd = issues.filter(({ input }) => input !== undefined);
  const repaired = structuredClone(given);
  const warnings = odd.map((issue) => repair(repaired, issue));
  return {
    record: { ...compact(repaired) },
    missingFields,
    warnings: sentences(
      ...warnings.slice(0, maximumWarnings),
      warnings.length > maximumWarnings && say`${warnings.length - maximumWarnings} more fields were odd.`,
    ),
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
  const missing = Object.keys(named).filter((path) => paths.some((one) => path === one || path.startsWith(`${one}.`)));
  return missing.length === 0
    ? []
    : [
        say`The answer does not say ${listed(
          missing.map((path) => say`${defined(named[path] ?? path)}`),
          'or',
        )}.`,
      ];
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
  return say`${own(name)} in the answer is ${show(issue.input)}, not ${defined(called[expected] ?? 'what it should be')}; ${fate}.`;
}

const called: Readonly<Record<string, string>> = {
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
  let left = maximumCharacters;
  let leftOut = 0;
  const text = (given: string, longest: number) => {
    const shown = escapeInvisible(
      given.length > longest ? `${given.slice(0, longest)}… (${given.length} characters)` : given,
    );
    left -= shown.length + 4;
    return shown;
  };
  const fits = () => {
    if (left <= 0) leftOut += 1;
    return left > 0;
  };
  /** @param start length of the line's beginning, which is repeated for each element with its own lines */
  const copy = (value: unknown, start: number): unknown => {
    if (typeof value === 'string') return text(value, longestText);
    left -= typeof value === 'object' ? start + 6 : 6;
    if (Array.isArray(value)) return value.flatMap((element) => (fits() ? [copy(element, start)] : []));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.keys(value).flatMap((name) => {
        if (!fits() || name === '__proto__') return [];
        const shownName = text(name, longestName);
        const inner = value[name];
        if (typeof inner !== 'string' || !exact.includes(name)) return [[shownName, copy(inner, shownName.length + 2)]];
        left -= inner.length + 4;
        return [[shownName, inner.slice(0, longestText)]];
      }),
    );
  };
  const shown = copy(record, 0);
  const warnings =
    leftOut === 0 ? [] : [say`The answer is too long to show: ${leftOut} fields or entries were left out.`];
  return { record: { ...Object(shown) }, warnings };
}
