import type { Argument, ArgumentValue } from './arguments.js';

/** True if a person names an argument: as in requests, or as in the model. */
export const isNamed = (names: readonly string[], { name, member }: Argument): boolean =>
  names.includes(name) || names.includes(member);

/**
 * Returns a dotted path with the names of arguments or those of members, whichever of them a person wrote. Steps that name nothing stay as
 * they are, and are reported where the path is used.
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
