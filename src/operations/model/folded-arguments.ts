import * as z from 'zod';
import { isObject } from '../../util/objects.js';
import { isNamed } from './argument-names.js';
import { jsonText, parseJsonArgument } from './argument-schema.js';
import type { Argument } from './arguments.js';

/** Optional arguments that the list of tools combines in one argument with JSON text. A call may also have them one by one. */
export interface FoldedArguments {
  /** Name of the combined argument. */
  readonly name: string;
  readonly fields: readonly Argument[];
}

/**
 * Folds the optional arguments for which `isNeverFolded` is false. A secret must not be folded, because errors quote the JSON text.
 * Undefined for too few arguments, or if no name is free.
 */
export function foldArguments(
  fields: readonly Argument[],
  isNeverFolded: (field: Argument) => boolean,
): FoldedArguments | undefined {
  const folded = fields.filter((field) => !field.isRequired && !isNeverFolded(field));
  if (folded.length < fewest) return undefined;
  const name = ['others', 'otherArguments'].find((candidate) => fields.every((field) => field.name !== candidate));
  return name === undefined ? undefined : { name, fields: folded };
}

/** Minimum number of arguments to fold. Fewer arguments take less room in the list of tools if they are listed one by one. */
const fewest = 3;

type Values = Readonly<Record<string, unknown>>;

/** Returns the arguments of a call one by one. The combined argument keeps names that are unknown or given twice, and text that is not JSON. */
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

/** Returns the schema of what `unfolded` has left in the combined argument, by its name. It reports each name. */
export function foldedSchema({ name, fields }: FoldedArguments): Readonly<Record<string, z.ZodType>> {
  const givenTwice = z.never(`must not be given twice: it is beside ${name} too`).optional();
  const rest = jsonText(() => z.strictObject(Object.fromEntries(fields.map((field) => [field.name, givenTwice]))));
  return { [name]: rest.describe('Further arguments as JSON text.').optional() };
}
