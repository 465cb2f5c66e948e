import { isObject } from '../../util/objects.js';
import { base64 } from './argument-schema.js';
import type { Argument, ValueRules } from './arguments.js';

type Values = Readonly<Record<string, unknown>>;

/** Converts arguments to the values that the protocols take: times as `Date`, blobs as bytes. The result has the names in the model. */
export function memberValues(fields: readonly Argument[], values: Values): Record<string, unknown> {
  const present = fields.filter(({ name }) => values[name] !== undefined);
  return Object.fromEntries(
    present.map(({ name, memberName, rules }) => [memberName, memberValue(rules, values[name])]),
  );
}

/**
 * Converts a value of an argument, and all values in it, to what the protocols take: a `Date` for a time, bytes for a blob, and a number
 * for a number, which a call may give as text. Other values stay as they are.
 */
function memberValue(rules: ValueRules, value: unknown): unknown {
  switch (rules.kind) {
    case 'structure':
      return isObject(value) ? memberValues(rules.fields(), value) : value;
    case 'list':
      return Array.isArray(value) ? value.map((element) => memberValue(rules.element(), element)) : value;
    case 'map':
      return isObject(value) ? mapValues(sorted(value), (entry) => memberValue(rules.element(), entry)) : value;
    case 'blob':
      return bytesOfBlob(String(value));
    // In the request that a plan shows, a text such as `hidden secret` stands in for a secret, also for a secret time or number. The value is
    // then invalid. If the protocol refuses it, the plan is shown without the request.
    case 'timestamp':
      return new Date(String(value));
    case 'integer':
    case 'number':
      return Number(value);
    default:
      return value;
  }
}

/** The order of a map's entries means nothing, so that calls with the same entries make the same request, and count as one change. */
const sorted = (map: Values): Values => Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Decodes base64. A text that is not base64 stands in for a secret in a plan, and becomes bytes in UTF-8. */
const bytesOfBlob = (value: string) => new Uint8Array(Buffer.from(value, base64.test(value) ? 'base64' : 'utf8'));

/** Converts each value in an object. */
export const mapValues = (object: Values, convert: (entry: unknown) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).map(([name, entry]) => [name, convert(entry)]));
