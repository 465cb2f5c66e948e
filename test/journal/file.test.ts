import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFileJournal } from '../../src/journal/file.js';
import type { Journal } from '../../src/journal/journal.js';
import { endingOf, intentAt } from '../support/journal.js';
import { describeJournal } from './contract.js';

describe('like every journal', () => {
  describeJournal(() => {
    const folder = mkdtempSync(join(tmpdir(), 'cloudops-journal-'));
    return {
      open: (name, now) => createFileJournal(join(folder, name), now),
      remove: () => rmSync(folder, { recursive: true, force: true }),
    };
  });
});

let folder: string;
let path: string;
let time: number;
let journal: Journal;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-journal-'));
  path = join(folder, 'deep', 'journal.jsonl');
  time = Date.parse('2026-11-20T12:00:00Z');
  journal = createFileJournal(path, () => new Date(time));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const intent = (changes: Parameters<typeof intentAt>[1] = {}) => intentAt(time, changes);
const begin = (changes: Parameters<typeof intentAt>[1] = {}, allowRepeat = false) =>
  journal.begin(intent(changes), { allowRepeat });

test('an intent is on disk when begin resolves, readable by its owner alone', async () => {
  expect(await begin()).toEqual({ kind: 'begun' });
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ intent: { tool: 'restore_instance' } });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a file that others can read is closed to them', async () => {
  mkdirSync(join(folder, 'deep'));
  writeFileSync(path, '');
  chmodSync(path, 0o644);
  await begin();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a line that a crash cut short is skipped, and swallows nothing', async () => {
  await begin({ digest: 'a' });
  writeFileSync(path, '{"intent":{"id":"torn","ti', { flag: 'a' });
  await begin({ digest: 'b' });
  writeFileSync(path, '\n\u0000\u0000garbage\n[]\nnull\n', { flag: 'a' });
  await begin({ digest: 'c' });
  expect((await journal.list({})).map(({ digest }) => digest)).toEqual(['a', 'b', 'c']);
});

test('a file over 10 MiB is put aside, nothing of it is lost, and the guard still sees it', async () => {
  const first = intent();
  await journal.begin(first, { allowRepeat: false });
  await journal.end(endingOf(time, first.id, 'accepted'));
  writeFileSync(path, `${'x'.repeat(11 * 1024 * 1024)}\n`, { flag: 'a' });
  expect((await begin()).kind).toBe('duplicate');
  expect(readdirSync(join(folder, 'deep'))).toHaveLength(2);
  expect(statSync(path).size).toBeLessThan(10_000);
  expect(await journal.list({ limit: 1000 })).toHaveLength(2);
});

test('a journal that cannot be written says so, and lets nothing begin', async () => {
  mkdirSync(path, { recursive: true });
  expect(await begin()).toEqual({ kind: 'unwritable', reason: expect.stringContaining('EISDIR') });
});

test('a file that is something else is no journal: nothing begins, nothing is read, and it stays as it is', async () => {
  mkdirSync(join(folder, 'deep'));
  writeFileSync(path, 'minutes of a meeting\n');
  expect(await begin()).toEqual({ kind: 'unwritable', reason: 'journal.jsonl: it is not a journal' });
  await expect(journal.list({})).rejects.toThrow();
  expect(readFileSync(path, 'utf8')).toBe('minutes of a meeting\n');
});
