import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FileTail } from '../../src/journal/file-tail.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-tail-'));
  path = join(folder, 'journal.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A line with a name, and more in front of it and behind it. */
const line = (name: string, { before = 0, behind = 0 } = {}) =>
  `{"intent":{"${'-'.repeat(before)}${name}${'-'.repeat(behind)}"}}\n`;
const lines = (...names: readonly string[]) => names.map((name) => line(name)).join('');
const nameIn = (text: string) => text.replace(/[^\w]|intent/g, '');
const rotatedPath = (second: number) => `${path}.2026-11-20T12-00-0${second}-000Z-01234567`;
const rotate = (second: number, ...next: readonly string[]) => {
  renameSync(path, rotatedPath(second));
  if (next.length > 0) writeFileSync(path, lines(...next));
};

/** Looks again and again, each time for the names of lines, after the word `again` where everything is given again. */
const createReader = (since = 0) => {
  const tail = new FileTail(path);
  return async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const read of tail.read(since, () => found.push('again'))) found.push(...read.map(nameIn));
    return found;
  };
};

describe('after the lines a and b were read', () => {
  test.each<[what: string, happen: () => void, given: readonly string[]]>([
    ['nothing happened', () => undefined, []],
    ['a line was appended', () => appendFileSync(path, lines('c')), ['c']],
    ['half a line was appended', () => appendFileSync(path, lines('c').slice(0, -1)), []],
    ['the file was rotated', () => rotate(1), []],
    ['the file was rotated, and a new one begun', () => rotate(1, 'c'), ['c']],
    [
      'a line was appended, and the file was rotated twice',
      () => {
        appendFileSync(path, lines('c'));
        rotate(1, 'd', 'e');
        rotate(2, 'f');
      },
      ['c', 'd', 'e', 'f'],
    ],
    [
      'the file was rotated, and a line that was about to be written was still written there',
      () => {
        rotate(1, 'd');
        appendFileSync(rotatedPath(1), lines('c'));
      },
      ['c', 'd'],
    ],
    ['the file was removed', () => rmSync(path), ['again']],
    ['the file was emptied', () => writeFileSync(path, ''), ['again']],
    ['the file was written anew', () => writeFileSync(path, lines('x')), ['again', 'x']],
    ['the file was written anew, as long', () => writeFileSync(path, lines('x', 'y')), ['again', 'x', 'y']],
    [
      'the file was written anew, and is longer',
      () => writeFileSync(path, lines('x', 'y', 'z')),
      ['again', 'x', 'y', 'z'],
    ],
    [
      'the file was written anew, with a longer line from where the last one was',
      () => writeFileSync(path, lines('a') + lines('b').replace('\n', '-\n')),
      ['again', 'a', 'b'],
    ],
    [
      'another file with the same last line took its place',
      () => {
        writeFileSync(`${path}.new`, lines('x', 'b', 'c'));
        renameSync(`${path}.new`, path);
      },
      ['again', 'x', 'b', 'c'],
    ],
    [
      'the file was rotated, and then emptied',
      () => {
        rotate(1, 'c');
        writeFileSync(rotatedPath(1), '');
      },
      ['again', 'c'],
    ],
    [
      'the file was rotated, and then taken away',
      () => {
        rotate(1, 'c');
        rmSync(rotatedPath(1));
      },
      ['again', 'c'],
    ],
    [
      'the file was rotated by a copy, and then emptied',
      () => {
        copyFileSync(path, rotatedPath(1));
        writeFileSync(path, lines('c'));
      },
      ['again', 'a', 'b', 'c'],
    ],
  ])('%s', async (_what, happen, given) => {
    writeFileSync(path, lines('a', 'b'));
    const look = createReader();
    expect(await look()).toEqual(['again', 'a', 'b']);
    happen();
    expect(await look()).toEqual(given);
    expect(await look()).toEqual([]);
  });
});

test.each([
  ['short', {}],
  ['long', { before: 1000 }],
  ['long, and its name at the beginning of what is compared', { before: 1000, behind: 200 }],
])('a file with another last line, as long, is another file: %s', async (_what, around) => {
  writeFileSync(path, lines('a') + line('b', around));
  const look = createReader();
  await look();
  writeFileSync(path, lines('a') + line('c', around));
  expect(await look()).toEqual(['again', 'a', 'c']);
});

test('a line in any language is known again', async () => {
  writeFileSync(path, lines('a', '日誌'));
  const look = createReader();
  await look();
  appendFileSync(path, lines('c'));
  expect(await look()).toEqual(['c']);
});

test('a journal that is not there yet is read once it is', async () => {
  const look = createReader();
  expect(await look()).toEqual(['again']);
  expect(await look()).toEqual([]);
  writeFileSync(path, lines('a'));
  expect(await look()).toEqual(['a']);
});

describe('of rotated files', () => {
  const noon = Date.parse('2026-11-20T12:00:00Z');
  beforeEach(() => {
    for (const second of [1, 2, 3]) {
      writeFileSync(path, lines(`${second}`));
      rotate(second);
      utimesSync(rotatedPath(second), new Date(noon), new Date(noon + 1000 * second));
    }
    writeFileSync(path, lines('now'));
  });

  test('those are given that were written to since a time, oldest first', async () => {
    expect(await createReader(noon + 2000)()).toEqual(['again', '2', '3', 'now']);
  });

  test('a line that was appended to one is not given: nobody writes there', async () => {
    const look = createReader();
    await look();
    appendFileSync(rotatedPath(3), lines('x'));
    expect(await look()).toEqual([]);
  });

  test('the last is gone on with, however old it is by now', async () => {
    const look = createReader(noon + 60_000);
    expect(await look()).toEqual(['again', 'now']);
    appendFileSync(path, lines('a'));
    rotate(4, 'b');
    utimesSync(rotatedPath(4), new Date(noon), new Date(noon));
    expect(await look()).toEqual(['a', 'b']);
    expect(readFileSync(rotatedPath(4), 'utf8')).toBe(lines('now', 'a'));
  });
});
