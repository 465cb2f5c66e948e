import * as z from 'zod';
import type { Effect, JsonSchema, Operation } from '../tools/define-operation.js';
import { listText } from '../util/human.js';
import { isObject } from '../util/objects.js';
import { refusedKeywords } from './client-quirks.js';

/** The schemas of a tool's arguments and answer, as hosts see them. */
export interface ToolSchemas {
  readonly input: JsonSchema;
  /** Absent for an operation whose answer is open. */
  readonly output?: JsonSchema;
}

/**
 * Generates the schemas of a tool. It is too slow for the start of a server, so scripts/schemas.mjs generates them at build time, and
 * the server reads `src/mcp/schemas.generated.json`.
 */
export const toolSchemas = ({ input, output, effect, isAnswerOpen }: Operation): ToolSchemas => ({
  input: listedSchema(input()),
  ...(isAnswerOpen !== true && { output: outputJsonSchema(outputSchema(effect, output())) }),
});

/** The advertised schema of a result. Rare fields are omitted to keep the list of tools short. */
function outputSchema(effect: Effect, answer: z.ZodObject): z.ZodObject {
  const change = {
    outcome: z.string().optional(),
    show: z.string().describe('the plan, for the user').optional(),
    plan: z.looseObject({}).optional(),
    planId: z.string().optional(),
  };
  return z.object({
    summary: z.string(),
    next: z.looseObject({}).optional(),
    ...(effect !== 'read' && change),
    warnings: z.array(z.string()),
    requestIds: z.record(z.string(), z.string()).describe('for support'),
    answer: answer.describe('from the cloud'),
  });
}

/**
 * Returns the JSON Schema of a tool's arguments in a form that every host accepts: types, descriptions, enumerations of strings and
 * simple limits.
 */
export function inputJsonSchema(schema: z.ZodObject): JsonSchema {
  return convert(schema, 'input', ({ zodSchema, jsonSchema }) => {
    simplify(jsonSchema);
    // Titles and units are for the people who read a plan.
    delete jsonSchema.title;
    delete jsonSchema.unit;
    // A model expects a required string to be non-empty.
    if (jsonSchema.minLength === 1) delete jsonSchema.minLength;
    // The description states the exact number.
    if (jsonSchema.minItems === 1 && jsonSchema.maxItems === 1) {
      delete jsonSchema.minItems;
      delete jsonSchema.maxItems;
    }
    // Skips the literal itself: the schema around the literal has a description too, which would replace the description of the numbers.
    if (zodSchema._zod.def.type !== 'literal' && jsonSchema.enum?.every(Number.isInteger))
      describeNumbers(jsonSchema, jsonSchema.enum.map(Number));
    if (typeof jsonSchema.listed === 'string') {
      describe(jsonSchema, jsonSchema.listed);
      delete jsonSchema.listed;
      delete jsonSchema.enum;
    }
    // zod's pattern for CIDR blocks has 200 characters.
    if (jsonSchema.format === 'cidrv4') {
      delete jsonSchema.format;
      delete jsonSchema.pattern;
    }
  });
}

/**
 * Returns the JSON Schema of a tool's arguments for the list of tools, which every conversation reads. It drops the rules for texts, because a value that
 * breaks one is answered with the rule in words, and the reference of the operation has them all.
 */
export const listedSchema = (schema: z.ZodObject): JsonSchema =>
  JSON.parse(
    JSON.stringify(inputJsonSchema(schema), (_name, value: unknown) => {
      if (!isObject(value) || typeof value.type !== 'string') return value;
      const { pattern: _, minLength: __, maxLength: ___, enum: allowed, ...rest } = value;
      if (!Array.isArray(allowed)) return rest;
      if (allowed.length <= mostListed) return { ...rest, enum: allowed };
      return { ...rest, description: `${rest.description ?? ''} ${joinDigits(allowed.map(String))}.`.trim() };
    }),
  );

/** Longer enumerations are described in words, which takes a third of the tokens. */
const mostListed = 12;

/** Joins values that differ in the digits at their end: `h2-large, h2-large16/24`. */
function joinDigits(values: readonly string[]): string {
  const groups = new Map<string, string[]>();
  for (const value of values) {
    const stem = value.replace(/\d+$/, '');
    const digits = value.slice(stem.length);
    const key = digits === '' ? value : `${stem}#`;
    groups.set(key, [...(groups.get(key) ?? []), digits]);
  }
  return [...groups].map(([stem, digits]) => stem.replace(/#$/, digits.join('/'))).join(', ');
}

/** Describes the allowed values of a whole number by bounds and in words, because some hosts refuse an enumeration of numbers. */
function describeNumbers(jsonSchema: z.core.JSONSchema.BaseSchema, values: readonly number[]): void {
  delete jsonSchema.enum;
  jsonSchema.type = 'integer';
  jsonSchema.minimum = Math.min(...values);
  jsonSchema.maximum = Math.max(...values);
  if (values.length > 1) describe(jsonSchema, `${listText(values, 'or')}.`);
}

function describe(jsonSchema: z.core.JSONSchema.BaseSchema, more: string): void {
  jsonSchema.description = jsonSchema.description === undefined ? more : `${jsonSchema.description} ${more}`;
}

/**
 * Returns the JSON Schema of a result. No field is required and other fields are allowed, because the cloud's answer is passed on even
 * if it differs from the reference.
 */
export function outputJsonSchema(schema: z.ZodObject): JsonSchema {
  const jsonSchema = convert(schema, 'output', ({ jsonSchema }) => {
    simplify(jsonSchema);
    // Names a structure that another tool describes in full, to keep the list of tools short.
    if (typeof jsonSchema.like === 'string') {
      jsonSchema.description = jsonSchema.like;
      delete jsonSchema.like;
      delete jsonSchema.properties;
    }
    if (jsonSchema.properties !== undefined && Object.keys(jsonSchema.properties).length === 0)
      delete jsonSchema.properties;
    delete jsonSchema.unit;
    delete jsonSchema.propertyNames;
    delete jsonSchema.required;
    delete jsonSchema.additionalProperties;
  });
  return JSON.parse(JSON.stringify(jsonSchema, (_name, value) => (value?.rare === true ? undefined : value)));
}

/** Returns the parts of an argument schema that some host would refuse, with their paths. */
export function schemaProblems(schema: JsonSchema, path = ''): string[] {
  const isField = path !== '' && !path.endsWith('[]');
  const problems: string[] = [];
  if (typeof schema.type !== 'string') problems.push('has no single type');
  if (refusedKeywords.some((keyword) => keyword in schema))
    problems.push('uses what some hosts refuse: references, unions or constants');
  if (schema.type === 'object' && schema.additionalProperties !== false) problems.push('must be a strict object');
  if (isField && typeof schema.description !== 'string') problems.push('has no description');

  const subject = path === '' ? 'the whole' : path;
  const prefix = path === '' ? '' : `${path}.`;
  const fields = Object.entries<JsonSchema>(Object(schema.properties));
  const innerProblems = fields.flatMap(([name, field]) => schemaProblems(field, `${prefix}${name}`));
  const itemProblems = 'items' in schema ? schemaProblems(Object(schema.items), `${path}[]`) : [];
  return [...problems.map((problem) => `${subject} ${problem}`), ...innerProblems, ...itemProblems];
}

type Override = (context: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }) => void;

function convert(schema: z.ZodObject, io: 'input' | 'output', override: Override): JsonSchema {
  const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(schema, { io, override, reused: 'inline' });
  return jsonSchema;
}

/** Drops the bounds that every safe integer has, and writes a constant as an enumeration of one. */
function simplify(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if ('const' in jsonSchema) {
    jsonSchema.enum = [jsonSchema.const];
    delete jsonSchema.const;
  }
}
