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
 * Folds the optional arguments. One that is a secret, or holds a secret, is not folded, because then the whole JSON text would be hidden
 * in plans.
 */
export function foldArguments(
  fields: readonly Argument[],
  holdsSecret: (field: Argument) => boolean,
): FoldedArguments | undefined {
  const folded = fields.filter((field) => !field.isRequired && !holdsSecret(field));
  if (folded.length < fewest) return undefined;
  const name = ['others', 'otherArguments'].find((candidate) => fields.every((field) => field.name !== candidate));
  return name === undefined ? undefined : { name, fields: folded };
}

/** Fewer arguments take less room one by one. */
const fewest = 3;

type Rules = Readonly<Record<string, z.ZodType>>;

/** Rules for arguments, with the folded ones both in one argument and one by one. */
export function withFolded(rules: Rules, folded: FoldedArguments, detail: Detail): z.ZodObject {
  const { name, fields } = folded;
  const others = jsonText(() => z.strictObject(argumentShape(fields, detail)))
    .describe('Further arguments as JSON text.')
    .optional();
  return withConditions(z.strictObject({ ...rules, [name]: others }), (given, report) => {
    const inside = given[name];
    for (const field of isObject(inside) ? Object.keys(inside) : [])
      if (given[field] !== undefined) report(field, `must not be given twice: it is in ${name} too`);
  });
}

/** Returns arguments one by one. */
export function unfolded(
  given: Readonly<Record<string, unknown>>,
  folded: FoldedArguments | undefined,
): Readonly<Record<string, unknown>> {
  if (folded === undefined) return given;
  const { [folded.name]: inside, ...others } = given;
  return isObject(inside) ? { ...others, ...inside } : given;
}
