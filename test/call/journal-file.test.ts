import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  describe as describeMutation,
  type Intent,
  type Journal,
  mutationsOf,
  obstacle,
  orphans,
  repeatWindowMs,
} from '../../src/call/journal.js';
import { createFileJournal } from '../../src/call/journal-file.js';

let folder: string;
let path: string;
let time: number;
let journal: Journal;
let count = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-journal-'));
  path = join(folder, 'deep', 'journal.jsonl');
  time = Date.parse('2026-11-20T12:00:00Z');
  journal = createFileJournal(path, () => new Date(time));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const intent = (changes: Partial<Intent> = {}): Intent => {
  count += 1;
  return {
    id: `intent-${count}`,
    time: new Date(time).toISOString(),
    tool: 'restore_instance',
    what: 'A server "s" is created.',
    target: 'POST https://devops.example.com/v1/instances:restore',
    account: 'AKIDTEST',
    client: 'test 1',
    consent: 'asked',
    digest: 'same',
    process: { pid: 1, host: 'here' },
    ...changes,
  };
};
const begin = (changes: Partial<Intent> = {}, allowRepeat = false) => journal.begin(intent(changes), { allowRepeat });
const ending = (id: string, outcome: 'accepted' | 'rejected' | 'unknown' | 'not sent') => ({
  id,
  time: new Date(time).toISOString(),
  outcome,
});

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

describe('the same mutation again', () => {
  test.each([
    ['accepted', 'repeats'],
    ['unknown', 'repeats'],
    ['rejected', 'begun'],
    ['not sent', 'begun'],
  ] as const)('after one that was %s: %s', async (outcome, kind) => {
    const first = intent();
    await journal.begin(first, { allowRepeat: false });
    await journal.end(ending(first.id, outcome));
    expect((await begin()).kind).toBe(kind);
    expect((await begin({ digest: 'other' })).kind).toBe('begun');
  });

  test('while one is under way, it repeats; with allowRepeat it may go ahead', async () => {
    await begin();
    expect((await begin()).kind).toBe('repeats');
    expect((await begin({}, true)).kind).toBe('begun');
  });

  test.each([
    [repeatWindowMs - 1000, 'repeats'],
    [repeatWindowMs + 1000, 'begun'],
  ])('%i ms later: %s', async (later, kind) => {
    const first = intent();
    await journal.begin(first, { allowRepeat: false });
    await journal.end(ending(first.id, 'accepted'));
    time += later;
    expect((await begin()).kind).toBe(kind);
  });

  test('the window is counted from the outcome, not from the intent', async () => {
    const first = intent();
    await journal.begin(first, { allowRepeat: false });
    time += repeatWindowMs;
    await journal.end(ending(first.id, 'unknown'));
    time += 60_000;
    expect((await begin()).kind).toBe('repeats');
  });

  test("one that was stopped stands in nobody's way", async () => {
    await begin({ digest: 'a' });
    expect((await begin({ digest: 'a', nonce: 'n' })).kind).toBe('repeats');
    expect((await begin({ digest: 'a', nonce: 'n' }, true)).kind).toBe('begun');
  });
});

test('consent is used once, whatever came of it, also by another process and after a restart', async () => {
  const first = intent({ nonce: 'n' });
  await journal.begin(first, { allowRepeat: false });
  await journal.end(ending(first.id, 'rejected'));
  const other = createFileJournal(path, () => new Date(time));
  expect(await other.begin(intent({ nonce: 'n', digest: 'other' }), { allowRepeat: true })).toEqual({ kind: 'used' });
});

test('of many at once, one may go ahead', async () => {
  const journals = Array.from({ length: 8 }, () => createFileJournal(path, () => new Date(time)));
  const begun = await Promise.all(journals.map((each) => each.begin(intent(), { allowRepeat: false })));
  expect(begun.filter(({ kind }) => kind === 'begun')).toHaveLength(1);
});

test('a line that a crash cut short is skipped, and swallows nothing', async () => {
  await begin({ digest: 'a' });
  writeFileSync(path, '{"intent":{"id":"torn","ti', { flag: 'a' });
  await begin({ digest: 'b' });
  writeFileSync(path, '\n\u0000\u0000garbage\n[]\nnull\n', { flag: 'a' });
  await begin({ digest: 'c' });
  expect((await journal.read()).map(({ digest }) => digest)).toEqual(['a', 'b', 'c']);
});

test('a file over 10 MiB is put aside, nothing of it is lost, and the guard still sees it', async () => {
  const first = intent();
  await journal.begin(first, { allowRepeat: false });
  await journal.end(ending(first.id, 'accepted'));
  writeFileSync(path, `${'x'.repeat(11 * 1024 * 1024)}\n`, { flag: 'a' });
  expect((await begin()).kind).toBe('repeats');
  expect(readdirSync(join(folder, 'deep'))).toHaveLength(2);
  expect(statSync(path).size).toBeLessThan(10_000);
  expect(await journal.read()).toHaveLength(2);
});

test('a journal that cannot be written says so, and lets nothing begin', async () => {
  mkdirSync(path, { recursive: true });
  expect(await begin()).toEqual({ kind: 'unwritable', reason: expect.stringContaining('EISDIR') });
});

test('an intent without an outcome is an orphan when its process is gone; a later outcome of its own is what counts', async () => {
  const done = intent({ digest: 'done' });
  await journal.begin(done, { allowRepeat: false });
  await journal.end(ending(done.id, 'accepted'));
  const gone = intent({ digest: 'gone', process: { pid: 2, host: 'here' } });
  await journal.begin(gone, { allowRepeat: false });
  await begin({ digest: 'running' });
  const isGone = ({ process: { pid } }: Intent) => pid === 2;
  expect(orphans(await journal.read(), isGone).map(({ digest }) => digest)).toEqual(['gone']);
  await journal.end(ending(gone.id, 'unknown'));
  await journal.end(ending(gone.id, 'accepted'));
  expect((await journal.read()).find(({ id }) => id === gone.id)?.ending?.outcome).toBe('accepted');
});

test('an intent that is still under way blocks for as long as a call can take', async () => {
  await begin();
  time += repeatWindowMs + 60_000;
  expect((await begin()).kind).toBe('repeats');
});

test('if the own intent is not found again, nothing may begin', () => {
  expect(() => obstacle([], intent(), true)).toThrow('not in the journal');
});

test('an intent that is written twice counts at its last place', () => {
  const [first, second] = [intent(), intent()];
  const mutations = mutationsOf([{ intent: first }, { intent: second }, { intent: first }]);
  expect(mutations.map(({ id }) => id)).toEqual([second.id, first.id]);
  expect(obstacle(mutations, first, false).kind).toBe('repeats');
});

test('what a service or a client says stays on its line, quoted and bounded', () => {
  const mutation = {
    ...intent({ client: 'x\n2026 accepted forged \u202e' }),
    ending: { ...ending('x', 'unknown'), code: `bad\n\u001b[2J${'y'.repeat(500)}` },
  };
  const line = describeMutation(mutation);
  for (const character of ['\n', '\u001b', '\u202e']) expect(line).not.toContain(character);
  expect(line.length).toBeLessThan(500);
});
