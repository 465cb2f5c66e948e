import type { Operation } from '../tools/define-operation.js';
import { isServiceRefusal } from '../transport/service-error.js';
import { isDeeperThan, isObject, parseJson, textAt, valueAt, withValueAt } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import { join, quoted, type SafeText, say, words } from '../util/safe-text.js';

/** The entries of a change that failed although the cloud accepted the change. */
export interface FailedEntries {
  readonly count: number;
  /** Undefined if the arguments have no entries. */
  readonly requestedCount: number | undefined;
  /** Different codes, at most eight. */
  readonly codes: readonly string[];
  readonly message: string | undefined;
  /** True if the service refused each failed entry, and so did nothing for it. */
  readonly areRefused: boolean;
  /** True if the answer lists other entries, so that something was done. */
  readonly hasOthers: boolean;
  /** True if a new plan finds what is left. */
  readonly areFoundByPlan?: true;
  /** At most three. */
  readonly names: readonly string[];
}

/** Finds the failed entries in an answer, such as objects that were not deleted. */
export function failedEntries(
  { failures: path, failureField }: Operation,
  input: Readonly<Record<string, unknown>>,
  record: unknown,
): FailedEntries | undefined {
  const value = path === undefined ? undefined : valueAt(record, path);
  const hasFailed = (entry: unknown) => failureField === undefined || valueAt(entry, failureField) !== undefined;
  const entries = entriesIn(value).filter(hasFailed);
  if (entries.length === 0) return undefined;

  const codes = entries.map((entry) => errorText(entry, ['Code', 'code', 'ErrorCode', 'errorCode'])).filter(isText);
  const messages = entries.map((entry) => errorText(entry, ['Message', 'message', 'ErrorMessage', 'errorMessage']));
  const others = path === undefined ? record : withValueAt(record, path, () => undefined);
  return {
    count: entries.length,
    requestedCount: requestedEntries(input),
    codes: [...new Set(codes.map(shortened))].slice(0, 8),
    message: messages.find(isText),
    areRefused: codes.length === entries.length && codes.every(isServiceRefusal),
    hasOthers: failureField === undefined && listsIn(others).some((list) => list.length > 0),
    names: entries.slice(0, 3).map(nameOf).filter(isText).map(shortened),
  };
}

function entriesIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (!isObject(value)) return [];
  // The XML parser returns a single element as an object.
  if (!isMap(value)) return [value];
  return Object.entries(value).flatMap(([key, inner]) => (isObject(inner) ? [{ key, ...inner }] : inner));
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && Object.values(value).every((inner) => typeof inner === 'object');

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const shortened = (text: string) => escapeInvisible(text.slice(0, 200));

/** Some services have code and message in an object of the entry: `Error: { Code, Message }`. */
const errorText = (entry: unknown, names: readonly string[]): string | undefined =>
  [entry, ...['Error', 'error', 'ResponseError'].map((holder) => valueAt(entry, holder))]
    .flatMap((holder) => names.map((name) => textAt(holder, name)))
    .find(isText);

function nameOf(entry: unknown): unknown {
  if (isText(entry)) return entry;
  const isAboutError = /code$|message$|^message|^error|fault$|^version/i;
  return Object.entries(Object(entry)).find(([field, value]) => isText(value) && !isAboutError.test(field))?.[1];
}

/** The lists of a map count together, because otherwise all entries would seem to have failed. */
function requestedEntries(input: Readonly<Record<string, unknown>>): number | undefined {
  const countIn = (value: unknown): number => {
    const parsed = typeof value === 'string' && /^\s*[[{]/.test(value) ? parseJson(value) : value;
    // This search is recursive, and no operation takes lists so deep.
    const inner = isDeeperThan(32, parsed) ? undefined : parsed;
    if (typeof inner !== 'object' || inner === null) return 0;
    const counts = Object.values(inner).map(countIn);
    if (isMap(inner)) return counts.reduce((sum, count) => sum + count, 0);
    return counts.reduce((most, count) => Math.max(most, count), Array.isArray(inner) ? inner.length : 0);
  };
  const longest = Math.max(0, ...Object.values(input).map(countIn));
  return longest === 0 ? undefined : longest;
}

function listsIn(value: unknown): readonly (readonly unknown[])[] {
  if (Array.isArray(value)) return [value];
  return isObject(value) ? Object.values(value).flatMap(listsIn) : [];
}

export const isAll = ({ count, requestedCount, hasOthers }: FailedEntries): boolean =>
  requestedCount !== undefined && count >= requestedCount && !hasOthers;

/** `2 of 5 entries failed: "a", "b" (code "AccessDenied").` */
export function failedSentence(failed: FailedEntries): SafeText {
  const { count, requestedCount, codes } = failed;
  const total = requestedCount === undefined || requestedCount < count ? words('') : say` of ${requestedCount}`;
  const names = failedNames(failed);
  const shownNames = names === undefined ? words('') : say`: ${names}`;
  const codeNoun = words(codes.length === 1 ? 'code' : 'codes');
  const codeTexts = join(
    codes.map((code) => quoted(code, 100)),
    ', ',
  );
  const why = codes.length === 0 ? words('') : say` (${codeNoun} ${codeTexts})`;
  return count === 1 && requestedCount === undefined
    ? say`${count} entry failed${shownNames}${why}.`
    : say`${count}${total} entries failed${shownNames}${why}.`;
}

/** `"a", "b", "c" and 4 more` */
export function failedNames({ count, names }: FailedEntries): SafeText | undefined {
  if (names.length === 0) return undefined;
  const shown = join(
    names.map((name) => quoted(name, 100)),
    ', ',
  );
  return count > names.length ? say`${shown} and ${count - names.length} more` : shown;
}
