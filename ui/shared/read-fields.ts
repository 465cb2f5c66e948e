import type { TimedText } from '../../src/mcp/views/contract/change-data.js';
import { isObject } from '../../src/util/objects.js';

/** This file reads untrusted data field by field. Values of unexpected types count as absent. */

export type Fields = Readonly<Record<string, unknown>>;

export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

export const readText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** Returns the strings of a list. */
export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((element) => typeof element === 'string') : [];

/** Returns a text, or a list of texts and numbers, unchanged. Undefined for any other value. */
export function readTimedText(value: unknown): TimedText | undefined {
  if (typeof value === 'string') return value;
  const isPiece = (piece: unknown) => typeof piece === 'string' || numberOf(piece) !== undefined;
  return Array.isArray(value) && value.every(isPiece) ? value : undefined;
}

/** Returns the entries of a list that are texts or pieces of a text. */
export const timedTextsOf = (value: unknown): readonly TimedText[] =>
  (Array.isArray(value) ? value : []).map(readTimedText).filter((text) => text !== undefined);

/** Joins the pieces of a text, with times in ISO 8601 (UTC). */
export const textInUtc = (text: TimedText): string =>
  typeof text === 'string'
    ? text
    : text.map((piece) => (typeof piece === 'number' ? new Date(piece).toISOString() : piece)).join('');

/** Parses a time as milliseconds since 1970. */
export function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
