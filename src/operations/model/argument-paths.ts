import type { Argument, ArgumentValue } from './arguments.js';

/** True if `names` has an argument, by its name in requests or in the model. */
export const isNamed = (names: readonly string[], { name, member }: Argument): boolean =>
  names.includes(name) || names.includes(member);

/**
 * Returns a dotted path with the names of arguments (`name`) or with those of members of the model (`member`). A person may have written
 * either. Steps that are neither stay as they are: the code that uses the path reports them.
 */
export function pathWith(kind: 'name' | 'member', fields: readonly Argument[], path: string): string {
  const [, step = '', index = '', rest] = /^([^.[]*)((?:\[\d*\])*)(?:\.(.*))?$/s.exec(path) ?? [];
  const field = fields.find((field) => field[kind] === step) ?? fields.find((field) => isNamed([step], field));
  if (field === undefined) return path;
  const begin = `${field[kind]}${index}`;
  return rest === undefined ? begin : `${begin}.${pathWith(kind, innerFields(field.value), rest)}`;
}

/** The fields of a structure, or of the structures in a list. */
function innerFields(value: ArgumentValue): readonly Argument[] {
  if (value.kind === 'list') return innerFields(value.element());
  return value.kind === 'structure' ? value.fields() : [];
}
