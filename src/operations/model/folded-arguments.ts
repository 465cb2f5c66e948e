import * as z from 'zod';
import { isObject } from '../../util/objects.js';
import { isNamed } from './argument-names.js';
import { jsonText, parseJsonArgument } from './argument-schema.js';
import type { Argument } from './arguments.js';

/** Optional arguments that the list of tools combines in one argument with JSON text. */
export interface FoldedArguments {
  readonly name: string;
  readonly fields: readonly Argument[];
}

/** Combines optional arguments. A secret must not be combined, because errors quote the JSON text. */
export function foldArguments(
  fields: readonly Argument[],
  isNeverFolded: (field: Argument) => boolean,
): FoldedArguments | undefined {
  const folded = fields.filter((field) => !field.isRequired && !isNeverFolded(field));
  if (folded.length < fewest) return undefined;
  const name = ['others', 'otherArguments'].find((candidate) => fields.every((field) => field.name !== candidate));
  return name === undefined ? undefined : { name, fields: folded };
}

const fewest = 3;

type Values = Readonly<Record<string, unknown>>;

/** Returns the arguments of a call one by one. The combined argument keeps only what is invalid. */
export function unfolded(args: Values, folded: FoldedArguments | undefined): Values {
  if (folded === undefined) return args;
  const { [folded.name]: combined, ...others } = args;
  const values = typeof combined === 'string' ? parseJsonArgument(combined) : combined;
  if (!isObject(values)) return args;
  const isArgument = ([name]: readonly [string, unknown]) =>
    !Object.hasOwn(others, name) && folded.fields.some((field) => isNamed([name], field));
  const entries = Object.entries(values);
  const rest = entries.filter((entry) => !isArgument(entry));
  return {
    ...others,
    ...Object.fromEntries(entries.filter(isArgument)),
    ...(rest.length > 0 && { [folded.name]: Object.fromEntries(rest) }),
  };
}

/** Returns the schema of the combined argument that `unfolded` has left. */
export function foldedSchema({ name, fields }: FoldedArguments): Readonly<Record<string, z.ZodType>> {
  const givenTwice = z.never(`must not be given twice: it is beside ${name} too`).optional();
  const rest = jsonText(() => z.strictObject(Object.fromEntries(fields.map((field) => [field.name, givenTwice]))));
  return { [name]: rest.describe('Further arguments as JSON text.').optional() };
}
