import * as z from 'zod';
import { dotted } from '../util/dotted.js';
import { isObject } from '../util/objects.js';
import { quote } from '../util/quote.js';

export interface Reading {
  readonly record: Record<string, unknown>;
  /** What was missing or odd, one sentence each, at most `maximumWarnings`. */
  readonly warnings: readonly string[];
}

const maximumWarnings = 20;

/**
 * Reads an answer's record by its schema without ever refusing it. A field of the wrong type is converted where that
 * loses nothing and left out where it would; a missing one is left out; an unknown one stays. All but the last are
 * warnings.
 * @param fromText the answer had no types (XML), so numbers and booleans written as text are what is expected
 */
export function readRecord(schema: z.ZodObject, value: unknown, { fromText }: { fromText: boolean }): Reading {
  const warnings: string[] = [];
  let dropped = 0;
  const warn = (message: () => string) => {
    if (warnings.length < maximumWarnings) warnings.push(message());
    else dropped += 1;
  };
  const record = compile(schema, { fromText, path: [], warn })(value);
  if (dropped > 0) warnings.push(`… and ${dropped} more such problems`);
  return { record: isObject(record) ? record : {}, warnings };
}

interface Context {
  readonly fromText: boolean;
  /** Where the reading is: steps are pushed on the way in and popped on the way out. */
  readonly path: (string | number)[];
  readonly warn: (message: () => string) => void;
}

/** Gives the value as the schema has it, or undefined where it cannot be. */
type Read = (value: unknown) => unknown;

/** Turns a schema into the function that reads by it, once, because a page has thousands of records. */
function compile(schema: z.core.$ZodType, context: Context): Read {
  if (schema instanceof z.ZodOptional) {
    const read = compile(schema.unwrap(), context);
    return (value) => (value === null ? undefined : read(value));
  }
  if (schema instanceof z.ZodObject) return objectReader(schema, context);
  if (schema instanceof z.ZodArray) return arrayReader(schema, context);
  if (schema instanceof z.ZodString) return (value) => readText(value, context);
  if (schema instanceof z.ZodNumber) return (value) => readInteger(value, context);
  if (schema instanceof z.ZodBoolean) return (value) => readBoolean(value, context);
  return (value) => value;
}

function objectReader(schema: z.ZodObject, context: Context): Read {
  const fields = Object.entries(schema.shape).map(([name, field]) => ({
    name,
    expected: !(field instanceof z.ZodOptional),
    read: compile(field, context),
  }));
  const known = new Set(Object.keys(schema.shape));
  return (value) => {
    // An empty XML element and an empty structure look the same.
    const given = context.fromText && value === '' ? {} : value;
    if (!isObject(given)) return odd(value, 'an object', context);
    const record: Record<string, unknown> = {};
    for (const { name, expected, read } of fields) {
      context.path.push(name);
      const found = Object.hasOwn(given, name) ? given[name] : undefined;
      if (found !== undefined) {
        const value = read(found);
        if (value !== undefined) record[name] = value;
      } else if (expected) context.warn(() => `The answer has no ${dotted(context.path)}.`);
      context.path.pop();
    }
    for (const name of Object.keys(given)) if (!known.has(name) && name !== '__proto__') record[name] = given[name];
    return record;
  };
}

function arrayReader(schema: z.ZodArray, context: Context): Read {
  const read = compile(schema.element, context);
  return (value) => {
    if (!Array.isArray(value)) return odd(value, 'a list', context);
    const elements: unknown[] = [];
    for (const [index, element] of value.entries()) {
      context.path.push(index);
      const kept = read(element);
      if (kept !== undefined) elements.push(kept);
      context.path.pop();
    }
    return elements;
  };
}

function readText(value: unknown, context: Context): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'number' && typeof value !== 'boolean') return odd(value, 'text', context);
  context.warn(() => `${dotted(context.path)} in the answer is ${String(value)}, not text; it was taken as text.`);
  return String(value);
}

function readInteger(value: unknown, context: Context): number | undefined {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) return odd(value, 'a whole number', context);
  if (typeof value === 'string' && !context.fromText)
    context.warn(() => `${dotted(context.path)} in the answer is the text ${quote(value)}; it was taken as a number.`);
  return number;
}

function readBoolean(value: unknown, context: Context): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (value !== 'true' && value !== 'false') return odd(value, 'true or false', context);
  if (!context.fromText)
    context.warn(() => `${dotted(context.path)} in the answer is the text ${quote(value)}; it was taken as such.`);
  return value === 'true';
}

function odd(value: unknown, expected: string, context: Context): undefined {
  context.warn(() => {
    const given = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
    const what = context.path.length === 0 ? 'The answer' : `${dotted(context.path)} in the answer`;
    return `${what} is ${quote(given, 100)}, not ${expected}; it was left out.`;
  });
  return undefined;
}
