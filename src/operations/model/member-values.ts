import { isObject } from '../../util/objects.js';
import { base64 } from './argument-schema.js';
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

/** Converts an argument of a call to the value that the protocol of the model encodes. */
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
      return bytesOf(String(value));
    case 'integer':
    case 'number':
      return Number(value);
    default:
      return value;
  }
}

/** The bytes of a base64 text. In a plan, a secret is replaced by a text that is not base64. */
const bytesOf = (value: string) => new Uint8Array(Buffer.from(value, base64.test(value) ? 'base64' : 'utf8'));

/** Converts each value of an object. Other values stay as they are. */
export const mapValues = (object: unknown, convert: (entry: unknown) => unknown): unknown =>
  isObject(object) ? Object.fromEntries(Object.entries(object).map(([name, entry]) => [name, convert(entry)])) : object;
