import * as z from 'zod';
import { stepsOf } from '../../util/objects.js';

/**
 * The name of an argument in words: `adminCluster.controlPlane.volumeType` is `control plane's disk type`. The `title` of a field is its
 * name, or else the words in its own name.
 * @returns undefined if the schema has no such field
 */
export function fieldInWords(schema: z.core.$ZodType, path: string): string | undefined {
  let at = schema;
  const names: string[] = [];
  for (const step of stepsOf(path)) {
    const next = stepInto(innermost(at), step);
    if (next === undefined) return undefined;
    const title = titleOf(next);
    if (typeof step === 'string') names.push(title ?? nameInWords(step));
    // The list's name and a number name an element: `node pool 2`.
    else names.splice(0, names.length, `${title ?? names.at(-1) ?? ''} ${step + 1}`.trim());
    at = next;
  }
  const [last, owner] = names.reverse();
  return owner === undefined ? last : `${owner}'s ${last}`;
}

/** The unit of a number, such as `GB`, if the schema names it with `meta({ unit })`. */
export function fieldUnit(schema: z.core.$ZodType, path: string): string | undefined {
  let at: z.core.$ZodType | undefined = schema;
  for (const step of stepsOf(path)) at = at && stepInto(innermost(at), step);
  const unit = at && metaOf(at, 'unit');
  return typeof unit === 'string' ? unit : undefined;
}

function stepInto(schema: z.core.$ZodType, step: string | number): z.core.$ZodType | undefined {
  if (typeof step === 'number') return schema instanceof z.ZodArray ? schema.element : undefined;
  return schema instanceof z.ZodObject && Object.hasOwn(schema.shape, step) ? schema.shape[step] : undefined;
}

/** The schema in another that says whether a value may be absent, or how it is read. */
function within(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional) return schema.unwrap();
  return schema instanceof z.ZodPipe ? schema.out : undefined;
}

function innermost(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = within(schema);
  return inner === undefined ? schema : innermost(inner);
}

function titleOf(schema: z.core.$ZodType): string | undefined {
  const title = metaOf(schema, 'title');
  return typeof title === 'string' ? title : undefined;
}

function metaOf(schema: z.core.$ZodType, name: string): unknown {
  const value = z.globalRegistry.get(schema)?.[name];
  const inner = within(schema);
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
