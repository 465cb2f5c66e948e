import { isObject, mapValues } from '../util/objects.js';
import { base64 } from './argument-schema.js';
import type { Argument, ValueRules } from './arguments.js';

type Values = Readonly<Record<string, unknown>>;

/** Converts arguments to the values that the protocols take: times as `Date`, blobs as bytes. */
export function memberValues(fields: readonly Argument[], values: Values): Record<string, unknown> {
  const present = fields.filter(({ name }) => values[name] !== undefined);
  return Object.fromEntries(
    present.map(({ name, memberName, rules }) => [memberName, memberValue(rules, values[name])]),
  );
}

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
    // In a plan, a placeholder text may replace a secret time or number, which is invalid then.
    case 'timestamp':
      return new Date(String(value));
    case 'integer':
    case 'number':
      return Number(value);
    default:
      return value;
  }
}

/** Sorted, so that calls with the same entries count as one change. */
const sorted = (map: Values): Values => Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));

/** A text that is not base64 stands in for a secret in a plan. */
const bytesOfBlob = (value: string) => new Uint8Array(Buffer.from(value, base64.test(value) ? 'base64' : 'utf8'));
