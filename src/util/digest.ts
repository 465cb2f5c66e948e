import { createHash } from 'node:crypto';

/** SHA-256 of JSON values, as hexadecimal text. Objects with the same fields in another order have the same digest. */
export const digestOf = (values: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(values, sorted)).digest('hex');

/** A JSON replacer that sorts the fields of every object. */
const sorted = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
