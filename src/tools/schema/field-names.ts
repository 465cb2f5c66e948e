import * as z from 'zod';
import { stepsOf } from '../../util/objects.js';

/**
 * The name of an argument in words: `adminCluster.controlPlane.volumeType` is `control plane's disk type`. The `title` of a field is its
 * name, or else the words in its own name.
 * @returns undefined if the schema has no such field
 */
export function fieldInWords(schema: z.core.$ZodType, path: string): string | undefined {
  let current = schema;
  let names: string[] = [];
  for (const step of stepsOf(path)) {
    const inner = stepInto(innermost(current), step);
    if (inner === undefined) return undefined;
    const title = titleOf(inner);
    if (typeof step === 'string') names.push(title ?? nameInWords(step));
    // An element is named by its list and its number, `node pool 2`, without the owner of the list.
    else names = [`${title ?? names.at(-1) ?? ''} ${step + 1}`.trim()];
    current = inner;
  }
  const [last, owner] = names.reverse();
  return owner === undefined ? last : `${owner}'s ${last}`;
}

/** The unit of a number, such as `GB`, if the schema names it with `meta({ unit })`. */
export function fieldUnit(schema: z.core.$ZodType, path: string): string | undefined {
  let field: z.core.$ZodType | undefined = schema;
  for (const step of stepsOf(path)) field = field && stepInto(innermost(field), step);
  const unit = field && metaOf(field, 'unit');
  return typeof unit === 'string' ? unit : undefined;
}

/** The schema of a field or of the elements of a list. */
function stepInto(schema: z.core.$ZodType, step: string | number): z.core.$ZodType | undefined {
  if (typeof step === 'number') return schema instanceof z.ZodArray ? schema.element : undefined;
  return schema instanceof z.ZodObject && Object.hasOwn(schema.shape, step) ? schema.shape[step] : undefined;
}

/** The schema inside a schema that only makes a value optional or converts it. */
function wrappedSchema(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional) return schema.unwrap();
  return schema instanceof z.ZodPipe ? schema.out : undefined;
}

function innermost(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = wrappedSchema(schema);
  return inner === undefined ? schema : innermost(inner);
}

function titleOf(schema: z.core.$ZodType): string | undefined {
  const title = metaOf(schema, 'title');
  return typeof title === 'string' ? title : undefined;
}

/** A field of `meta` of the schema, or of a schema that it wraps. */
function metaOf(schema: z.core.$ZodType, name: string): unknown {
  const value = z.globalRegistry.get(schema)?.[name];
  const inner = wrappedSchema(schema);
  return value ?? (inner === undefined ? undefined : metaOf(inner, name));
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

/** `firewallGroupId` as `firewall group ID`. */
export const nameInWords = (name: string): string =>
  name
    .split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_-]/)
    .map((word) => abbreviations[word.toLowerCase()] ?? word.toLowerCase())
    .join(' ');
