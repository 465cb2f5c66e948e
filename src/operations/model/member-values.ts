import { isObject } from '../../util/objects.js';
import type { Argument, ArgumentValue } from './arguments.js';

type Values = Readonly<Record<string, unknown>>;

/**
 * Returns the values of validated arguments by the names of their members, as the protocols take them: times as `Date`, blobs as bytes,
 * numbers as numbers. Absent arguments are left out.
 */
export const memberValues = (fields: readonly Argument[], values: Values): Record<string, unknown> =>
  Object.fromEntries(
    fields.flatMap(({ name, member, value: rules }) =>
      values[name] === undefined ? [] : [[member, memberValue(rules, values[name])]],
    ),
  );

function memberValue(rules: ArgumentValue, value: unknown): unknown {
  switch (rules.kind) {
    case 'structure':
      return isObject(value) ? memberValues(rules.fields(), value) : value;
    case 'list':
      return Array.isArray(value) ? value.map((element) => memberValue(rules.element(), element)) : value;
    case 'map':
      return mapValues(value, (entry) => memberValue(rules.element(), entry));
    case 'timestamp':
      return new Date(String(value));
    case 'blob':
      return new Uint8Array(Buffer.from(String(value), 'base64'));
    case 'integer':
    case 'number':
      return Number(value);
    default:
      return value;
  }
}

/** Converts each value of an object. Other values stay as they are. */
export const mapValues = (object: unknown, convert: (entry: unknown) => unknown): unknown =>
  isObject(object) ? Object.fromEntries(Object.entries(object).map(([name, entry]) => [name, convert(entry)])) : object;
