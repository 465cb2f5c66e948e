import * as z from 'zod';
import { withListedNames } from './argument-names.js';
import { valueSchema } from './argument-schema.js';
import type { Argument, ValueLimits, ValueRules } from './arguments.js';
import type { Traits } from './model.js';

/** Examples of calls. An example with `error` fails. */
const examplesTrait = z
  .array(z.object({ input: z.looseObject({}).default({}), error: z.unknown().optional() }))
  .catch([]);

export function modelExamples(
  fields: readonly Argument[],
  traits: Traits,
): readonly Readonly<Record<string, unknown>>[] {
  const successful = examplesTrait.parse(traits['smithy.api#examples']).filter(({ error }) => error === undefined);
  return successful.map(({ input }) => {
    const members = Object.entries(input).filter(([name]) => fields.some(({ memberName }) => memberName === name));
    return withListedNames(fields, Object.fromEntries(members));
  });
}

const usualTexts: readonly string[] = [
  'example',
  'example-1',
  '1',
  'arn:aws:service:us-east-1:123456789012:resource/example',
  'arn:aws:iam::123456789012:role/example',
  '123456789012',
  '00000000-0000-4000-8000-000000000001',
  '2026-11-30',
  '10.0.0.1',
  'https://example.com/',
  'user@example.com',
  'us-east-1',
  '{}',
];

/** Limit of nesting, which a structure that requires itself reaches. */
const maximumLevels = 20;

export function exampleArguments(fields: readonly Argument[], level = 1): Record<string, unknown> | undefined {
  const example: Record<string, unknown> = {};
  for (const { name, rules } of fields.filter(({ isRequired }) => isRequired)) {
    const value = exampleValue(rules, level);
    // For a structure that requires itself twice, trying the other fields would take exponential time.
    if (value === undefined) return undefined;
    example[name] = value;
  }
  return example;
}

/** Keeps to the rules, except those for equal elements of a list and for the number of entries in a map. */
function exampleValue(rules: ValueRules, level: number): unknown {
  if (level > maximumLevels) return undefined;
  switch (rules.kind) {
    case 'structure':
      return rules.isUnion ? exampleUnion(rules.fields(), level + 1) : exampleArguments(rules.fields(), level + 1);
    case 'list': {
      const element = exampleValue(rules.element(), level + 1);
      return element === undefined ? undefined : Array.from({ length: rules.limits.min ?? 1 }, () => element);
    }
    case 'map': {
      const key = exampleValue(rules.key(), level + 1);
      const entry = exampleValue(rules.element(), level + 1);
      return key === undefined || entry === undefined ? undefined : { [String(key)]: entry };
    }
    default:
      return simpleExample(rules);
  }
}

function exampleUnion([firstField]: readonly Argument[], level: number): unknown {
  if (firstField === undefined) return undefined;
  const value = exampleValue(firstField.rules, level);
  return value === undefined ? undefined : { [firstField.name]: value };
}

function simpleExample(rules: Exclude<ValueRules, { kind: 'structure' | 'list' | 'map' }>): unknown {
  switch (rules.kind) {
    case 'document':
      return {};
    case 'boolean':
      return true;
    case 'timestamp':
      return '2026-11-30T12:00:00Z';
    case 'bigNumber':
      return '1';
    case 'enum':
      return rules.values[0];
    case 'integer':
      return rules.values?.[0] ?? withinLimits(rules.limits);
    case 'number':
      return withinLimits(rules.limits);
    case 'blob':
      return Buffer.alloc(rules.limits.min ?? 1, 'a').toString('base64');
    case 'text':
      return exampleText(rules);
  }
}

function exampleText(rules: Extract<ValueRules, { kind: 'text' }>): string | undefined {
  const { min = 0, max } = rules.limits;
  const schema = valueSchema(rules);
  return usualTexts.map((text) => text.slice(0, max).padEnd(min, 'a')).find((text) => schema.safeParse(text).success);
}

const withinLimits = ({ min = 1, max = Number.POSITIVE_INFINITY }: ValueLimits) => Math.min(Math.max(min, 1), max);
