import * as z from 'zod';
import { withConditions } from '../../tools/schema/fields.js';
import { isObject } from '../../util/objects.js';
import { argumentShape, type Detail, jsonText } from './argument-schema.js';
import type { Argument } from './arguments.js';

/** Optional arguments that the list of tools has as one argument with JSON text. A call may also give them one by one. */
export interface FoldedArguments {
  /** Name of the one argument. */
  readonly name: string;
  readonly fields: readonly Argument[];
}

/**
 * Folds the optional arguments, except those for which `isNeverFolded` is true. A secret must not be folded, because then plans would hide
 * the whole JSON text.
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

/** Fewer arguments are not folded, because one by one they take less room. */
const fewest = 3;

type Rules = Readonly<Record<string, z.ZodType>>;

/** Rules for arguments, with the folded ones both in one argument and one by one. */
export function withFolded(rules: Rules, folded: FoldedArguments, detail: Detail): z.ZodObject {
  const { name, fields } = folded;
  const others = jsonText(() => z.strictObject(argumentShape(fields, detail)))
    .describe('Further arguments as JSON text.')
    .optional();
  return withConditions(z.strictObject({ ...rules, [name]: others }), (args, report) => {
    const inside = args[name];
    for (const field of isObject(inside) ? Object.keys(inside) : [])
      if (args[field] !== undefined) report(field, `must not be given twice: it is in ${name} too`);
  });
}

/** Returns the arguments of a call with the folded ones one by one. */
export function unfolded(
  args: Readonly<Record<string, unknown>>,
  folded: FoldedArguments | undefined,
): Readonly<Record<string, unknown>> {
  if (folded === undefined) return args;
  const { [folded.name]: inside, ...others } = args;
  return isObject(inside) ? { ...others, ...inside } : args;
}
