import * as z from 'zod';
import { withListedNames } from './argument-names.js';
import { valueSchema } from './argument-schema.js';
import { limitsOf, type Member, type Traits } from './model.js';

/** Examples of calls. An example with `error` fails. */
const examplesTrait = z
  .array(z.object({ input: z.looseObject({}).default({}), error: z.unknown().optional() }))
  .catch([]);

export function modelExamples(fields: readonly Member[], traits: Traits): readonly Readonly<Record<string, unknown>>[] {
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

export const exampleArguments = (fields: readonly Member[], level = 1): Record<string, unknown> | undefined =>
  exampleFields(
    fields.filter(({ isRequired }) => isRequired),
    level,
  );

function exampleFields(fields: readonly Member[], level: number): Record<string, unknown> | undefined {
  const example: Record<string, unknown> = {};
  for (const field of fields) {
    const value = exampleValue(field, level);
    // For a structure that requires itself twice, trying the other fields would take exponential time.
    if (value === undefined) return undefined;
    example[field.name] = value;
  }
  return example;
}

/** Keeps to the rules, except those for equal elements of a list and for the number of entries in a map. */
function exampleValue(member: Member, level: number): unknown {
  // A structure may require itself.
  if (level > 20) return undefined;
  const { shape } = member;
  const { min, max } = limitsOf(member);
  const number = Math.min(Math.max(min ?? 1, 1), max ?? Number.POSITIVE_INFINITY);
  switch (shape.kind) {
    case 'structure':
      return shape.isUnion
        ? exampleFields(shape.members.slice(0, 1), level + 1)
        : exampleArguments(shape.members, level + 1);
    case 'list': {
      const element = exampleValue(shape.element, level + 1);
      return element === undefined ? undefined : Array.from({ length: min ?? 1 }, () => element);
    }
    case 'map': {
      const key = exampleValue(shape.key, level + 1);
      const entry = exampleValue(shape.element, level + 1);
      return key === undefined || entry === undefined ? undefined : { [String(key)]: entry };
    }
    case 'document':
      return {};
    case 'boolean':
      return true;
    case 'timestamp':
      return '2026-11-30T12:00:00Z';
    case 'bigNumber':
      return '1';
    case 'enum':
      return shape.values[0];
    case 'integer':
      return shape.values?.[0] ?? number;
    case 'number':
      return number;
    case 'blob':
      return Buffer.alloc(min ?? 1, 'a').toString('base64');
    case 'text': {
      const schema = valueSchema(member);
      const texts = usualTexts.map((text) => text.slice(0, max).padEnd(min ?? 0, 'a'));
      return texts.find((text) => schema.safeParse(text).success);
    }
  }
}
