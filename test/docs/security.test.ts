import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** docs/SECURITY.md names the tests that try each threat, by file and by (part of) their title. */

const rows = readFileSync('docs/SECURITY.md', 'utf8')
  .split('\n')
  .filter((line) => line.includes('`test/'));

const testsIn = (row: string) =>
  [...row.matchAll(/`(test\/[^`]+\.ts)`: "([^"]+)"/g)].map(([, file = '', title = '']) => [file, title] as const);

test('the table is there', () => expect(rows.length).toBeGreaterThan(15));

test.each(rows.map((row) => [row.split('|')[1]?.trim(), row]))('%s', (_threat, row) => {
  const tests = testsIn(row);
  expect(tests).not.toEqual([]);
  for (const [file, title] of tests) {
    const strings = readFileSync(file, 'utf8').match(/(["'`])(?:\\.|(?!\1).)*\1/g) ?? [];
    expect(
      strings.some((text) => text.includes(title)),
      `${file}: ${title}`,
    ).toBe(true);
  }
});
