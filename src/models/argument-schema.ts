/** Makes the schemas that check the arguments of calls. */
import { isUtf8 } from 'node:buffer';
import * as z from 'zod';
import { flag, notUnicode, oneOf, wholeNumber } from '../tools/schema/fields.js';
import { nameInWords } from '../util/field-names.js';
import { sentenceCase } from '../util/human.js';
import { isObject, lazy, leavesOf } from '../util/objects.js';
import { hasTrait, limitsOf, type Member, type StructureShape, textTrait, type ValueLimits } from './model.js';
import { readPattern } from './read-pattern.js';

/** Returns the fields of a schema for arguments. Structures are shown to this level, and deeper ones are only checked. */
export const argumentShape = (fields: readonly Member[]): Readonly<Record<string, z.ZodType>> =>
  Object.fromEntries(fields.map((field) => [field.name, argumentSchema(field, [])]));

/** True for a structure that is nested too deeply to be described, or that contains itself. `around` has the IDs of the structures around it. */
export const isTooDeep = ({ id }: StructureShape, around: readonly string[]): boolean =>
  around.length >= 2 || around.includes(id);

function argumentSchema(argument: Member, around: readonly string[]): z.ZodType {
  const { name, isRequired, location, documentation } = argument;
  const shown = valueSchema(argument, around);
  const schema = location === undefined ? shown : rulesOfLocation[location](shown);
  // The reference of the operation shows the whole documentation.
  const described = schema.describe(documentation || `${sentenceCase(nameInWords(name))}.`);
  return isRequired ? described : described.optional();
}

/** An API refuses a longer path or header only after a person has consented. */
const atMost = (bytes: number) =>
  [
    (value: unknown) => Buffer.byteLength([...leavesOf(value)].map(([, leaf]) => leaf).join(', ')) <= bytes,
    `must have at most ${bytes} bytes`,
  ] as const;

const rulesOfLocation: Readonly<Record<'path' | 'headers', (schema: z.ZodType) => z.ZodType>> = {
  path: (schema) =>
    schema
      .refine(
        (value) => value !== '' && !/(?:^|[/\\])\.{1,2}(?:[/\\;]|$)/.test(String(value)),
        'must not be empty, or have "." or ".." as a part of a path, which would address another resource',
      )
      .refine(...atMost(2048)),
  headers: (schema) => schema.refine(hasHeaderNames, 'must have names of headers, each once').refine(...atMost(4096)),
};

function hasHeaderNames(value: unknown): boolean {
  const names = isObject(value) ? Object.keys(value) : [];
  const isDistinct = new Set(names.map((name) => name.toLowerCase())).size === names.length;
  return isDistinct && names.every(isHeaderName);
}

/** RFC 9110, section 5.1. */
export const isHeaderName = (name: string): boolean => /^[\w!#$%&'*+.^`|~-]{1,128}$/.test(name);

export function valueSchema(member: Member, around: readonly string[] = []): z.ZodType {
  const { shape } = member;
  const limits = limitsOf(member);
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = limits;
  const isWithin = (value: number) => !(value < min || value > max);
  switch (shape.kind) {
    case 'structure':
      return isTooDeep(shape, around) ? hiddenSchema(() => structureSchema(shape, [])) : structureSchema(shape, around);
    case 'list': {
      const rule = `must have ${limitsText(limits, 'entries')}`;
      const list = z.array(valueSchema(shape.element, around), jsonRule).min(limits.min ?? 0, rule);
      const limited = limits.max === undefined ? list : list.max(limits.max, rule);
      const areDistinct = (entries: readonly unknown[]) =>
        new Set(entries.map((entry) => JSON.stringify(entry))).size === entries.length;
      const isSet = hasTrait(member.traits, 'smithy.api#uniqueItems');
      return isSet ? limited.refine(areDistinct, 'must not have an entry twice') : limited;
    }
    case 'map':
      return hiddenSchema(() =>
        z
          .record(z.string(), valueSchema(shape.element), jsonRule)
          .refine((map) => isWithin(Object.keys(map).length), `must have ${limitsText(limits, 'entries')}`),
      );
    case 'document':
      return hiddenSchema(() =>
        z
          .unknown()
          .refine((value) => value !== undefined, 'is required')
          // A text that was meant as an object or a list. Any other text is a value of its own.
          .refine((value) => typeof value !== 'string' || !/^\s*[[{]/.test(value), jsonRule),
      );
    case 'text':
      return textSchema(member, isWithin);
    case 'enum':
      return oneOf(shape.values);
    case 'integer': {
      const [lowest, highest] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
      const number = wholeNumber(Math.max(min, lowest), Math.min(max, highest));
      const { values } = shape;
      return values === undefined
        ? number
        : number.refine((value) => values.includes(value), `must be one of: ${values.join(', ')}`);
    }
    case 'number':
      return z
        .unknown()
        .refine(isNumber, {
          error: ({ input }) => (input === undefined ? 'is required' : 'must be a number'),
          abort: true,
        })
        .refine((value) => isWithin(Number(value)), `must be a number, ${limitsText(limits)}`)
        .meta({ type: 'number' });
    case 'bigNumber':
      return z.string().regex(/^-?\d{1,1000}(\.\d{1,1000})?$/, 'must be a number as text, in digits');
    case 'boolean':
      return flag();
    case 'timestamp':
      return z.string().refine(isTime, 'must be a time in ISO 8601, such as 2026-11-30T12:00:00Z');
    case 'blob':
      return blobSchema(member, isWithin);
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

/** For text that an agent gave in place of an object or a list. JSON text was parsed before. */
const jsonRule = {
  error: ({ input }: { readonly input?: unknown }) => (typeof input === 'string' ? 'must be JSON text' : undefined),
};

function structureSchema({ id, members, isUnion }: StructureShape, around: readonly string[]): z.ZodType {
  const schemas = members.map((field) => [field.name, argumentSchema(field, [...around, id])]);
  const schema = z.strictObject(Object.fromEntries(schemas), jsonRule);
  if (!isUnion) return schema;
  const names = members.map(({ name }) => name).join(', ');
  return schema.partial().refine((value) => Object.keys(value).length === 1, `must have exactly one of: ${names}`);
}

function textSchema(member: Member, isWithin: (length: number) => boolean): z.ZodType {
  const text = z
    .string()
    .refine((value) => value.isWellFormed(), notUnicode)
    .refine((value) => isWithin([...value].length), `must have ${limitsText(limitsOf(member), 'characters')}`);
  const pattern = textTrait(member.traits, 'smithy.api#pattern');
  const read = pattern === undefined ? undefined : readPattern(pattern);
  // Only the cloud checks an `unchecked` pattern.
  return read?.kind === 'checked' ? text.refine(read.allows, `must match the pattern ${pattern}`) : text;
}

/** Accepts a number as text, because JSON lacks NaN and the infinities. */
const isNumber = (value: unknown) =>
  typeof value === 'number' ||
  (typeof value === 'string' && /^(?:-?\d{1,300}(\.\d{1,300})?|NaN|-?Infinity)$/.test(value));

const isTime = (value: string) =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/.test(value) &&
  !Number.isNaN(Date.parse(value));

export const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function blobSchema(member: Member, isWithin: (length: number) => boolean): z.ZodType {
  const blob = z
    .string()
    .superRefine((value, context) => {
      const issue = { code: 'invalid_format', format: 'base64', message: 'must be base64' } as const;
      if (!base64.test(value)) context.addIssue({ ...issue, input: value });
    })
    .refine(
      (value) => isWithin(Buffer.byteLength(value, 'base64')),
      `must hold ${limitsText(limitsOf(member), 'bytes')}`,
    );
  // This server sends bodies as text.
  return hasTrait(member.ownTraits, 'smithy.api#httpPayload')
    ? blob.refine((value) => isUtf8(Buffer.from(value, 'base64')), 'must be the base64 of text in UTF-8')
    : blob;
}

function limitsText({ min, max }: ValueLimits, unit = ''): string {
  const bounds = min === max ? `exactly ${max}` : `${min} to ${max}`;
  const text = max === undefined ? `at least ${min}` : min === undefined ? `at most ${max}` : bounds;
  return `${text} ${unit}`.trim();
}
