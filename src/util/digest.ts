import { createHash } from 'node:crypto';

/** SHA-256 of JSON values, independent of the order of fields. */
export const digestOf = (values: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(values, sorted)).digest('hex');

const sorted = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
