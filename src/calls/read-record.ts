import type * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import { sentences } from '../util/human.js';
import { isObject, withoutNulls } from '../util/objects.js';
import { readBoolean, readWholeNumber } from '../util/read-values.js';
import { defined, listed, own, quoted, type SafeText, say, words } from '../util/safe-text.js';

/** The record of an answer after repairs. */
export interface Reading {
  readonly record: Record<string, unknown>;
  readonly warnings: readonly SafeText[];
  readonly missingFields: readonly string[];
}

const maximumWarnings = 20;

/**
 * Reads the record of an answer by its schema, and never rejects it. A field of the wrong type is converted if that loses nothing, or else
 * dropped, with a warning.
 */
export function readRecord(schema: z.ZodObject, value: unknown): Reading {
  const answer = withoutNulls(value);
  if (!isObject(answer)) {
    const warning = say`The answer is ${show(value)}, not an object; it was left out.`;
    return { record: {}, warnings: [warning], missingFields: [] };
  }
  const parsed = schema.safeParse(answer, { reportInput: true });
  // Not `parsed.data`, because parsing drops unknown fields.
  if (parsed.success) return { record: { ...answer }, warnings: [], missingFields: [] };

  const { issues } = parsed.error;
  const missing = issues.filter(({ input }) => input === undefined);
  const wrong = issues.filter(({ input }) => input !== undefined);
  // `repairField` changes this copy.
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

/** Returns the warning about missing fields that matter to a person. */
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

/** Changes `record` in place. */
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

/** Returns undefined if the conversion would lose something. */
function convert(value: unknown, expected: string): unknown {
  if (expected === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value);
  if (expected === 'boolean') return readBoolean(String(value));
  // The XML parser returns an empty text for an element without children.
  if (expected === 'object' && value === '') return {};
  const isNumber = expected === 'number' || expected === 'int';
  return isNumber && typeof value === 'string' ? readWholeNumber(value) : undefined;
}

/** Names a structure, or a text in place of a structure, only by its kind, because a part may be a secret. */
function show(value: unknown, expected = 'object'): SafeText {
  if (Array.isArray(value)) return words('a list');
  if (isObject(value)) return words('an object');
  if (typeof value === 'string' && value !== '' && ['object', 'array'].includes(expected)) return words('a text');
  return quoted(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'), 100);
}

function compact(value: unknown): object {
  const keep = (inner: unknown) => (typeof inner === 'object' && inner !== null ? compact(inner) : inner);
  if (Array.isArray(value)) return value.filter((element) => element !== undefined).map(keep);
  const fields = Object.entries(Object(value)).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, keep(field)]));
}
