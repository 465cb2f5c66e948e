import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { linesAfter, linesFromEnd } from '../../src/journal/file-lines.js';

let folder: string;
let file: FileHandle;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-lines-'));
});
afterEach(async () => {
  await file.close();
  rmSync(folder, { recursive: true });
});
const write = async (text: string) => {
  writeFileSync(join(folder, 'file'), text);
  file = await open(join(folder, 'file'));
};
const all = async <T>(items: AsyncIterable<T>) => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};

/** A line that is like no other of its length. */
const line = (length: number) => `${length}:`.padEnd(length, 'x');
const longest = 300_000;

/** Lengths of lines, on both sides of what is read at once. */
const lengths: readonly (readonly number[])[] = [
  [],
  [0],
  [0, 5, 0],
  [5, 6, 7],
  [65_535, 5],
  [65_536, 5],
  [40_000, 40_001],
  [5, longest, 6],
  [longest, longest + 1, 7],
];

describe.each(lengths.map((given) => [given.join(', ') || 'no', given] as const))('lines of %s bytes', (_, given) => {
  const lines = given.map(line);
  const text = lines.map((each) => `${each}\n`).join('');

  test('forwards: each once, and where those that were read end', async () => {
    await write(`${text}the beginning of another`);
    const found = await all(linesAfter(file, 0));
    expect(found.flatMap((each) => each.lines)).toEqual(lines);
    let start = 0;
    for (const { lines: read, end } of found) {
      expect(text.slice(start, end) === read.map((each) => `${each}\n`).join('')).toBe(true);
      start = end;
    }
    expect(start).toBe(text.length);
  });

  test('backwards: each once, after what follows the last of them', async () => {
    await write(`${text}the beginning of another`);
    expect(await all(linesFromEnd(file))).toEqual(['the beginning of another', ...lines.toReversed()]);
  });
});

test('forwards from an offset', async () => {
  await write('first\nsecond\nthird\n');
  expect(await all(linesAfter(file, 6))).toEqual([
    { lines: ['second', 'third'], end: 19, last: Buffer.from('second\nthird\n') },
  ]);
});

test('a character of several bytes is whole, also between two reads', async () => {
  const lines = [0, 1, 2].map((start) => 'x'.repeat(start) + '日'.repeat(longest / 3));
  await write(lines.map((each) => `${each}\n`).join(''));
  expect((await all(linesAfter(file, 0))).flatMap((each) => each.lines)).toEqual(lines);
  expect(await all(linesFromEnd(file))).toEqual(['', ...lines.toReversed()]);
});

const long = `${'a'.repeat(300)}\n`;
test.each([
  ['as a whole', `first\n${long}`, long],
  ['with the bytes before it, 256 in all', `${long}b\n`, `${'a'.repeat(253)}\nb\n`],
])('of the lines that were read, the last one is told %s', async (_what, text, last) => {
  await write(text);
  expect(await all(linesAfter(file, 0))).toMatchObject([{ last: Buffer.from(last) }]);
});
