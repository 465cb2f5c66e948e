import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { longestWindowMs } from '../../src/journal/budget.js';
import { abandonedMs, duplicateWindowMs } from '../../src/journal/conflict.js';

import { createFileJournal } from '../../src/journal/file.js';
import type { Journal, ListChangesOptions } from '../../src/journal/journal.js';
import { endingOf, intentAt } from '../support/journal.js';
import { describeJournal } from './contract.js';

describe('like every journal', () => {
  describeJournal(() => {
    const folder = mkdtempSync(join(tmpdir(), 'cloudops-journal-'));
    return {
      open: (name, now) => createFileJournal(join(folder, name), now),
      warnings: [],
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
const begin = (changes: Parameters<typeof intentAt>[1] = {}, allowRepeat: string | boolean = false) =>
  journal.begin(intent(changes), { allowRepeat });

test('an intent is on disk when begin resolves, readable by its owner alone', async () => {
  expect(await begin()).toEqual({ kind: 'begun' });
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ intent: { tool: 'restore_instance' } });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('each entry is a line, and there are no others', async () => {
  for (const digest of ['a', 'b']) await begin({ digest });
  const lines = readFileSync(path, 'utf8').split('\n');
  expect(lines.map((line) => line.slice(0, 9))).toEqual(['{"intent"', '{"intent"', '']);
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
  const rotated = /^journal\.jsonl\.2026-11-20T12-00-00-000Z-[0-9a-f]{8}$/;
  expect(readdirSync(join(folder, 'deep')).sort()).toEqual(['journal.jsonl', expect.stringMatching(rotated)]);
  expect(statSync(path).size).toBeLessThan(10_000);
  expect(await journal.list({ limit: 1000 })).toHaveLength(2);
});

test('a clock that was set back does not put what was written later before what was written earlier', async () => {
  const grow = () => writeFileSync(path, `${'x'.repeat(11 * 1024 * 1024)}\n`, { flag: 'a' });
  const early = intent({ digest: 'early' });
  await journal.begin(early, { allowRepeat: false });
  grow();
  await begin({ digest: 'between' });
  time -= 60_000;
  await journal.end(endingOf(time, early.id, 'accepted'));
  grow();
  await begin({ digest: 'late' });
  const reopened = createFileJournal(path, () => new Date(time));
  expect((await reopened.findDuplicate('early'))?.ending?.outcome).toBe('accepted');
});

test('a journal whose name begins like this one is another journal', async () => {
  const other = createFileJournal(`${path}.prod`, () => new Date(time));
  await other.begin(intent(), { allowRepeat: false });
  expect((await begin()).kind).toBe('begun');
  expect(await journal.list({})).toHaveLength(1);
});

test('a journal that cannot be written says so, and lets nothing begin', async () => {
  mkdirSync(path, { recursive: true });
  expect(await begin()).toEqual({ kind: 'unwritable', reason: expect.stringContaining('EISDIR') });
});

test('what another process wrote is seen: appended, in a new file, and in place of what was there', async () => {
  const other = createFileJournal(path, () => new Date(time));
  const isDuplicate = async (digest: string) => (await journal.findDuplicate(digest)) !== undefined;
  const written = (digest: string) => `${JSON.stringify({ intent: intent({ digest }) })}\n`;
  await other.begin(intent({ digest: 'first' }), { allowRepeat: false });
  expect(await isDuplicate('first')).toBe(true);
  await other.begin(intent({ digest: 'appended' }), { allowRepeat: false });
  expect(await isDuplicate('appended')).toBe(true);
  renameSync(path, `${path}.2026-11-20T12-00-00-000Z-01234567`);
  expect(await isDuplicate('appended')).toBe(true);
  await other.begin(intent({ digest: 'new file' }), { allowRepeat: false });
  expect([await isDuplicate('new file'), await isDuplicate('appended')]).toEqual([true, true]);
  writeFileSync(path, written('shorter'));
  expect([await isDuplicate('shorter'), await isDuplicate('new file')]).toEqual([true, true]);
  writeFileSync(path, written('grown at once').repeat(50));
  expect([await isDuplicate('grown at once'), await isDuplicate('shorter')]).toEqual([true, true]);
  rmSync(path);
  expect([await isDuplicate('grown at once'), await isDuplicate('first')]).toEqual([true, true]);
});

test('a line that another process is about to write is read when it is complete', async () => {
  await begin({ digest: 'a' });
  const line = `${JSON.stringify({ intent: intent({ digest: 'b' }) })}\n`;
  appendFileSync(path, line.slice(0, 50));
  expect(await journal.findDuplicate('b')).toBeUndefined();
  appendFileSync(path, line.slice(50));
  expect(await journal.findDuplicate('b')).toBeDefined();
});

test('the list goes back to rotated files, as far as it is asked to', async () => {
  const inOrder = ['a', 'b', 'c', 'd'];
  for (const [index, digest] of inOrder.entries()) {
    time += 1000;
    await begin({ digest });
    if (index % 2 === 1) renameSync(path, `${path}.2026-11-20T12-00-0${index}-000Z-01234567`);
  }
  const listed = async (options: ListChangesOptions) => (await journal.list(options)).map(({ digest }) => digest);
  expect(await listed({})).toEqual(inOrder);
  expect(await listed({ limit: 3 })).toEqual(['b', 'c', 'd']);
});

test('a line longer than a chunk is read from either end', async () => {
  await begin({ digest: 'before' });
  appendFileSync(
    path,
    `${JSON.stringify({ intent: intent({ digest: 'long', target: '0123456789'.repeat(30_000) }) })}\n`,
  );
  await begin({ digest: 'after' });
  expect((await journal.list({})).map(({ digest }) => digest)).toEqual(['before', 'long', 'after']);
  expect((await journal.findDuplicate('long'))?.target).toHaveLength(300_000);
});

test('a journal that nobody has written to is empty', async () => {
  expect([await journal.list({}), await journal.listUnfinished(), await journal.findDuplicate('same')]).toEqual([
    [],
    [],
    undefined,
  ]);
});

test('a folder in place of the journal is named as what it is', async () => {
  mkdirSync(path, { recursive: true });
  await expect(journal.list({})).rejects.toMatchObject({ code: 'EISDIR' });
  await expect(journal.healthCheck()).rejects.toMatchObject({ code: 'EISDIR' });
});

test('a folder that cannot be made is told when the journal is checked', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  await expect(createFileJournal(join(file, 'journal'), () => new Date(time)).healthCheck()).rejects.toMatchObject({
    code: 'ENOTDIR',
  });
});

describe('what only a newer version understands', () => {
  const append = (...lines: readonly object[]) => {
    mkdirSync(join(folder, 'deep'), { recursive: true });
    for (const line of lines) appendFileSync(path, `${JSON.stringify(line)}\n`);
  };

  test('other kinds of entries are skipped', async () => {
    append({ intent: intent({ digest: 'other' }) }, { note: { intent: 1 } });
    expect((await begin()).kind).toBe('begun');
  });

  test('an outcome that is not known may be that the change was made', async () => {
    const earlier = intent();
    append(
      { intent: { ...earlier, more: true } },
      { ending: { ...endingOf(time, earlier.id, 'rejected'), outcome: 'x' } },
    );
    expect((await begin()).kind).toBe('duplicate');
  });

  test('an ending that is not understood leaves the change open', async () => {
    const earlier = intent();
    append({ intent: earlier }, { ending: { id: earlier.id } });
    expect((await begin()).kind).toBe('duplicate');
  });

  test('an intent that is not understood may be in conflict with any other, as long as it is recent', async () => {
    append({ intent: { time: new Date(time).toISOString(), digests: ['same'] } });
    expect(await begin()).toEqual({ kind: 'unwritable', reason: expect.stringContaining('of another version') });
    await expect(journal.findDuplicate('same')).rejects.toThrow();
    expect(await journal.list({})).toMatchObject([{ ending: { outcome: 'not sent', code: 'unwritable' } }]);
    time += abandonedMs + 1;
    expect((await begin()).kind).toBe('begun');
  });

  test('a server of an older version that still writes blocks every change until ten minutes after its last', async () => {
    expect((await begin()).kind).toBe('begun');
    const { keyFormat: _, ...older } = intent({ digest: 'of another format' });
    append({ intent: older }, { ending: endingOf(time, older.id, 'rejected') });
    const until = new Date(time + duplicateWindowMs).toISOString();
    expect(await begin({ digest: 'other' })).toEqual({
      kind: 'unwritable',
      reason: expect.stringContaining(`changes are refused until ${until}, and longer while`),
    });
    await expect(journal.healthCheck()).rejects.toThrow(until);
    expect(await journal.list({})).toHaveLength(3);
    time += duplicateWindowMs + 1;
    expect(await journal.healthCheck()).toEqual([]);
    expect((await begin({ digest: 'other' })).kind).toBe('begun');
  });

  test('one without a time stays in the way until somebody looks', async () => {
    append({ intent: 'same' });
    time += 10 * abandonedMs;
    expect((await begin()).kind).toBe('unwritable');
  });
});

describe('a first line that a crash cut short', () => {
  const beginning = '{"intent":{"id"';
  test.each(Array.from(beginning, (_, length) => beginning.slice(0, length)))('%j', async (torn) => {
    mkdirSync(join(folder, 'deep'));
    writeFileSync(path, torn);
    expect((await begin()).kind).toBe('begun');
    expect((await createFileJournal(path, () => new Date(time)).findDuplicate('same'))?.digest).toBe('same');
    expect((await begin({ digest: 'other' })).kind).toBe('begun');
    expect(await journal.list({})).toHaveLength(2);
  });
});

/** Things that can lie at the path of a journal. */
const others: Readonly<Record<string, (path: string) => void>> = {
  'a folder': (at) => mkdirSync(at),
  'a named pipe': (at) => execFileSync('mkfifo', [at]),
  'a socket': (at) =>
    spawnSync(
      process.execPath,
      ['-e', 'require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))', at],
      { stdio: 'ignore' },
    ),
  'a link to a journal': (at) => symlinkSync(writtenTo(target(), '{"intent":{}}\n'), at),
  'a link to nothing': (at) => symlinkSync(target(), at),
  'a link to a device': (at) => symlinkSync('/dev/null', at),
  'minutes of a meeting': (at) => writtenTo(at, 'minutes of a meeting\n'),
  'short notes': (at) => writtenTo(at, 'a\nb\n'),
  'notes after an empty line': (at) => writtenTo(at, '\nminutes'),
  'another JSON': (at) => writtenTo(at, '{"intend":1}\n'),
};
function writtenTo(at: string, text: string): string {
  writeFileSync(at, text, { mode: 0o644 });
  return at;
}
const target = () => join(folder, 'target');
const seen = (at: string) =>
  [at, target()].filter((each) => existsSync(each)).map((each) => [lstatSync(each).mode, lstatSync(each).size]);

describe.skipIf(process.platform === 'win32').each(Object.entries(others))('%s', (_what, make) => {
  test('in place of the journal: nothing begins, nothing is read, and it stays as it is', async () => {
    mkdirSync(join(folder, 'deep'));
    make(path);
    const before = seen(path);
    expect(await begin()).toEqual({ kind: 'unwritable', reason: expect.stringMatching(/^journal\.jsonl: ./) });
    await expect(journal.list({})).rejects.toThrow();
    await expect(journal.findDuplicate('same')).rejects.toThrow();
    await expect(journal.decline(intent())).rejects.toThrow();
    expect(seen(path)).toEqual(before);
  });

  test("beside the journal: it is in nobody's way, and stays as it is", async () => {
    mkdirSync(join(folder, 'deep'));
    const beside = `${path}.2026-11-20T12-00-00-000Z-01234567`;
    make(beside);
    const before = seen(beside);
    expect((await begin()).kind).toBe('begun');
    expect((await begin()).kind).toBe('duplicate');
    expect(await journal.list({})).toHaveLength(2);
    expect(seen(beside)).toEqual(before);
  });
});

test.skipIf(process.platform === 'win32').each([
  ['a folder', 'EISDIR'],
  ['a named pipe', 'it is not a regular file'],
  ['a link to a journal', 'it is a link'],
  ['a link to nothing', 'it is a link'],
  ['short notes', 'it is not a journal'],
])('%s in place of the journal is told as: %s', async (what, reason) => {
  mkdirSync(join(folder, 'deep'));
  others[what]?.(path);
  expect(await begin()).toEqual({ kind: 'unwritable', reason: `journal.jsonl: ${reason}` });
});

test('a device in place of the journal stays as it is', async ({ skip }) => {
  mkdirSync(join(folder, 'deep'));
  const { status } = spawnSync('mknod', ['-m', '644', path, 'c', '1', '3']);
  if (status !== 0) skip('only root makes devices');
  expect(await begin()).toEqual({ kind: 'unwritable', reason: 'journal.jsonl: it is not a regular file' });
  expect(statSync(path).mode & 0o777).toBe(0o644);
});

test('a change that was declined by a clock that is ahead counts when that time has come, and no sooner', async () => {
  time += 60_000;
  await journal.decline(intent());
  time -= 60_000;
  expect(await journal.listDeclined(0, undefined)).toEqual([]);
  time += 60_000;
  expect(await journal.listDeclined(0, undefined)).toEqual(['same']);
});

test('a clock that was set back finds what was sent before and after that', async () => {
  const sent = async (digest: string) => {
    const each = intent({ digest });
    await journal.begin(each, { allowRepeat: false });
    await journal.end(endingOf(time, each.id, 'accepted'));
  };
  await sent('before');
  time -= 2 * longestWindowMs;
  await sent('after');
  time += abandonedMs;
  const told: unknown[] = [];
  const reopened = createFileJournal(
    path,
    () => new Date(time),
    (level, event, fields) => told.push([level, event, fields]),
  );
  for (const digest of ['before', 'after'])
    expect(await reopened.begin(intent({ digest }), { allowRepeat: false })).toMatchObject({ kind: 'duplicate' });
  const problem = 'the clock of this server is 165600 s behind that of the journal';
  expect(told).toEqual([['warn', 'clock', { problem }]]);
  expect(await reopened.healthCheck()).toEqual([problem]);
});

test('a clock that was set forward finds what this process knew before that, and says so', async () => {
  let uptime = 0;
  const told: unknown[] = [];
  const open = () =>
    createFileJournal(
      path,
      () => new Date(time),
      (level, _event, fields) => told.push([level, fields]),
      () => uptime,
    );
  const pass = (milliseconds: number, set = 0) => {
    uptime += milliseconds;
    time += milliseconds + set;
  };
  const [own, other] = [open(), open()];
  const sent = intent();
  await own.begin(sent, { allowRepeat: false });
  await own.end(endingOf(time, sent.id, 'accepted'));
  await other.findDuplicate('same');
  pass(60_000, 2 * longestWindowMs);
  for (const each of [own, other]) expect(await each.findDuplicate('same')).toMatchObject({ id: sent.id });
  expect(told).toEqual(Array(2).fill(['warn', { problem: 'the clock of this server was set forward by 172800 s' }]));
  pass(600_000);
  expect(await own.findDuplicate('same')).toBeUndefined();
  // One that is started afterwards has only the file to go by.
  expect(await open().findDuplicate('same')).toBeUndefined();
});
