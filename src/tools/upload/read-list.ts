import { isObject } from '../../util/objects.js';
import { readBoolean, readTime, readWholeNumber } from '../../util/read-values.js';
import { counted, type SafeText, say } from '../../util/safe-text.js';
import type { PageStart, PageStep } from '../define-operation.js';

/** This file reads lists from stores, which differ in how they write values, times and the ends of pages. */

/** Turns an XML element into a record: `LastModified` becomes `lastModified`, `ID` becomes `id`. */
export function xmlRecord(
  element: unknown,
  shape: {
    /** Elements that may be repeated, with the name of their list. */
    readonly lists: Readonly<Record<string, string>>;
    /** Elements whose text becomes a number, true or false. */
    readonly values: readonly string[];
    /** Elements with children, even if they are empty. */
    readonly structures: readonly string[];
    /** Names of fields that do not follow from their elements. */
    readonly names: Readonly<Record<string, string>>;
  },
): Record<string, unknown> | undefined {
  const { lists, values, structures, names } = shape;
  // Also a cache, because a page has thousands of elements.
  const fieldNames = new Map([...Object.entries(names), ...Object.entries(lists)]);
  const fieldName = (elementName: string): string => {
    const name = fieldNames.get(elementName) ?? elementName.replace(leadingCapitals, (text) => text.toLowerCase());
    fieldNames.set(elementName, name);
    return name;
  };

  const convertContent = (elementName: string, content: unknown): unknown => {
    if (Array.isArray(content)) return content.map((item) => convertContent(elementName, item));
    if (isObject(content)) return convertElement(content);
    if (typeof content !== 'string') return content;
    // The XML parser makes an empty text of an empty element.
    if (content === '' && structures.includes(elementName)) return {};
    return values.includes(elementName) ? (readWholeNumber(content) ?? readBoolean(content) ?? content) : content;
  };

  const convertElement = (children: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const record: Record<string, unknown> = {};
    for (const [elementName, content] of Object.entries(children)) {
      const value = convertContent(elementName, content);
      // The XML parser makes an array only of repeated elements.
      record[fieldName(elementName)] = Object.hasOwn(lists, elementName) ? [value].flat() : value;
    }
    return record;
  };

  return isObject(element) ? convertElement(element) : undefined;
}

const leadingCapitals = /^[A-Z]+(?![a-z])|^[A-Z]/;

export function withPlainEtag(part: unknown): unknown {
  if (!isObject(part) || typeof part.etag !== 'string') return part;
  return { ...part, etag: part.etag.replace(/^"(.*)"$/s, '$1') };
}

/** S3's length limit of an object key (bytes of UTF-8). */
export const longestKey = 1024;

/** True for U+FFFD, which some stores write for characters that XML cannot hold. */
export const hasReplacement = (text: unknown): boolean => typeof text === 'string' && text.includes('\uFFFD');

/** Decodes an object key. In the `EncodingType` `url`, a space is `+`. */
export function decodedKey(key: unknown, encodingType: unknown): unknown {
  if (!isUrlEncoding(encodingType) || typeof key !== 'string') return key;
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    // The service did not encode the key.
    return key;
  }
}

/** True for the `EncodingType` of an answer with encoded keys. */
export const isUrlEncoding = (encodingType: unknown): boolean =>
  typeof encodingType === 'string' && encodingType.trim().toLowerCase() === 'url';

/**
 * Decides after a page of a list whether to go on at `next`, or to end, with a doubt if entries may be missing. `hasNew` is true if the page has
 * an entry that no earlier page has.
 */
export function stepAfterPage<State extends { saidMore: boolean }>(
  state: State,
  {
    record: { isTruncated },
    number,
  }: { readonly record: { readonly isTruncated?: boolean | undefined }; readonly number: number },
  { entries, hasNew }: { readonly entries: number; readonly hasNew: boolean },
  next: PageStart | undefined,
): PageStep<State> {
  const isLast = isTruncated === false || (entries > 0 && !hasNew);
  if (!isLast && next !== undefined) {
    state.saidMore = isTruncated === true;
    return { kind: 'next', state, after: next };
  }
  const end = (doubt: SafeText | undefined) => ({ kind: 'end', state, doubt }) as const;
  if (isTruncated === true)
    return end(say`page ${number} says that more follow, but brings nothing new and names no later place to go on`);
  // An empty page after the last entry shows that none follow.
  if (isTruncated === undefined && (number === 1 || entries > 0))
    return end(say`the answer does not say whether more follow`);
  const isMissing = state.saidMore && !hasNew;
  return end(isMissing ? say`page ${number - 1} says that more follow, but no more came` : undefined);
}

/** Warns about entries without the name by which they could be used. */
export const leftOutWarning = (count: number, name: SafeText): SafeText | undefined =>
  count === 0 ? undefined : say`Left out: ${counted(count, 'element')} without a readable ${name}.`;

/** Signatures have the same tolerance in S3-compatible stores. */
const toleranceMs = 15 * 60_000;

/** Reads a time of the store (milliseconds since 1970). Undefined if it is not usable, such as one of 1970. */
export function storeTime(text = ''): number | undefined {
  const time = readTime(text);
  return time === undefined || time < Date.UTC(2000, 0, 1) ? undefined : time;
}

/** ISO 8601. */
export interface AnswerTimes {
  readonly answeredAt?: string | undefined;
  readonly receivedAt: string;
}

/** The time from which ages count (milliseconds since 1970). */
export type Now =
  | { readonly kind: 'known'; readonly ms: number }
  /** The answer has no time, or the clocks contradict each other. */
  | { readonly kind: 'missing' | 'contradicted' };

/** Finds the time of an answer. `newest` is in milliseconds since 1970. */
export function nowOf({ answeredAt, receivedAt }: AnswerTimes, newest: number | undefined): Now {
  if (answeredAt === undefined) return { kind: 'missing' };
  const ms = Date.parse(answeredAt);
  const isAhead = newest !== undefined && newest - ms > toleranceMs;
  const isElsewhere = Math.abs(Date.parse(receivedAt) - ms) > toleranceMs;
  return isAhead || isElsewhere ? { kind: 'contradicted' } : { kind: 'known', ms };
}

/** The first entries that fit into `maximumCharacters` of JSON, but at least one. */
export function firstThatFit<Entry>(entries: readonly Entry[], maximumCharacters: number): Entry[] {
  let length = 0;
  const firstThatDoesNotFit = entries.findIndex((entry) => {
    length += JSON.stringify(entry).length + 1;
    return length > maximumCharacters;
  });
  return firstThatDoesNotFit < 0 ? [...entries] : entries.slice(0, Math.max(1, firstThatDoesNotFit));
}
