import * as z from 'zod';
import { countText } from '../../util/human.js';
import { isObject } from '../../util/objects.js';
import type { Argument, ArgumentValue } from './arguments.js';
import { mapValues } from './member-values.js';

type Values = Readonly<Record<string, unknown>>;
type IsSecret = (field: Argument) => boolean;

const masked = '(hidden, because it may be a secret)';

/**
 * Returns a decoded answer as a record that JSON can hold: times in ISO 8601, blobs as a count of bytes, and large numbers as text.
 * Secrets are masked.
 */
export function answerRecord(fields: readonly Argument[], values: Values, isSecret: IsSecret): Record<string, unknown> {
  const byMember = new Map(fields.map((field) => [field.member, field]));
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      if (value === undefined || value === null) return [];
      const field = byMember.get(name);
      if (field !== undefined && isSecret(field)) return [[name, masked]];
      return [[name, answerValue(field?.value, value, isSecret)]];
    }),
  );
}

/** @param rules of the model for the value, if the model has any */
function answerValue(rules: ArgumentValue | undefined, value: unknown, isSecret: IsSecret): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'no valid time' : value.toISOString();
  if (value instanceof Uint8Array) return countText(value.length, 'byte');
  // JSON has neither large numbers nor NaN.
  if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))) return String(value);
  if (Array.isArray(value)) {
    const elementRules = rules?.kind === 'list' ? rules.element() : undefined;
    return value.map((element) => answerValue(elementRules, element, isSecret));
  }
  if (!isObject(value)) return value;
  if (rules?.kind === 'structure') return answerRecord(rules.fields(), value, isSecret);
  if (rules?.kind === 'bigNumber') return String(value.string ?? value);
  const entryRules = rules?.kind === 'map' ? rules.element() : undefined;
  return mapValues(value, (entry) => answerValue(entryRules, entry, isSecret));
}

/** Levels of structures in the schema of an answer. */
const maximumLevels = 4;

/** The schema of an answer. No field is required, and other fields are allowed. */
export const answerSchema = (fields: readonly Argument[], isSecret: IsSecret, level = 1): z.ZodObject =>
  z.object(
    Object.fromEntries(
      fields.map((field) => {
        const schema = isSecret(field) ? z.string() : answerValueSchema(field.value, isSecret, level);
        return [field.member, schema.optional()];
      }),
    ),
  );

function answerValueSchema(value: ArgumentValue, isSecret: IsSecret, level: number): z.ZodType {
  switch (value.kind) {
    case 'structure':
      return level < maximumLevels ? answerSchema(value.fields(), isSecret, level + 1) : z.looseObject({});
    case 'list':
      return z.array(answerValueSchema(value.element(), isSecret, level));
    case 'map':
      return z.looseObject({});
    case 'integer':
    case 'number':
      // A number that JavaScript cannot hold is text.
      return z.union([z.number(), z.string()]);
    case 'boolean':
      return z.boolean();
    case 'document':
      return z.unknown();
    default:
      return z.string();
  }
}
