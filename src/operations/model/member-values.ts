import { isObject } from '../../util/objects.js';
import type { Argument, ArgumentValue } from './arguments.js';

type Values = Readonly<Record<string, unknown>>;

/**
 * Returns the values of validated arguments by the names of their members, as the protocols take them: times as `Date`, blobs as bytes,
 * numbers as numbers. Absent arguments are left out.
 */
export const memberValues = (fields: readonly Argument[], given: Values): Record<string, unknown> =>
  Object.fromEntries(
    fields.flatMap(({ name, member, value }) =>
      given[name] === undefined ? [] : [[member, memberValue(value, given[name])]],
    ),
  );

function memberValue(rules: ArgumentValue, given: unknown): unknown {
  switch (rules.kind) {
    case 'structure':
      return isObject(given) ? memberValues(rules.fields(), given) : given;
    case 'list':
      return Array.isArray(given) ? given.map((element) => memberValue(rules.element(), element)) : given;
    case 'map':
      return mapValues(given, (entry) => memberValue(rules.element(), entry));
    case 'timestamp':
      return new Date(String(given));
    case 'blob':
      return new Uint8Array(Buffer.from(String(given), 'base64'));
    case 'integer':
    case 'number':
      return Number(given);
    default:
      return given;
  }
}

export const mapValues = (given: unknown, convert: (entry: unknown, name: string) => unknown): unknown =>
  isObject(given)
    ? Object.fromEntries(Object.entries(given).map(([name, entry]) => [name, convert(entry, name)]))
    : given;
