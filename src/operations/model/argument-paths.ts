import type { Argument, ArgumentValue } from './arguments.js';

/** True if `names` contains the argument's name in requests or its name in the model. */
export const isNamed = (names: readonly string[], { name, member }: Argument): boolean =>
  names.includes(name) || names.includes(member);

/**
 * Returns a dotted path with the names of arguments (`name`) or with the names in the model (`member`). A person may have written either.
 * An unknown name and all names after it stay as they are. The code that uses the path reports them.
 */
export function pathWith(kind: 'name' | 'member', fields: readonly Argument[], path: string): string {
  // `rules[0].id` has the first name `rules`, the indexes `[0]` and the rest `id`.
  const [, firstName = '', indexes = '', rest] = /^([^.[]*)((?:\[\d*\])*)(?:\.(.*))?$/s.exec(path) ?? [];
  const field =
    fields.find((field) => field[kind] === firstName) ?? fields.find((field) => isNamed([firstName], field));
  if (field === undefined) return path;
  const start = `${field[kind]}${indexes}`;
  return rest === undefined ? start : `${start}.${pathWith(kind, innerFields(field.value), rest)}`;
}

/** Returns the fields of a structure, or of the structures in a list. Other values have none. */
function innerFields(value: ArgumentValue): readonly Argument[] {
  if (value.kind === 'list') return innerFields(value.element());
  return value.kind === 'structure' ? value.fields() : [];
}
