import { isObject } from '../../util/objects.js';
import { base64 } from './argument-schema.js';
import type { Argument, ValueRules } from './arguments.js';

type Values = Readonly<Record<string, unknown>>;

/** Converts arguments to the values that the protocols take: times as `Date`, blobs as bytes. The result has the names in the model. */
export function memberValues(fields: readonly Argument[], values: Values): Record<string, unknown> {
  const present = fields.filter(({ name }) => values[name] !== undefined);
  return Object.fromEntries(present.map(({ name, member, rules }) => [member, memberValue(rules, values[name])]));
}

/**
 * Converts a value of an argument, and all values in it. In the request that a plan shows, words stand in for each secret, so any value may
 * be words. They stay as they are, and in a blob, they become bytes. As a time or a number, they are invalid. If the protocol refuses the
 * invalid value, the plan is shown without the request.
 */
function memberValue(rules: ValueRules, value: unknown): unknown {
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
      return bytesOfBlob(String(value));
    case 'integer':
    case 'number':
      return Number(value);
    default:
      return value;
  }
}

/** Decodes base64. A text that is not base64 is the words that stand in for a secret in a plan, and becomes bytes in UTF-8. */
const bytesOfBlob = (value: string) => new Uint8Array(Buffer.from(value, base64.test(value) ? 'base64' : 'utf8'));

/** Converts each value in an object. A value that is no object is returned as it is. */
export const mapValues = (object: unknown, convert: (entry: unknown) => unknown): unknown =>
  isObject(object) ? Object.fromEntries(Object.entries(object).map(([name, entry]) => [name, convert(entry)])) : object;
