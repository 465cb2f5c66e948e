import * as z from 'zod';
import type { Effect, JsonSchema, Operation } from '../tools/define-operation.js';
import { listText } from '../util/human.js';
import { refusedKeywords } from './client-quirks.js';

/** The schemas of a tool's arguments and answer, as hosts see them. */
export interface ToolSchemas {
  readonly input: JsonSchema;
  readonly output: JsonSchema;
}

/**
 * Makes the schemas of a tool. That takes longer than a server may take to start: scripts/schemas.mjs does it beforehand, and the
 * server reads `src/mcp/schemas.generated.json`.
 */
export const toolSchemas = ({ input, output, effect }: Operation): ToolSchemas => ({
  input: inputJsonSchema(input()),
  output: outputJsonSchema(outputSchema(effect, output())),
});

/** The advertised schema of an answer. Rare fields are left out: a list of tools has to stay short. */
function outputSchema(effect: Effect, answer: z.ZodObject): z.ZodObject {
  const change = {
    outcome: z.string().optional(),
    show: z.string().describe('the plan, for the user').optional(),
    plan: z.looseObject({}).optional(),
    planId: z.string().optional(),
  };
  return z.object({
    summary: z.string(),
    next: z.looseObject({}).describe('who has to act, action, text').optional(),
    ...(effect !== 'read' && change),
    warnings: z.array(z.string()),
    requestIds: z.record(z.string(), z.string()).describe('for support'),
    answer: answer.describe('from the cloud'),
  });
}

/**
 * The JSON Schema of a tool's arguments, for every host: nothing but types, descriptions, enumerations of words and plain limits.
 */
export function inputJsonSchema(schema: z.ZodObject): JsonSchema {
  return convert(schema, 'input', ({ zodSchema, jsonSchema }) => {
    simplify(jsonSchema);
    // For the people who read a plan.
    delete jsonSchema.title;
    // "Not empty" goes without saying.
    if (jsonSchema.minLength === 1) delete jsonSchema.minLength;
    // The description says so.
    if (jsonSchema.minItems === 1 && jsonSchema.maxItems === 1) {
      delete jsonSchema.minItems;
      delete jsonSchema.maxItems;
    }
    // Not at the literal itself: a description belongs to what is around it, and would replace the one that is made here.
    if (zodSchema._zod.def.type !== 'literal' && jsonSchema.enum?.every(Number.isInteger))
      describeNumbers(jsonSchema, jsonSchema.enum.map(Number));
    if (typeof jsonSchema.listed === 'string') {
      describe(jsonSchema, jsonSchema.listed);
      delete jsonSchema.listed;
      delete jsonSchema.enum;
    }
    // zod knows a CIDR pattern of 200 characters.
    if (jsonSchema.format === 'cidrv4') {
      delete jsonSchema.format;
      delete jsonSchema.pattern;
    }
  });
}

/** Gives the values of a whole number as bounds and in words: some hosts refuse an enumeration of numbers. */
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
 * The JSON Schema of a tool's answer. Nothing in it is required and further fields are allowed, because an answer of
 * the cloud is passed on even where it differs from the reference.
 */
export function outputJsonSchema(schema: z.ZodObject): JsonSchema {
  const jsonSchema = convert(schema, 'output', ({ jsonSchema }) => {
    simplify(jsonSchema);
    // Structures that are spelled out elsewhere are only named: a list of tools has to stay short.
    if (typeof jsonSchema.like === 'string') {
      jsonSchema.description = jsonSchema.like;
      delete jsonSchema.like;
      delete jsonSchema.properties;
    }
    if (jsonSchema.properties !== undefined && Object.keys(jsonSchema.properties).length === 0)
      delete jsonSchema.properties;
    delete jsonSchema.propertyNames;
    delete jsonSchema.required;
    delete jsonSchema.additionalProperties;
  });
  return JSON.parse(JSON.stringify(jsonSchema, (_name, value) => (value?.rare === true ? undefined : value)));
}

/** Parts of the schema of a tool's arguments that some host would refuse, with their paths. */
export function schemaProblems(schema: JsonSchema, path = ''): string[] {
  const at = path === '' ? 'the whole' : path;
  const inner = [...Object.entries(Object(schema.properties)), ...('items' in schema ? [['[]', schema.items]] : [])];
  const rules: readonly (readonly [boolean, string])[] = [
    [typeof schema.type !== 'string', 'has no single type'],
    [
      refusedKeywords.some((keyword) => keyword in schema),
      'uses what some hosts refuse: references, unions or constants',
    ],
    [schema.type === 'object' && schema.additionalProperties !== false, 'must be a strict object'],
    [schema.type === 'number', 'must be a whole number'],
    [path !== '' && !path.endsWith('[]') && typeof schema.description !== 'string', 'has no description'],
  ];
  return [
    ...rules.flatMap(([isBroken, problem]) => (isBroken ? [`${at} ${problem}`] : [])),
    ...inner.flatMap(([name, field]) =>
      schemaProblems(field as JsonSchema, `${path}${path === '' || name === '[]' ? '' : '.'}${name}`),
    ),
  ];
}

type Override = (context: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }) => void;

function convert(schema: z.ZodObject, io: 'input' | 'output', override: Override): JsonSchema {
  const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(schema, { io, override, reused: 'inline' });
  return jsonSchema;
}

/** Leaves out the bounds that every number has anyway, and writes a single value as a list of one. */
function simplify(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if ('const' in jsonSchema) {
    jsonSchema.enum = [jsonSchema.const];
    delete jsonSchema.const;
  }
}
