import type { Argument, ValueRules } from './arguments.js';

/** True if `names` contains the argument's name in requests or its name in the model. */
export const isNamed = (names: readonly string[], { name, memberName }: Argument): boolean =>
  names.includes(name) || names.includes(memberName);

/**
 * Translates the names in a dotted path to names of arguments (`name`) or names in the model (`memberName`). A person may have written
 * either. An unknown name and all names after it stay as they are. The code that uses the path reports them.
 */
export function translatePath(path: string, fields: readonly Argument[], to: 'name' | 'memberName'): string {
  // `rules[0].id` has the first name `rules`, the indexes `[0]` and the rest `id`.
  const [, firstName = '', indexes = '', rest] = /^([^.[]*)((?:\[\d*\])*)(?:\.(.*))?$/s.exec(path) ?? [];
  const field = fields.find((field) => field[to] === firstName) ?? fields.find((field) => isNamed([firstName], field));
  if (field === undefined) return path;
  const start = `${field[to]}${indexes}`;
  return rest === undefined ? start : `${start}.${translatePath(rest, innerFields(field.rules), to)}`;
}

/** Returns the fields of a structure, or of the structures in a list. Other values have none. */
function innerFields(rules: ValueRules): readonly Argument[] {
  if (rules.kind === 'list') return innerFields(rules.element());
  return rules.kind === 'structure' ? rules.fields() : [];
}
