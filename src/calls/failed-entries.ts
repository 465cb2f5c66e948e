import type { Operation } from '../tools/define-operation.js';
import { isObject, parseJson, textAt, valueAt } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import { join, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { isServiceRefusal } from './answered-error.js';

/** The entries of a change that failed although the cloud accepted the change. */
export interface FailedEntries {
  readonly count: number;
  /** Number of entries in the arguments. Undefined if the arguments have no list. */
  readonly requestedCount: number | undefined;
  /** Different error codes, at most `mostCodes`. */
  readonly codes: readonly string[];
  /** The service's message for the first entry that has one. */
  readonly message: string | undefined;
  /** True if the service refused every failed entry before it did anything for it. */
  readonly areRefused: boolean;
  /** The names of the first failed entries, at most `mostNames`. */
  readonly names: readonly string[];
}

const mostCodes = 8;
const mostNames = 3;
const longestText = 200;

const messageFields = ['Message', 'message', 'ErrorMessage', 'errorMessage'];
const codeFields = ['Code', 'code', 'ErrorCode', 'errorCode'];
const isAboutError = /code$|message$|^message|^error|fault$|^version/i;

/** Finds the failed entries in the record of an answer, such as objects that were not deleted. Returns undefined if there are none. */
export function failedEntries(
  { failures: path }: Operation,
  input: Readonly<Record<string, unknown>>,
  record: unknown,
): FailedEntries | undefined {
  const list = path === undefined ? undefined : valueAt(record, path);
  // The XML parser returns a single element as an object, and not as a list of one.
  const entries = isObject(list) ? [list] : list;
  if (!Array.isArray(entries) || entries.length === 0) return undefined;

  const codes = entries.map((entry) => firstText(entry, codeFields)).filter((code) => code !== undefined);
  const allHaveCodes = codes.length === entries.length;
  const names = entries
    .slice(0, mostNames)
    .map(nameOf)
    .filter((name) => name !== undefined);
  return {
    count: entries.length,
    // The longest list in the arguments is taken for the requested entries. 0 means that there is no list, so their number is unknown.
    requestedCount: longestList(input) || undefined,
    codes: [...new Set(codes.map(shortened))].slice(0, mostCodes),
    message: entries.map((entry) => firstText(entry, messageFields)).find(isText),
    areRefused: allHaveCodes && codes.every(isServiceRefusal),
    names: names.map(shortened),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const shortened = (text: string) => escapeInvisible(text.slice(0, longestText));

const firstText = (entry: unknown, names: readonly string[]): string | undefined =>
  names.map((name) => textAt(entry, name)).find(isText);

/** The first text of an entry that does not describe its error. */
function nameOf(entry: unknown): string | undefined {
  for (const [field, value] of Object.entries(Object(entry)))
    if (isText(value) && !isAboutError.test(field)) return value;
  return undefined;
}

/** The length of the longest list in the arguments, also in an argument that is a text of JSON; 0 if there is no list. */
function longestList(value: unknown): number {
  const inner = typeof value === 'string' && /^\s*[[{]/.test(value) ? parseJson(value) : value;
  if (typeof inner !== 'object' || inner === null) return 0;
  return Math.max(Array.isArray(inner) ? inner.length : 0, ...Object.values(inner).map(longestList));
}

/** True if all entries of the arguments failed. */
export const isAll = ({ count, requestedCount }: FailedEntries): boolean =>
  requestedCount !== undefined && count >= requestedCount;

/** `2 of 5 entries failed: "a", "b" (code "AccessDenied").` */
export function failedSentence(failed: FailedEntries): SafeText {
  const { count, requestedCount, codes } = failed;
  const total = requestedCount === undefined || requestedCount < count ? words('') : say` of ${requestedCount}`;
  const names = failedNames(failed);
  const shownNames = names === undefined ? words('') : say`: ${names}`;
  const codeTexts = codes.map((code) => quoted(code, 100));
  const codeNoun = words(codes.length === 1 ? 'code' : 'codes');
  const why = codes.length === 0 ? words('') : say` (${codeNoun} ${join(codeTexts, ', ')})`;
  const noun = words(count === 1 && requestedCount === undefined ? 'entry' : 'entries');
  return say`${count}${total} ${noun} failed${shownNames}${why}.`;
}

/** `"a", "b", "c" and 4 more`, or undefined if the entries have no names. */
export function failedNames({ count, names }: FailedEntries): SafeText | undefined {
  if (names.length === 0) return undefined;
  const nameTexts = names.map((name) => quoted(name, 100));
  const shown = join(nameTexts, ', ');
  return count > names.length ? say`${shown} and ${count - names.length} more` : shown;
}
