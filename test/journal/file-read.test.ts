import { appendFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Entry } from '../../src/journal/entry.js';
import { createFileJournal } from '../../src/journal/file.js';
import type { ReadOptions } from '../../src/journal/journal.js';
import { endingOf, intentAt } from '../support/journal.js';

const noon = Date.parse('2026-11-20T12:00:00Z');
const minute = 60_000;
let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-read-'));
  path = join(folder, 'journal.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

const begun = (digest: string, time = noon): Entry => ({ intent: intentAt(time, { id: digest, digest }) });
const ended = (id: string, outcome: Parameters<typeof endingOf>[2]): Entry => ({ ending: endingOf(noon, id, outcome) });
const append = (...entries: readonly Entry[]) =>
  appendFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));

/** What is read of the journal, as "digest outcome". */
async function read(options: ReadOptions = {}): Promise<string[]> {
  const found: string[] = [];
  const journal = createFileJournal(path, () => new Date(noon));
  for await (const { digest, ending } of journal.read(options)) found.push(`${digest} ${ending?.outcome ?? 'open'}`);
  return found;
}

describe('a change is read', () => {
  test.each<[when: string, entries: readonly Entry[], read: readonly string[]]>([
    ['with its outcome', [begun('a'), ended('a', 'accepted')], ['a accepted']],
    ['at the end if it has none', [begun('a'), begun('b'), ended('b', 'rejected')], ['b rejected', 'a open']],
    [
      'again if its outcome was unknown before',
      [begun('a'), ended('a', 'unknown'), ended('a', 'accepted')],
      ['a unknown', 'a accepted'],
    ],
    ['once if it stays unknown', [begun('a'), ended('a', 'unknown'), ended('a', 'unknown')], ['a unknown']],
    [
      'once with an outcome that is known',
      [begun('a'), ended('a', 'unknown'), ended('a', 'accepted'), ended('a', 'accepted'), ended('a', 'unknown')],
      ['a unknown', 'a accepted'],
    ],
    ['only if it began', [ended('a', 'accepted')], []],
  ])('%s', async (_when, entries, expected) => {
    append(...entries);
    expect(await read()).toEqual(expected);
  });

  test('if it began since a time, and before another', async () => {
    append(...[0, 1, 2, 3].map((index) => begun(`${index}`, noon + index * minute)), ended('0', 'accepted'));
    expect(await read({ since: noon + minute })).toEqual(['1 open', '2 open', '3 open']);
    expect(await read({ since: noon + minute, until: noon + 3 * minute })).toEqual(['1 open', '2 open']);
    expect(await read({ until: noon + minute })).toEqual(['0 accepted']);
  });
});

test('a journal that is followed is read on for as long as that is wanted, each entry once, also where it is rotated', async () => {
  append(begun('a'), begun('b'), ended('b', 'accepted'));
  const steps = [
    () => append(ended('a', 'unknown')),
    () => renameSync(path, `${path}.2026-11-20T12-00-00-000Z-01234567`),
    () => append(ended('a', 'rejected'), begun('c')),
    () => append(begun('d')),
  ];
  const follow = async () => {
    const step = steps.shift();
    step?.();
    return step !== undefined;
  };
  expect(await read({ follow })).toEqual(['b accepted', 'a unknown', 'a rejected', 'c open', 'd open']);
});

test('if the file is replaced while the journal is followed, only new outcomes are read', async () => {
  append(begun('a'), ended('a', 'accepted'), begun('b'), ended('b', 'unknown'), begun('c'));
  const steps = [
    () => {
      rmSync(path);
      append(begun('d'), begun('a'), ended('a', 'accepted'), begun('b'), ended('b', 'unknown'), begun('c'));
    },
    () => append(ended('b', 'accepted'), ended('c', 'rejected')),
  ];
  const follow = async () => {
    const step = steps.shift();
    step?.();
    return step !== undefined;
  };
  expect(await read({ follow })).toEqual(['a accepted', 'b unknown', 'b accepted', 'c rejected', 'd open']);
});
