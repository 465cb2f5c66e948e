import { appendFileSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { longestWindowMs } from '../../src/journal/budget.js';
import type { Entry } from '../../src/journal/entry.js';
import { createFileJournal } from '../../src/journal/file.js';
import type { Journal } from '../../src/journal/journal.js';
import { endingOf, intentAt } from '../support/journal.js';

const noon = Date.parse('2026-11-20T12:00:00Z');
let folder: string;
let path: string;
let time: number;
let journal: Journal;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-window-'));
  path = join(folder, 'journal.jsonl');
  time = noon;
  journal = createFileJournal(path, () => new Date(time));
});
afterEach(() => rmSync(folder, { recursive: true }));

const text = (entries: readonly (Entry | string)[]) =>
  entries.map((entry) => (typeof entry === 'string' ? entry : `${JSON.stringify(entry)}\n`)).join('');
/** Writes a rotated file, the next one in time, that was last written to at some age. */
const writeRotated = (second: number, ageMs: number, ...entries: readonly (Entry | string)[]) => {
  const rotated = `${path}.2026-11-20T12-00-0${second}-000Z-01234567`;
  writeFileSync(rotated, text(entries));
  utimesSync(rotated, new Date(time - ageMs), new Date(time - ageMs));
};
const listed = async () => (await journal.listUnfinished()).map(({ digest }) => digest);

const long = 30 * longestWindowMs;
const left = intentAt(noon - long, { digest: 'left', target: 'サーバー "é"' });
const ended = endingOf(noon - long, left.id, 'rejected');
/** More than is read at once. */
const others = Array.from({ length: 2_000 }, (_, index) => {
  const intent = intentAt(noon - long, { digest: `other ${index}` });
  return [{ intent }, { ending: endingOf(noon - long, intent.id, 'accepted') }];
}).flat();

describe('an intent in a file that was rotated long ago', () => {
  test.each<[what: string, files: readonly (readonly (Entry | string)[])[], isOpen: boolean]>([
    ['is open without an ending', [[{ intent: left }]], true],
    ['is open with endings of others behind it', [[{ intent: left }, ...others], others], true],
    ['is not with its own behind it', [[{ intent: left }, { ending: ended }]], false],
    ['is not with its own far behind it', [[{ intent: left }, ...others, { ending: ended }]], false],
    ['is not with its own in the next file', [[{ intent: left }], [{ ending: ended }]], false],
    ['is not with its own in the file of today', [[{ intent: left }], [], [{ ending: ended }]], false],
    [
      'is open between lines that nobody understands',
      [
        [
          `{"intent":{"id":"${left.id}","ti\n`,
          { intent: left },
          '{"intent":{"id":"torn","ti\n',
          '\u0000garbage\n[]\n{"note":1}\n',
          `${JSON.stringify({ intent: { ...left, id: 'newer', keyFormat: 99 } })}\n`,
        ],
      ],
      true,
    ],
  ])('%s', async (_what, [first = [], second = [], today = []], isOpen) => {
    writeRotated(1, long, ...first);
    writeRotated(2, long, ...second);
    writeFileSync(path, text(today));
    const open = isOpen ? [left] : [];
    expect(await journal.listUnfinished()).toEqual(open);
    expect(await journal.listUnfinished()).toEqual(open);
  });

  test('stands in the way once it was found, as what came of it does', async () => {
    writeRotated(1, long, { intent: left });
    await journal.listUnfinished();
    const begin = () => journal.begin(intentAt(time, { digest: 'left' }), { allowRepeat: false });
    expect(await begin()).toMatchObject({ kind: 'duplicate', earlier: { id: left.id } });
    await journal.end(endingOf(time, left.id, 'unknown'));
    expect(await journal.listUnfinished()).toEqual([]);
    expect(await begin()).toMatchObject({ kind: 'duplicate', earlier: { id: left.id } });
  });

  test('is found beside files that are none of the journal', async () => {
    writeRotated(1, long, 'minutes of a meeting\n');
    writeRotated(2, long, { intent: left });
    expect(await listed()).toEqual(['left']);
  });

  test('is found again after the file of today was written anew', async () => {
    writeRotated(1, long, { intent: left });
    appendFileSync(path, text([{ intent: intentAt(noon, { digest: 'a' }) }]));
    expect(await listed()).toEqual(['left', 'a']);
    writeFileSync(path, text([{ intent: intentAt(noon, { digest: 'b' }) }]));
    expect(await listed()).toEqual(['left', 'a', 'b']);
  });
});

test.each([
  ['today', 0],
  ['just within the longest window', longestWindowMs - 1],
  ['as long ago as the longest window', longestWindowMs],
  ['just before it', longestWindowMs + 1],
])('a change that began in a file that was rotated %s is open until it is ended', async (_when, ageMs) => {
  const intent = intentAt(time - ageMs);
  writeRotated(1, ageMs, { intent });
  writeFileSync(path, '');
  expect(await journal.listUnfinished()).toEqual([intent]);
  await journal.end(endingOf(time, intent.id, 'accepted'));
  expect(await journal.listUnfinished()).toEqual([]);
  expect(await createFileJournal(path, () => new Date(time)).listUnfinished()).toEqual([]);
});

test.each([
  [0, undefined],
  [2_000, undefined],
  [-2_000, undefined],
  [2_001, 'the clock of this server was set forward by 2 s'],
  [-3_600_000, 'the clock of this server was set back by 3600 s'],
])('a clock that was set by %i ms: operators are told %s', async (setMs, problem) => {
  const told: unknown[] = [];
  let uptime = 0;
  const watched = createFileJournal(
    path,
    () => new Date(time),
    (level, event, fields) => told.push([level, event, fields]),
    () => uptime,
  );
  await watched.findDuplicate('same');
  uptime += 60_000;
  time += 60_000 + setMs;
  for (let look = 0; look < 2; look += 1) await watched.findDuplicate('same');
  expect(told).toEqual(problem === undefined ? [] : [['warn', 'clock', { problem }]]);
});
