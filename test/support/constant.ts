import { readFileSync } from 'node:fs';

/**
 * Reads a number that a source file names, such as `const spanMs = 10 * 60_000;` or `waitMs: 5000,`. The documents are compared with
 * numbers that no other file needs, so that these need no export.
 * @throws Error if the file has no such number
 */
export function constant(path: string, name: string): number {
  const pattern = new RegExp(String.raw`\b${name}(?: = |: )([\w*() ]+?)[;,]`);
  const [, product = ''] = pattern.exec(readFileSync(path, 'utf8')) ?? [];
  const factors = product.split('*').map((factor) => factor.trim());
  const value = factors.reduce(
    (all, factor) =>
      all * (/^[a-z]/i.test(factor) ? constant(path, factor) : Number(factor.replaceAll('_', '') || Number.NaN)),
    1,
  );
  if (Number.isNaN(value)) throw new Error(`${path} has no number ${name}`);
  return value;
}
