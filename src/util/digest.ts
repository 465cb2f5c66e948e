import { createHash } from 'node:crypto';

/** SHA-256 of JSON values, in hexadecimal: the same in whatever order the fields of their objects come. */
export const digestOf = (values: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(values, sorted)).digest('hex');

/** A JSON replacer that puts the fields of every object in one order. */
const sorted = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
