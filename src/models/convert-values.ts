/** Converts values between calls, which have JSON, and protocols, which have times as `Date` and blobs as bytes. */
import { isObject, mapValues } from '../util/objects.js';
import { hiddenInAnswer } from '../util/quote.js';
import { readBoolean, readTime } from '../util/read-values.js';
import { base64 } from './argument-schema.js';
import type { Member, Shape } from './model.js';

type Values = Readonly<Record<string, unknown>>;

/** Converts arguments to the values that the protocols take. */
export function memberValues(fields: readonly Member[], values: Values): Record<string, unknown> {
  const present = fields.filter(({ name }) => values[name] !== undefined);
  return Object.fromEntries(
    present.map(({ name, memberName, shape }) => [memberName, memberValue(shape, values[name])]),
  );
}

function memberValue(shape: Shape, value: unknown): unknown {
  switch (shape.kind) {
    case 'structure':
      return isObject(value) ? memberValues(shape.members, value) : value;
    case 'list':
      return Array.isArray(value) ? value.map((element) => memberValue(shape.element.shape, element)) : value;
    case 'map':
      if (!isObject(value)) return value;
      // Sorted, so that calls with the same entries count as one change.
      return Object.fromEntries(
        Object.keys(value)
          .sort()
          .map((key) => [key, memberValue(shape.element.shape, value[key])]),
      );
    case 'blob': {
      // In a plan, a placeholder text may stand for a secret blob, time or number.
      const text = String(value);
      return new Uint8Array(Buffer.from(text, base64.test(text) ? 'base64' : 'utf8'));
    }
    case 'timestamp':
      return new Date(String(value));
    case 'integer':
    case 'number':
      return Number(value);
    default:
      return value;
  }
}

/** Converts an answer to a record that JSON can hold: times are in ISO 8601, blobs in base64, big numbers are text. `mark` replaces secrets. */
export function answerRecord(
  fields: readonly Member[],
  values: Values,
  isMasked: (field: Member) => boolean,
  mark = hiddenInAnswer,
): Record<string, unknown> {
  const shapes = new Map(fields.map((field) => [field.memberName, field]));
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      if (value === undefined || value === null) return [];
      const field = shapes.get(name);
      // Some services write an empty element for a time or a number that is not set.
      if (value === '' && /^(?:timestamp|integer|number|boolean)$/.test(field?.shape.kind ?? '')) return [];
      if (field !== undefined && isMasked(field)) return [[name, mark]];
      return [[name, answerValue(field?.shape, value, isMasked, mark)]];
    }),
  );
}

/** `shape` is undefined for a value that the model does not describe. */
function answerValue(
  shape: Shape | undefined,
  value: unknown,
  isMasked: (field: Member) => boolean,
  mark: string,
): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  // The protocols return a text whose media type is JSON as a `String` object.
  if (value instanceof String) return String(value);
  if (!Array.isArray(value) && !isObject(value)) return simpleValue(shape?.kind, value);

  if (shape?.kind === 'structure' && isObject(value)) return answerRecord(shape.members, value, isMasked, mark);
  const ofEntries =
    shape?.kind === (Array.isArray(value) ? 'list' : 'map') && 'element' in shape ? shape.element.shape : undefined;
  const convert = (entry: unknown) => answerValue(ofEntries, entry, isMasked, mark);
  if (!Array.isArray(value)) return mapValues(value, convert);
  return (ofEntries?.kind === 'timestamp' ? withWholeDates(value) : value).map(convert);
}

/** Joins the dates in a header, which the protocols split at each comma. */
const withWholeDates = (pieces: readonly unknown[]): readonly unknown[] =>
  pieces.some((piece) => /^[a-z]+$/i.test(String(piece))) ? (pieces.join(', ').match(/[a-z]+, [^,]+/gi) ?? []) : pieces;

/** A value in a wrong format stays as it is. */
function simpleValue(kind: Shape['kind'] | undefined, value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  // `JSON.stringify` writes an infinity as null.
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return String(value);
  switch (kind) {
    case 'timestamp':
      return timeText(value);
    case 'bigNumber':
      return String(value);
    case 'integer':
    case 'number':
      return typeof value === 'string' ? numberIn(value) : value;
    case 'boolean':
      return readBoolean(String(value)) ?? value;
    default:
      return value;
  }
}

/** Integers that JavaScript would round stay text. */
function numberIn(text: string): number | string {
  const number = Number(text);
  // `Number` also reads other notations, such as `0x10`.
  if (!/^\s*[+-]?[\d.]+(?:e[+-]?\d+)?\s*$/i.test(text) || !Number.isFinite(number)) return text;
  return /^[+-]?\d+$/.test(text.trim()) && !Number.isSafeInteger(number) ? text : number;
}

/** Converts a time to ISO 8601. A time without a zone is in UTC. */
function timeText(value: string | number): string | number {
  // Another number of digits could be a date, such as 20261130, or milliseconds.
  const isSeconds = typeof value === 'number' || /^\s*\d{9,11}(?:\.\d+)?\s*$/.test(value);
  const time = new Date(isSeconds ? Math.round(Number(value) * 1000) : (readTime(value) ?? Number.NaN));
  return Number.isNaN(time.getTime()) ? value : time.toISOString();
}
