import { unknownName } from '../util/did-you-mean.js';
import { isDeeperThan, isObject, mapValues, parseJson } from '../util/objects.js';
import type { Argument, ValueRules } from './arguments.js';
import { ModelError } from './model.js';

type Values = Readonly<Record<string, unknown>>;

/** This file finds arguments by the names that calls and files of operations give. */

/** True if `names` contains a name of the argument. */
export const isNamed = (names: readonly string[], argument: Argument): boolean =>
  namesOf(argument).some((name) => names.includes(name));

const namesOf = ({ name, memberName, requestName }: Argument): readonly string[] => [name, memberName, requestName];

/** A name in requests may also be the listed name of another field, which then comes first. */
const fieldInCall = (fields: readonly Argument[], given: string): Argument | undefined =>
  fields.find(({ name }) => name === given) ?? fields.find(({ requestName }) => requestName === given);

/**
 * Replaces the names in the arguments of a call by the names that tools list, at any depth. Unknown and doubled names stay, so that the schema
 * reports them.
 */
export function withListedNames(fields: readonly Argument[], values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).map(([given, value]) => {
      const field = fieldInCall(fields, given);
      if (field === undefined) return [given, value];
      const isGivenTwice = given !== field.name && Object.hasOwn(values, field.name);
      return [isGivenTwice ? given : field.name, withListedNamesInside(field.rules, value)];
    }),
  );
}

function withListedNamesInside(rules: ValueRules, given: unknown): unknown {
  const parsed = ['structure', 'map', 'list', 'document'].includes(rules.kind) ? valueInText(given) : given;
  const value = typeof parsed === 'object' || rules.kind === 'document' ? parsed : given;
  if (rules.kind === 'structure') return isObject(value) ? withListedNames(rules.fields(), value) : value;
  if (rules.kind === 'map')
    return isObject(value) ? mapValues(value, (entry) => withListedNamesInside(rules.element(), entry)) : value;
  if (rules.kind !== 'list' || !Array.isArray(value)) return value;
  return value.map((element) => withListedNamesInside(rules.element(), element));
}

const maximumDepth = 32;

/** Parses JSON text, which agents may give in place of an object or a list. Any other value stays, and the schema says where it is wrong. */
export function valueInText(given: unknown): unknown {
  const value = typeof given === 'string' ? (parseJson(given) ?? given) : given;
  return isDeeperThan(maximumDepth, value) ? given : value;
}

/** The place that names a member, and the structure with the member, for error messages. */
export interface Naming {
  /** Absent for a path in a call. */
  readonly setting?: string;
  readonly structure: string;
}

/**
 * Translates a dotted path to the names that tools list.
 * @throws ModelError for an unknown name
 */
export const translatePath = (path: string, fields: readonly Argument[], naming: Naming): string =>
  resolvePath(path, fields, naming).path;

interface ResolvedPath {
  readonly path: string;
  /** Undefined if the model does not describe the value. */
  readonly rules: ValueRules | undefined;
}

/** Finds the value at a path. @throws ModelError for an unknown name */
export function resolvePath(path: string, fields: readonly Argument[], naming: Naming): ResolvedPath {
  // `pools[0].id` has the first name `pools`, the indexes `[0]` and the rest `id`.
  const [, firstName = '', indexes = '', rest] = /^([^.[]*)((?:\[\d*\])*)(?:\.(.*))?$/s.exec(path) ?? [];
  const field = fieldInCall(fields, firstName) ?? fields.find((each) => isNamed([firstName], each));
  if (field === undefined) throw new ModelError(unknownMember(firstName === '' ? path : firstName, fields, naming));

  const start = `${field.name}${indexes}`;
  const rules = indexes === '' ? field.rules : innermostElement(field.rules);
  if (rest === undefined) return { path: start, rules };

  const inner = innerFields(rules);
  // A map or a document may have any names.
  if (inner === undefined) return { path: `${start}.${rest}`, rules: undefined };

  const resolved = resolvePath(rest, inner, { ...naming, structure: `${field.name} of ${naming.structure}` });
  return { path: `${start}.${resolved.path}`, rules: resolved.rules };
}

const innermostElement = (rules: ValueRules): ValueRules =>
  rules.kind === 'list' ? innermostElement(rules.element()) : rules;

/** Says that a structure has no member with a name, and names the nearest. */
export function unknownMember(name: string, fields: readonly Argument[], { setting, structure }: Naming): string {
  const names = [...new Set(fields.flatMap(namesOf))];
  const problem = unknownName(name, `in ${structure}`, names);
  return setting === undefined ? problem : `${setting}: ${problem}`;
}

/** Undefined for a value that may have any names. */
export function innerFields(rules: ValueRules): readonly Argument[] | undefined {
  const element = innermostElement(rules);
  if (element.kind === 'map' || element.kind === 'document') return undefined;
  return element.kind === 'structure' ? element.fields() : [];
}

/** Returns the fields of structures at any depth, each structure once. */
export function fieldsAtAnyDepth(fields: readonly Argument[], visited = new Set<string>()): readonly Argument[] {
  return fields.flatMap((field) => [field, ...fieldsInside(field.rules, visited)]);
}

export function fieldsInside(rules: ValueRules, visited = new Set<string>()): readonly Argument[] {
  if (rules.kind === 'list' || rules.kind === 'map') return fieldsInside(rules.element(), visited);
  if (rules.kind !== 'structure' || visited.has(rules.id)) return [];
  visited.add(rules.id);
  return fieldsAtAnyDepth(rules.fields(), visited);
}
