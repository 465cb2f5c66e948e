import * as z from 'zod';
import { isObject, mapValues } from '../util/objects.js';
import { hiddenInAnswer } from '../util/quote.js';
import { readBoolean, readTime } from '../util/read-values.js';
import { base64 } from './argument-schema.js';
import type { Argument, ValueRules } from './arguments.js';

type Values = Readonly<Record<string, unknown>>;
type IsMasked = (field: Argument) => boolean;

/**
 * Converts an answer to a record that JSON can hold. Times are in ISO 8601, blobs in base64, big numbers are text, and `mark` replaces secrets.
 */
export function answerRecord(
  fields: readonly Argument[],
  values: Values,
  isMasked: IsMasked,
  mark = hiddenInAnswer,
): Record<string, unknown> {
  const fieldsByName = new Map(fields.map((field) => [field.memberName, field]));
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      if (value === undefined || value === null) return [];
      const field = fieldsByName.get(name);
      // Some services write an empty element for a time or a number that is not set.
      if (value === '' && neverEmpty.test(field?.rules.kind ?? '')) return [];
      if (field !== undefined && isMasked(field)) return [[name, mark]];
      return [[name, answerValue(field?.rules, value, isMasked, mark)]];
    }),
  );
}

const neverEmpty = /^(?:timestamp|integer|number|boolean)$/;

/** `rules` is undefined for a value that the model does not describe. */
function answerValue(rules: ValueRules | undefined, value: unknown, isMasked: IsMasked, mark: string): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  // The protocols return a text whose media type is JSON as a `String` object.
  if (value instanceof String) return String(value);
  if (Array.isArray(value)) {
    const elementRules = rules?.kind === 'list' ? rules.element() : undefined;
    const elements = elementRules?.kind === 'timestamp' ? withWholeDates(value) : value;
    return elements.map((element) => answerValue(elementRules, element, isMasked, mark));
  }
  if (!isObject(value)) return simpleValue(rules, value);

  if (rules?.kind === 'structure') return answerRecord(rules.fields(), value, isMasked, mark);
  const elementRules = rules?.kind === 'map' ? rules.element() : undefined;
  return mapValues(value, (element) => answerValue(elementRules, element, isMasked, mark));
}

/** Joins the dates in a header, which the protocols split at each comma. */
const withWholeDates = (pieces: readonly unknown[]): readonly unknown[] =>
  pieces.some((piece) => /^[a-z]+$/i.test(String(piece))) ? (pieces.join(', ').match(/[a-z]+, [^,]+/gi) ?? []) : pieces;

/** A value in a wrong format stays as it is. */
function simpleValue(rules: ValueRules | undefined, value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  // `JSON.stringify` writes an infinity as null.
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return String(value);
  switch (rules?.kind) {
    case 'timestamp':
      return timeText(value) ?? value;
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

/** Another number of digits could be a date, such as 20261130, or milliseconds. */
const epochSeconds = /^\s*\d{9,11}(?:\.\d+)?\s*$/;

/** Converts a time to ISO 8601. A time without a zone is in UTC. */
function timeText(value: string | number): string | undefined {
  const isSeconds = typeof value === 'number' || epochSeconds.test(value);
  const time = new Date(isSeconds ? Math.round(Number(value) * 1000) : (readTime(value) ?? Number.NaN));
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

const textFormats = {
  integer: () => z.stringFormat('int', /^-?\d+$/),
  number: () => z.stringFormat('number', /^(?:-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|NaN|-?Infinity)$/i),
  blob: () => z.stringFormat('base64', base64),
};

/** Deeper structures appear in the schema of an answer without their fields. */
const maximumLevels = 4;

/** Returns the schema of an answer. No field is required, and other fields are allowed. */
export const answerSchema = (fields: readonly Argument[], isMasked: IsMasked, level = 1): z.ZodObject =>
  z.object(
    Object.fromEntries(
      fields.map((field) => {
        const schema = isMasked(field) ? z.string() : answerValueSchema(field.rules, isMasked, level);
        return [field.memberName, schema.optional()];
      }),
    ),
  );

function answerValueSchema(rules: ValueRules, isMasked: IsMasked, level: number): z.ZodType {
  switch (rules.kind) {
    case 'structure':
      return level < maximumLevels ? answerSchema(rules.fields(), isMasked, level + 1) : z.looseObject({});
    case 'list':
      return z.array(answerValueSchema(rules.element(), isMasked, level));
    case 'map':
      return z.object({}).catchall(answerValueSchema(rules.element(), isMasked, level));
    // A record has NaN, infinities and large integers as text.
    case 'integer':
      return z.union([z.number(), textFormats.integer()]);
    case 'number':
      return z.union([z.number(), textFormats.number()]);
    case 'timestamp':
      return z.iso.datetime();
    case 'blob':
      return textFormats.blob();
    case 'bigNumber':
      return textFormats.number();
    case 'boolean':
      return z.boolean();
    case 'document':
      return z.unknown();
    default:
      return z.string();
  }
}
