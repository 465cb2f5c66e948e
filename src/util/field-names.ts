import * as z from 'zod';
import { stepsOf } from './objects.js';

/** Names the last two fields of a path: `control plane's disk type`. */
export function fieldInWords(schema: z.core.$ZodType, path: string): string | undefined {
  let parent = schema;
  let names: string[] = [];
  for (const step of stepsOf(path)) {
    const fieldOrElement = stepInto(unwrapped(parent), step);
    if (fieldOrElement === undefined) return undefined;

    const title = textMeta(fieldOrElement, 'title');
    if (typeof step === 'string') {
      names.push(title ?? nameInWords(step));
    } else {
      // An element such as `node pool 2` is clear without its list.
      names = [`${title ?? names.at(-1) ?? ''} ${step + 1}`.trim()];
    }
    parent = fieldOrElement;
  }

  const [last, owner] = names.reverse();
  return owner === undefined ? last : `${owner}'s ${last}`;
}

/** Set by `meta({ unit: 'GB' })`. */
export function fieldUnit(schema: z.core.$ZodType, path: string): string | undefined {
  const field = schemaAt(schema, stepsOf(path));
  return field && textMeta(field, 'unit');
}

export function schemaAt(schema: z.core.$ZodType, steps: readonly PropertyKey[]): z.core.$ZodType | undefined {
  let field: z.core.$ZodType | undefined = schema;
  for (const step of steps) field = field && stepInto(unwrapped(field), step);
  return field;
}

function stepInto(schema: z.core.$ZodType, step: PropertyKey): z.core.$ZodType | undefined {
  if (typeof step === 'number') return schema instanceof z.ZodArray ? schema.element : undefined;
  return schema instanceof z.ZodObject && Object.hasOwn(schema.shape, step) ? schema.shape[String(step)] : undefined;
}

function wrappedSchema(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional) return schema.unwrap();
  return schema instanceof z.ZodPipe ? schema.out : undefined;
}

export function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = wrappedSchema(schema);
  return inner === undefined ? schema : unwrapped(inner);
}

function textMeta(schema: z.core.$ZodType, name: string): string | undefined {
  const value = z.globalRegistry.get(schema)?.[name];
  if (typeof value === 'string') return value;
  const inner = wrappedSchema(schema);
  return inner && textMeta(inner, name);
}

const abbreviations: Readonly<Record<string, string>> = {
  id: 'ID',
  ids: 'IDs',
  ip: 'IP',
  url: 'URL',
  vip: 'VIP',
  cidr: 'CIDR',
  dns: 'DNS',
  ssh: 'SSH',
};

/** `firewall group ID` for `firewallGroupId`. */
export const nameInWords = (name: string): string =>
  name
    // Splits `firewallGroup`, `IPAddress`, and at underscores and hyphens.
    .split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_-]/)
    .map((word) => abbreviations[word.toLowerCase()] ?? word.toLowerCase())
    .join(' ');

/** True for names such as `DBInstanceStatus`. */
export const namesState = (name: string): boolean => /\b(?:status|state|phase)$/i.test(nameInWords(name));
