import { createHash } from 'node:crypto';

/** Hexadecimal SHA-256 of JSON values. The order of fields in objects does not matter. */
export const digestOf = (values: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(values, sorted)).digest('hex');

/** A JSON replacer that sorts the fields of every object. */
const sorted = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
