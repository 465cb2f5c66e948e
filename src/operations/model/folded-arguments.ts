import * as z from 'zod';
import { withConditions } from '../../tools/schema/fields.js';
import { isObject } from '../../util/objects.js';
import { argumentShape, jsonText } from './argument-schema.js';
import type { Argument } from './arguments.js';

/** Optional arguments that the list of tools combines in one argument with JSON text. A call may also have them one by one. */
export interface FoldedArguments {
  /** Name of the combined argument. */
  readonly name: string;
  readonly fields: readonly Argument[];
}

/**
 * Folds the optional arguments for which `isNeverFolded` is false. A secret must not be folded, because a plan would hide the whole JSON text.
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

type SchemasByName = Readonly<Record<string, z.ZodType>>;

/** Returns the schema of arguments in which a call may have the folded arguments in the combined argument or one by one. */
export function withFolded(schemas: SchemasByName, folded: FoldedArguments, depth: number): z.ZodObject {
  const { name, fields } = folded;
  const others = jsonText(() => z.strictObject(argumentShape(fields, depth)))
    .describe('Further arguments as JSON text.')
    .optional();
  return withConditions(z.strictObject({ ...schemas, [name]: others }), (args, report) => {
    const combined = args[name];
    if (!isObject(combined)) return;
    for (const field of Object.keys(combined)) {
      if (args[field] !== undefined) report(field, `must not be given twice: it is in ${name} too`);
    }
  });
}

/** Returns the arguments of a call with all folded arguments one by one. */
export function unfolded(
  args: Readonly<Record<string, unknown>>,
  folded: FoldedArguments | undefined,
): Readonly<Record<string, unknown>> {
  if (folded === undefined) return args;
  const { [folded.name]: combined, ...others } = args;
  return isObject(combined) ? { ...others, ...combined } : args;
}
