import * as z from 'zod';
import type { Effect, JsonSchema, Operation } from '../tools/define-operation.js';
import { listText } from '../util/human.js';
import { groupedBy, isObject } from '../util/objects.js';

export interface ToolSchemas {
  readonly input: JsonSchema;
  /** Absent if hosts get no schema of the answer. */
  readonly output?: JsonSchema;
}

/** Generates the schemas of a tool at build time, because it is slow. */
export const toolSchemas = ({ input, output, effect, isAnswerOpen }: Operation): ToolSchemas => ({
  input: toolListSchema(input()),
  ...(isAnswerOpen !== true && { output: outputJsonSchema(outputSchema(effect, output())) }),
});

/** Leaves out some fields to keep the list of tools short. */
function outputSchema(effect: Effect, answer: z.ZodObject): z.ZodObject {
  const change = {
    outcome: z.string().optional(),
    show: z.string().describe('the plan, for the user').optional(),
    plan: z.looseObject({}).optional(),
    changeId: z.string().optional(),
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

/** In a form that every host accepts. */
export function inputJsonSchema(schema: z.ZodObject): JsonSchema {
  return convert(schema, 'input', ({ zodSchema, jsonSchema }) => {
    // Only people need titles and units, in plans.
    delete jsonSchema.title;
    delete jsonSchema.unit;
    // Models assume that a required string is not empty.
    if (jsonSchema.minLength === 1) delete jsonSchema.minLength;
    // The description made by `listOfOne` already says it.
    if (jsonSchema.minItems === 1 && jsonSchema.maxItems === 1) {
      delete jsonSchema.minItems;
      delete jsonSchema.maxItems;
    }

    // An object with any fields.
    if (isObject(jsonSchema.additionalProperties) && Object.keys(jsonSchema.additionalProperties).length === 0) {
      delete jsonSchema.additionalProperties;
      delete jsonSchema.properties;
    }
    replaceNumberEnum(zodSchema, jsonSchema);
    replaceValuesListedElsewhere(jsonSchema);
    // Hosts do not need zod's pattern, which has 200 characters.
    if (jsonSchema.format === 'cidrv4') {
      delete jsonSchema.format;
      delete jsonSchema.pattern;
    }
  });
}

/** For the list of tools, without the rules that errors name. */
export const toolListSchema = (schema: z.ZodObject): JsonSchema =>
  JSON.parse(
    JSON.stringify(inputJsonSchema(schema), (_name, value: unknown) => {
      if (!isObject(value) || typeof value.type !== 'string') return value;
      const { pattern: _, minLength: __, maxLength: ___, enum: allowed, ...rest } = value;
      if (!Array.isArray(allowed)) return rest;
      // Longer enumerations move into the description to save tokens.
      if (allowed.length <= 12) return { ...rest, enum: allowed };
      return { ...rest, description: `${rest.description ?? ''} ${joinDigits(allowed.map(String))}.`.trim() };
    }),
  );

/** `h2-large`, `h2-large16` and `h2-large24` become `h2-large, h2-large16/24`. */
function joinDigits(values: readonly string[]): string {
  // `#` keeps a value without digits apart.
  const groups = groupedBy(values, (value) => value.replace(/\d+$/, '#'));
  return [...groups]
    .map(([stem, members]) => stem.replace(/#$/, members.map((member) => member.slice(stem.length - 1)).join('/')))
    .join(', ');
}

/** Some hosts refuse an enumeration of whole numbers. Only the description of the outer schema counts. */
function replaceNumberEnum(zodSchema: z.core.$ZodTypes, jsonSchema: z.core.JSONSchema.BaseSchema): void {
  const isLiteral = zodSchema._zod.def.type === 'literal';
  if (isLiteral || !jsonSchema.enum?.every(Number.isInteger)) return;
  const values = jsonSchema.enum.map(Number);
  delete jsonSchema.enum;
  jsonSchema.type = 'integer';
  jsonSchema.minimum = Math.min(...values);
  jsonSchema.maximum = Math.max(...values);
  if (values.length > 1) addDescription(jsonSchema, `${listText(values, 'or')}.`);
}

/** Replaces allowed values that `oneOfListed` marks. */
function replaceValuesListedElsewhere(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  if (typeof jsonSchema.listed !== 'string') return;
  addDescription(jsonSchema, jsonSchema.listed);
  delete jsonSchema.listed;
  delete jsonSchema.enum;
}

function addDescription(jsonSchema: z.core.JSONSchema.BaseSchema, more: string): void {
  jsonSchema.description = jsonSchema.description === undefined ? more : `${jsonSchema.description} ${more}`;
}

/** No field is required, because any answer of the cloud is passed on. */
export function outputJsonSchema(schema: z.ZodObject): JsonSchema {
  const converted = convert(schema, 'output', ({ jsonSchema }) => {
    if (typeof jsonSchema.shownAs === 'string') {
      jsonSchema.description = jsonSchema.shownAs;
      delete jsonSchema.shownAs;
      delete jsonSchema.properties;
    }
    delete jsonSchema.unit;

    const { properties } = jsonSchema;
    if (properties !== undefined && Object.keys(properties).length === 0) delete jsonSchema.properties;
    delete jsonSchema.required;
    delete jsonSchema.additionalProperties;
    // Some hosts refuse this keyword, which zod writes for records.
    delete jsonSchema.propertyNames;
  });

  // `JSON.stringify` leaves out a field whose value becomes undefined.
  const hideUnlisted = (_name: string, value: unknown) =>
    isObject(value) && value.unlisted === true ? undefined : value;
  return JSON.parse(JSON.stringify(converted, hideUnlisted));
}

type Adapt = (context: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }) => void;

function convert(schema: z.ZodObject, io: 'input' | 'output', adapt: Adapt): JsonSchema {
  const override: Adapt = (context) => {
    const { jsonSchema } = context;
    // zod writes these bounds for every integer.
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    // Some hosts refuse constants.
    if ('const' in jsonSchema) {
      jsonSchema.enum = [jsonSchema.const];
      delete jsonSchema.const;
    }
    adapt(context);
  };
  const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(schema, { io, override, reused: 'inline' });
  return jsonSchema;
}
