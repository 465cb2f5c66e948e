import * as z from 'zod';
import { stepsOf } from './objects.js';

/**
 * Returns the name of an argument in words: `control plane's disk type` for the path `adminCluster.controlPlane.volumeType`. A field is
 * named by the `title` in its schema, or else by its own name, split into words. Only the last two fields of the path are named.
 * @returns undefined if the schema has no field at this path
 */
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
      // Drops the fields that hold the list, because the name of an element, such as `node pool 2`, is clear without them.
      names = [`${title ?? names.at(-1) ?? ''} ${step + 1}`.trim()];
    }
    parent = fieldOrElement;
  }

  const [last, owner] = names.reverse();
  return owner === undefined ? last : `${owner}'s ${last}`;
}

/** The unit of a numeric argument, such as `GB`, which its schema has from `meta({ unit: 'GB' })`; undefined if there is none. */
export function fieldUnit(schema: z.core.$ZodType, path: string): string | undefined {
  let field: z.core.$ZodType | undefined = schema;
  for (const step of stepsOf(path)) field = field && stepInto(unwrapped(field), step);
  return field && textMeta(field, 'unit');
}

/** The schema of the field `step` of an object, or of the elements of a list if `step` is an index. */
function stepInto(schema: z.core.$ZodType, step: string | number): z.core.$ZodType | undefined {
  if (typeof step === 'number') return schema instanceof z.ZodArray ? schema.element : undefined;
  return schema instanceof z.ZodObject && Object.hasOwn(schema.shape, step) ? schema.shape[step] : undefined;
}

/** The schema inside a schema that only makes a value optional or converts it; undefined for other schemas. */
function wrappedSchema(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional) return schema.unwrap();
  return schema instanceof z.ZodPipe ? schema.out : undefined;
}

/** The schema without the schemas around it that make it optional or convert its value. */
function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = wrappedSchema(schema);
  return inner === undefined ? schema : unwrapped(inner);
}

/** The text in the metadata `name` of a schema, such as `unit`, or of the schema that it wraps. */
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

/** A name in camel case as words: `firewall group ID` for `firewallGroupId`. */
export const nameInWords = (name: string): string =>
  name
    // Splits between `l` and `G` in firewallGroup, between `P` and `A` in IPAddress, and at underscores and hyphens.
    .split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_-]/)
    .map((word) => abbreviations[word.toLowerCase()] ?? word.toLowerCase())
    .join(' ');

/** True for the name of a field with a state, such as `DBInstanceStatus`. */
export const namesState = (name: string): boolean => /\b(?:status|state|phase)$/i.test(nameInWords(name));
