import { isObject } from '../../../util/objects.js';

/** Reads data that came from outside, field by field, without refusing any: what is not as expected is absent. */

export type Fields = Readonly<Record<string, unknown>>;

export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

export const readText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** The elements of a list of text. */
export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((element) => typeof element === 'string') : [];

/** Milliseconds since 1970. */
export function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
