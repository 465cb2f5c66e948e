import { unknownName } from '../util/did-you-mean.js';
import { isDeeperThan, isObject, mapValues, parseJson } from '../util/objects.js';
import { type Member, ModelError, type Shape } from './model.js';

type Values = Readonly<Record<string, unknown>>;

/** This file finds arguments by the names that calls and files of operations give. */

export const isNamed = (names: readonly string[], argument: Member): boolean =>
  namesOf(argument).some((name) => names.includes(name));

const namesOf = ({ name, memberName, requestName }: Member): readonly string[] => [name, memberName, requestName];

/** A name in requests may also be the listed name of another field, which then comes first. */
const fieldInCall = (fields: readonly Member[], given: string): Member | undefined =>
  fields.find(({ name }) => name === given) ?? fields.find(({ requestName }) => requestName === given);

/**
 * Replaces the names in the arguments of a call by the names that tools list, at any depth. Unknown and doubled names stay, so that the schema
 * reports them.
 */
export function withListedNames(fields: readonly Member[], values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).map(([given, value]) => {
      const field = fieldInCall(fields, given);
      if (field === undefined) return [given, value];
      const isGivenTwice = given !== field.name && Object.hasOwn(values, field.name);
      return [isGivenTwice ? given : field.name, withListedNamesInside(field.shape, value)];
    }),
  );
}

function withListedNamesInside(shape: Shape, given: unknown): unknown {
  const parsed = ['structure', 'map', 'list', 'document'].includes(shape.kind) ? valueInText(given) : given;
  const value = typeof parsed === 'object' || shape.kind === 'document' ? parsed : given;
  if (shape.kind === 'structure') return isObject(value) ? withListedNames(shape.members, value) : value;
  if (shape.kind === 'map')
    return isObject(value) ? mapValues(value, (entry) => withListedNamesInside(shape.element.shape, entry)) : value;
  if (shape.kind !== 'list' || !Array.isArray(value)) return value;
  return value.map((element) => withListedNamesInside(shape.element.shape, element));
}

/** Parses JSON text, which agents may give in place of an object or a list. Any other value stays, and the schema says where it is wrong. */
export function valueInText(given: unknown): unknown {
  const value = typeof given === 'string' ? (parseJson(given) ?? given) : given;
  return isDeeperThan(32, value) ? given : value;
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
export const translatePath = (path: string, fields: readonly Member[], naming: Naming): string =>
  resolvePath(path, fields, naming).path;

/**
 * Finds the value at a path. `member` is undefined if the model does not describe the value.
 * @throws ModelError for an unknown name
 */
export function resolvePath(
  path: string,
  fields: readonly Member[],
  naming: Naming,
): { readonly path: string; readonly member: Member | undefined } {
  // `pools[0].id` has the first name `pools`, the indexes `[0]` and the rest `id`.
  const [, firstName = '', indexes = '', rest] = /^([^.[]*)((?:\[\d*\])*)(?:\.(.*))?$/s.exec(path) ?? [];
  const field = fieldInCall(fields, firstName) ?? fields.find((each) => isNamed([firstName], each));
  if (field === undefined) throw new ModelError(unknownMember(firstName === '' ? path : firstName, fields, naming));

  const start = `${field.name}${indexes}`;
  const member = indexes === '' ? field : innermostElement(field);
  if (rest === undefined) return { path: start, member };

  const inner = innerFields(member);
  // A map or a document may have any names.
  if (inner === undefined) return { path: `${start}.${rest}`, member: undefined };

  const resolved = resolvePath(rest, inner, { ...naming, structure: `${field.name} of ${naming.structure}` });
  return { ...resolved, path: `${start}.${resolved.path}` };
}

const innermostElement = (member: Member): Member =>
  member.shape.kind === 'list' ? innermostElement(member.shape.element) : member;

/** Says that a structure has no member with a name, and names the nearest. */
export function unknownMember(name: string, fields: readonly Member[], { setting, structure }: Naming): string {
  const names = [...new Set(fields.flatMap(namesOf))];
  const problem = unknownName(name, `in ${structure}`, names);
  return setting === undefined ? problem : `${setting}: ${problem}`;
}

/** Undefined for a value that may have any names. */
export function innerFields(member: Member): readonly Member[] | undefined {
  const { shape } = innermostElement(member);
  if (shape.kind === 'map' || shape.kind === 'document') return undefined;
  return shape.kind === 'structure' ? shape.members : [];
}

/** Returns the fields of structures at any depth, each structure once. */
export const fieldsAtAnyDepth = (fields: readonly Member[], visited = new Set<string>()): readonly Member[] =>
  fields.flatMap((field) => [field, ...fieldsInside(field.shape, visited)]);

export function fieldsInside(shape: Shape, visited = new Set<string>()): readonly Member[] {
  if (shape.kind === 'list' || shape.kind === 'map') return fieldsInside(shape.element.shape, visited);
  if (shape.kind !== 'structure' || visited.has(shape.id)) return [];
  visited.add(shape.id);
  return fieldsAtAnyDepth(shape.members, visited);
}
