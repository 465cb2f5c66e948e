import { isUtf8 } from 'node:buffer';
import * as z from 'zod';
import { flag, notUnicode, oneOf, wholeNumber } from '../tools/schema/fields.js';
import { nameInWords } from '../util/field-names.js';
import { sentenceCase } from '../util/human.js';
import { isObject, lazy, leavesOf } from '../util/objects.js';
import type { Argument, StructureRules, ValueLimits, ValueRules } from './arguments.js';
import { readPattern } from './read-pattern.js';

/** Returns the fields of a schema for arguments. Structures are shown to this level, and deeper ones are only checked. */
export const argumentShape = (fields: readonly Argument[]): Readonly<Record<string, z.ZodType>> =>
  Object.fromEntries(fields.map((field) => [field.name, argumentSchema(field, [])]));

/** Levels of structures that the reference and the names of secrets describe. */
const levels = 2;

/** True for a structure that is nested too deeply to be described, or that contains itself. `around` has the IDs of the structures around it. */
export const isTooDeep = ({ id }: StructureRules, around: readonly string[]): boolean =>
  around.length >= levels || around.includes(id);

function argumentSchema(argument: Argument, around: readonly string[]): z.ZodType {
  const { name, isRequired, location, documentation, rules } = argument;
  const shown = valueSchema(rules, around);
  const schema = location === undefined ? shown : rulesOfLocation[location](shown);
  // The reference of the operation shows the whole documentation.
  const described = schema.describe(documentation || `${sentenceCase(nameInWords(name))}.`);
  return isRequired ? described : described.optional();
}

/** Length limits (bytes), because an API refuses a longer path or header only after a person has consented. */
const longestInPath = 2048;
const longestHeader = 4096;

const rulesOfLocation: Readonly<Record<'path' | 'headers', (schema: z.ZodType) => z.ZodType>> = {
  path: (schema) =>
    schema
      .refine(keepsPath, otherResource)
      .refine((value) => byteLengthOf(value) <= longestInPath, `must have at most ${longestInPath} bytes`),
  headers: (schema) =>
    schema
      .refine(hasHeaderNames, 'must have names of headers, each once')
      .refine((value) => byteLengthOf(value) <= longestHeader, `must have at most ${longestHeader} bytes`),
};

function hasHeaderNames(value: unknown): boolean {
  const names = isObject(value) ? Object.keys(value) : [];
  const isDistinct = new Set(names.map((name) => name.toLowerCase())).size === names.length;
  return isDistinct && names.every((name) => /^[\w!#$%&'*+.^`|~-]{1,128}$/.test(name));
}

const byteLengthOf = (value: unknown): number =>
  Buffer.byteLength([...leavesOf(value)].map(([, leaf]) => leaf).join(', '));

/** False for an empty value or a segment "." or "..", because the request would address another resource. */
const keepsPath = (value: unknown) => value !== '' && !/(?:^|[/\\])\.{1,2}(?:[/\\;]|$)/.test(String(value));
const otherResource =
  'must not be empty, or have "." or ".." as a part of a path, which would address another resource';

/** Returns the schema that checks a value. */
export function valueSchema(rules: ValueRules, around: readonly string[] = []): z.ZodType {
  switch (rules.kind) {
    case 'structure':
      return isTooDeep(rules, around) ? hiddenSchema(() => structureSchema(rules, [])) : structureSchema(rules, around);
    case 'list':
      return listSchema(rules, around);
    case 'map':
      return hiddenSchema(() => mapSchema(rules));
    case 'document':
      return hiddenSchema(() =>
        z
          .unknown()
          .refine((value) => value !== undefined, 'is required')
          .refine((value) => typeof value !== 'string' || !brokenJson.test(value), jsonRule),
      );
    default:
      return simpleSchema(rules);
  }
}

/** Returns a schema that shows nothing of what it checks. The inner schema is made on demand, because structures may contain themselves. */
function hiddenSchema(make: () => z.ZodType): z.ZodType {
  const inner = lazy(make);
  const check = (value: unknown, context: z.core.$RefinementCtx) => {
    const { error } = inner().safeParse(value, { reportInput: true });
    for (const issue of error?.issues ?? []) context.addIssue({ ...issue });
  };
  return z.unknown().superRefine(check).meta({ type: 'string' });
}

/** A text that was meant as an object or a list. Any other text is a value of its own. */
const brokenJson = /^\s*[[{]/;

/** For text that an agent gave in place of an object or a list. JSON text was parsed before. */
const jsonRule = {
  error: ({ input }: { readonly input?: unknown }) => (typeof input === 'string' ? 'must be JSON text' : undefined),
};

function structureSchema({ id, fields, isUnion }: StructureRules, around: readonly string[]): z.ZodType {
  const allFields = fields();
  const schemas = allFields.map((field) => [field.name, argumentSchema(field, [...around, id])]);
  const schema = z.strictObject(Object.fromEntries(schemas), jsonRule);
  if (!isUnion) return schema;
  const names = allFields.map(({ name }) => name).join(', ');
  return schema.partial().refine((value) => Object.keys(value).length === 1, `must have exactly one of: ${names}`);
}

function listSchema(
  { limits, isSet, element }: Extract<ValueRules, { kind: 'list' }>,
  around: readonly string[],
): z.ZodType {
  const rule = `must have ${limitsText(limits, 'entries')}`;
  const { min = 0, max } = limits;
  const list = z.array(valueSchema(element(), around), jsonRule).min(min, rule);
  const limited = max === undefined ? list : list.max(max, rule);
  const areDistinct = (entries: readonly unknown[]) =>
    new Set(entries.map((entry) => JSON.stringify(entry))).size === entries.length;
  return isSet ? limited.refine(areDistinct, 'must not have an entry twice') : limited;
}

function mapSchema({ limits, element }: Extract<ValueRules, { kind: 'map' }>): z.ZodType {
  const isSizeAllowed = (entries: object) => isWithin(limits, Object.keys(entries).length);
  return z
    .record(z.string(), valueSchema(element()), jsonRule)
    .refine(isSizeAllowed, `must have ${limitsText(limits, 'entries')}`);
}

type SimpleRules = Exclude<ValueRules, { kind: 'structure' | 'list' | 'map' | 'document' }>;

function simpleSchema(rules: SimpleRules): z.ZodType {
  switch (rules.kind) {
    case 'text':
      return textSchema(rules);
    case 'enum':
      return oneOf(rules.values);
    case 'integer':
      return integerSchema(rules);
    case 'number':
      return numberSchema(rules.limits);
    case 'bigNumber':
      return z.string().regex(/^-?\d{1,1000}(\.\d{1,1000})?$/, 'must be a number as text, in digits');
    case 'boolean':
      return flag();
    case 'timestamp':
      return z.string().refine(isTime, 'must be a time in ISO 8601, such as 2026-11-30T12:00:00Z');
    case 'blob':
      return blobSchema(rules);
  }
}

function textSchema({ limits, pattern }: Extract<ValueRules, { kind: 'text' }>): z.ZodType {
  const text = z
    .string()
    .refine((value) => value.isWellFormed(), notUnicode)
    .refine((value) => isWithin(limits, [...value].length), `must have ${limitsText(limits, 'characters')}`);
  const read = pattern === undefined ? undefined : readPattern(pattern);
  // Only the cloud checks an `unchecked` pattern.
  if (read?.kind !== 'checked') return text;
  return text.refine(read.allows, `must match the pattern ${pattern}`);
}

function integerSchema({ limits, values }: Extract<ValueRules, { kind: 'integer' }>): z.ZodType {
  const number = wholeNumber(
    Math.max(limits.min ?? Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
    Math.min(limits.max ?? Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  );
  return values === undefined
    ? number
    : number.refine((value) => values.includes(value), `must be one of: ${values.join(', ')}`);
}

/** Accepts a number as text, because JSON lacks NaN and the infinities. */
const numberSchema = (limits: ValueLimits) =>
  z
    .unknown()
    .refine(isNumber, { error: ({ input }) => (input === undefined ? 'is required' : 'must be a number'), abort: true })
    .refine((value) => isWithin(limits, Number(value)), `must be a number, ${limitsText(limits)}`)
    .meta({ type: 'number' });

const numberText = /^(?:-?\d{1,300}(\.\d{1,300})?|NaN|-?Infinity)$/;
const isNumber = (value: unknown) => typeof value === 'number' || (typeof value === 'string' && numberText.test(value));

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;
const isTime = (value: string) => isoTime.test(value) && !Number.isNaN(Date.parse(value));

export const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const blobSchema = ({ limits, mustBeUtf8 = false }: Extract<ValueRules, { kind: 'blob' }>) =>
  z
    .string()
    .superRefine((value, context) => {
      const issue = { code: 'invalid_format', format: 'base64', message: 'must be base64' } as const;
      if (!base64.test(value)) context.addIssue({ ...issue, input: value });
    })
    .refine((value) => !mustBeUtf8 || isUtf8(Buffer.from(value, 'base64')), 'must be the base64 of text in UTF-8')
    .refine(
      (value) => isWithin(limits, Buffer.byteLength(value, 'base64')),
      `must hold ${limitsText(limits, 'bytes')}`,
    );

const isWithin = ({ min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }: ValueLimits, value: number) =>
  !(value < min || value > max);

function limitsText({ min, max }: ValueLimits, unit = ''): string {
  const bounds = min === max ? `exactly ${max}` : `${min} to ${max}`;
  const text = max === undefined ? `at least ${min}` : min === undefined ? `at most ${max}` : bounds;
  return `${text} ${unit}`.trim();
}
