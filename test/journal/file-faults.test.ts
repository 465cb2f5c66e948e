import {
  constants,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { longestWindowMs } from '../../src/journal/budget.js';
import { createFileJournal } from '../../src/journal/file.js';
import type { Journal } from '../../src/journal/journal.js';
import { endingOf, intentAt } from '../support/journal.js';

const disk = vi.hoisted(() => ({
  bytesRead: 0,
  opened: [] as string[],
  /** A file that cannot be opened. */
  unreadable: '',
  /** A path at which a system finds nothing. */
  absent: '',
  /** No file can be opened to be written. */
  filesAreReadOnly: false,
  /** The device of every folder, if it is not the real one. */
  device: undefined as number | undefined,
  /** Nothing can be made in folders. */
  foldersAreReadOnly: false,
  renameFails: false,
  /** So many writes keep only that many bytes. */
  shortWrites: 0,
  keptBytes: 0,
  /** So many flushes fail. */
  failedSyncs: 0,
  /** Runs before the next one. */
  beforeSync: undefined as (() => void) | undefined,
  /** Runs before the next file is opened. */
  beforeOpen: undefined as (() => void) | undefined,
  /** Runs after that. */
  afterOpen: undefined as (() => void) | undefined,
  /** Runs before the next folder is listed. */
  beforeList: undefined as (() => void) | undefined,
  /** Runs after that. */
  afterList: undefined as (() => void) | undefined,
}));

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  const open = async (...given: Parameters<typeof original.open>): Promise<FileHandle> => {
    const { beforeOpen } = disk;
    disk.beforeOpen = undefined;
    beforeOpen?.();
    if (given[0] === disk.unreadable) throw Object.assign(new Error('denied'), { code: 'EACCES' });
    if (given[0] === disk.absent) throw Object.assign(new Error('nothing'), { code: 'ENOENT' });
    const isWritten = (Number(given[1]) & constants.O_RDWR) !== 0;
    if (isWritten && disk.filesAreReadOnly) throw Object.assign(new Error('denied'), { code: 'EACCES' });
    const { afterOpen } = disk;
    disk.afterOpen = undefined;
    const file = await original.open(...given).finally(afterOpen);
    disk.opened.push(String(given[0]));
    const [read, write, sync] = [file.read.bind(file), file.write.bind(file), file.sync.bind(file)];
    return Object.assign(file, {
      read: async (buffer: Buffer, offset: number, length: number, position: number) => {
        const result = await read(buffer, offset, length, position);
        disk.bytesRead += result.bytesRead;
        return result;
      },
      write: (bytes: Buffer) => {
        if (disk.shortWrites === 0) return write(bytes);
        disk.shortWrites -= 1;
        return write(bytes.subarray(0, disk.keptBytes));
      },
      sync: () => {
        disk.beforeSync?.();
        disk.beforeSync = undefined;
        if (disk.failedSyncs === 0) return sync();
        disk.failedSyncs -= 1;
        return Promise.reject(Object.assign(new Error('i/o error'), { code: 'EIO' }));
      },
    });
  };
  // No order that a disk gives names in is the right one.
  const readdir = async (folder: string) => {
    disk.beforeList?.();
    const names = (await original.readdir(folder)).sort().reverse();
    disk.afterList?.();
    disk.beforeList = undefined;
    disk.afterList = undefined;
    return names;
  };
  const rename = async (from: string, to: string) => {
    if (disk.renameFails) throw Object.assign(new Error('denied'), { code: 'EACCES' });
    return original.rename(from, to);
  };
  const access = async (folder: string, mode: number) => {
    if (disk.foldersAreReadOnly) throw Object.assign(new Error('read-only'), { code: 'EROFS' });
    return original.access(folder, mode);
  };
  const stat = async (folder: string) => {
    const stats = await original.stat(folder);
    return disk.device === undefined ? stats : Object.assign(stats, { dev: disk.device });
  };
  return { ...original, access, open, readdir, rename, stat };
});

let path: string;
let journal: Journal;
let opened: Journal[];
const noon = Date.parse('2026-11-20T12:00:00Z');
const now = () => new Date(noon);
const open = () => {
  const another = createFileJournal(path, now);
  opened.push(another);
  return another;
};
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'cloudops-journal-')), 'journal.jsonl');
  opened = [];
  journal = open();
  Object.assign(disk, {
    bytesRead: 0,
    opened: [],
    unreadable: '',
    absent: '',
    filesAreReadOnly: false,
    device: undefined,
    foldersAreReadOnly: false,
    renameFails: false,
    shortWrites: 0,
    keptBytes: 0,
    failedSyncs: 0,
    beforeSync: undefined,
    beforeOpen: undefined,
    afterOpen: undefined,
    beforeList: undefined,
    afterList: undefined,
  });
});
afterEach(async () => {
  await Promise.all(opened.map((each) => each.close()));
  rmSync(dirname(path), { recursive: true, force: true });
});

const begin = (digest: string) => journal.begin(intentAt(noon, { digest }), { allowRepeat: false });
const history = (entries: number) =>
  Array.from(
    { length: entries },
    (_, index) => `${JSON.stringify({ intent: intentAt(noon, { digest: `${index}` }) })}\n`,
  );

describe('how much is read', () => {
  test('a change reads what was appended since the last one, and not the whole journal', async () => {
    writeFileSync(path, history(5000).join(''));
    await journal.findDuplicate('new');
    expect(disk.bytesRead).toBeGreaterThan(1_000_000);
    await open().begin(intentAt(noon, { digest: 'of another process' }), { allowRepeat: false });
    disk.bytesRead = 0;
    expect(await journal.findDuplicate('of another process')).toBeDefined();
    expect((await begin('new')).kind).toBe('begun');
    expect(await journal.listUnfinished()).toHaveLength(5002);
    expect(disk.bytesRead).toBeLessThan(50_000);
  });

  test('a list reads from the end, and rotated files only if it needs them', async () => {
    const rotated = Array.from({ length: 3 }, (_, index) => `${path}.2026-11-20T12-00-0${index}-000Z-01234567`);
    for (const each of rotated) writeFileSync(each, history(5000).join(''));
    writeFileSync(path, history(2000).join(''));
    expect((await journal.list({})).map(({ digest }) => digest)).toEqual(
      Array.from({ length: 50 }, (_, index) => `${1950 + index}`),
    );
    expect(disk.opened).toEqual([path]);
    expect(disk.bytesRead).toBeLessThan(100_000);
    expect(await journal.list({ limit: 8000 })).toHaveLength(8000);
    expect(new Set(disk.opened)).toEqual(new Set([path, rotated[2], rotated[1]]));
  });

  test('what was left open long ago is searched for once', async () => {
    const rotated = `${path}.2026-11-20T12-00-00-000Z-01234567`;
    const long = noon - 10 * longestWindowMs;
    writeFileSync(rotated, `${JSON.stringify({ intent: intentAt(long) })}\n`);
    utimesSync(rotated, new Date(long), new Date(long));
    for (let look = 0; look < 2; look += 1) expect(await journal.listUnfinished()).toHaveLength(1);
    expect(disk.opened).toEqual([rotated]);
  });

  test('a list of a caller who has asked for little ends after a bounded number of bytes', async () => {
    const rotated = `${path}.2026-11-20T12-00-00-000Z-01234567`;
    writeFileSync(rotated, history(10_000).join(''));
    writeFileSync(path, history(1).join(''));
    expect(await journal.list({ caller: 'alice' })).toEqual([]);
    expect(disk.bytesRead).toBeLessThan(1_000_000);
  });

  test('after the longest window of a budget, nothing of what has ended is kept in memory', async () => {
    let time = noon;
    const late = createFileJournal(path, () => new Date(time));
    const first = intentAt(noon);
    await late.begin(first, { allowRepeat: false });
    await late.decline(intentAt(noon, { caller: 'alice' }));
    expect(await late.listDeclined(0, 'alice')).toEqual(['same']);
    time += longestWindowMs;
    expect(await late.listDeclined(0, 'alice')).toEqual(['same']);
    time += 1;
    expect(await late.listDeclined(0, 'alice')).toEqual([]);
    expect(await late.listUnfinished()).toHaveLength(1);
  });
});

describe('a write that is cut short', () => {
  const line = `${JSON.stringify({ intent: intentAt(noon) })}\n`;
  test.each([0, 1, 8, 9, 100, line.length - 1])('after %i bytes: nothing begins, and nothing is open', async (kept) => {
    Object.assign(disk, { shortWrites: 1, keptBytes: kept });
    expect(await begin('same')).toEqual({ kind: 'unwritable', reason: expect.stringMatching(/bytes were written/) });
    expect((await begin('same')).kind).toBe('begun');
    expect(await open().listUnfinished()).toHaveLength(1);
    expect(await journal.listUnfinished()).toHaveLength(1);
  });

  test('an intent that is on disk, but not for sure, is ended as not sent as soon as that can be written', async () => {
    Object.assign(disk, { failedSyncs: 3 });
    expect(await begin('same')).toEqual({ kind: 'unwritable', reason: 'journal.jsonl: EIO' });
    await expect.poll(() => disk.failedSyncs).toBe(0);
    await expect.poll(() => journal.list({})).toMatchObject([{ ending: { outcome: 'not sent', code: 'unwritable' } }]);
    expect(await journal.listUnfinished()).toEqual([]);
    expect((await begin('same')).kind).toBe('begun');
  });

  test('an outcome is written again until it is there as a whole', async () => {
    const intent = intentAt(noon);
    await journal.begin(intent, { allowRepeat: false });
    Object.assign(disk, { shortWrites: 3, keptBytes: 20 });
    await journal.end(endingOf(noon, intent.id, 'accepted'));
    expect(disk.shortWrites).toBe(0);
    expect(await open().list({})).toMatchObject([{ ending: { outcome: 'accepted' } }]);
  });

  test('an outcome that cannot be written is tried once, or until the journal is closed', async () => {
    const intent = intentAt(noon);
    await journal.begin(intent, { allowRepeat: false });
    Object.assign(disk, { shortWrites: Number.POSITIVE_INFINITY, keptBytes: 20 });
    const ending = endingOf(noon, intent.id, 'accepted');
    const failed = expect(journal.end(ending)).rejects.toThrow('bytes were written');
    await expect(journal.tryEnd(ending)).rejects.toThrow('bytes were written');
    await journal.close();
    await failed;
  });

  test('when the journal is closed, there is one last attempt', async () => {
    const intent = intentAt(noon);
    await journal.begin(intent, { allowRepeat: false });
    Object.assign(disk, { shortWrites: 1, keptBytes: 20 });
    const ended = journal.end(endingOf(noon, intent.id, 'accepted'));
    await vi.waitFor(() => expect(disk.shortWrites).toBe(0));
    await journal.close();
    await ended;
    expect(await open().list({})).toMatchObject([{ ending: { outcome: 'accepted' } }]);
  });
});

test('a line is one write, whatever the client and the service say', async () => {
  const endless = '\u0001'.repeat(1_000_000);
  const intent = intentAt(noon, { client: endless, target: endless });
  expect((await journal.begin(intent, { allowRepeat: false })).kind).toBe('begun');
  await journal.end({ ...endingOf(noon, intent.id, 'accepted'), code: endless });
  expect(readFileSync(path).length).toBeLessThan(256 * 1024);
  expect(await journal.list({})).toMatchObject([
    { client: expect.stringContaining('… [cut, 1000000 bytes'), ending: { outcome: 'accepted' } },
  ]);
});

test('an entry that is too large all the same is not written', async () => {
  const reason = 'journal.jsonl: the entry is too large';
  expect(await begin('x'.repeat(512 * 1024))).toEqual({ kind: 'unwritable', reason });
  expect(existsSync(path)).toBe(false);
});

test('while a rotated file cannot be read, nothing begins: the same change may be in it', async () => {
  disk.unreadable = `${path}.2026-11-20T12-00-00-000Z-01234567`;
  writeFileSync(disk.unreadable, history(1).join(''));
  utimesSync(disk.unreadable, new Date(noon), new Date(noon));
  expect(await begin('0')).toEqual({ kind: 'unwritable', reason: 'journal.jsonl: EACCES' });
  disk.unreadable = '';
  expect((await begin('0')).kind).toBe('duplicate');
});

describe('a check of the journal tells of', () => {
  test('a file that can be read, and not written', async () => {
    writeFileSync(path, history(1).join(''));
    expect(await journal.healthCheck()).toEqual([]);
    disk.filesAreReadOnly = true;
    await expect(journal.healthCheck()).rejects.toMatchObject({ code: 'EACCES' });
  });

  test('a folder that no file can be made in', async () => {
    expect(await journal.healthCheck()).toEqual([]);
    disk.foldersAreReadOnly = true;
    await expect(journal.healthCheck()).rejects.toMatchObject({ code: 'EROFS' });
  });

  test('a file in place of the folder where a system says no more than that there is no journal, as Windows does', async () => {
    writeFileSync(path, '');
    disk.absent = join(path, 'journal');
    await expect(createFileJournal(disk.absent, now).healthCheck()).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});

test("a new file's name is flushed too, where a folder can be, and only then", async () => {
  const folders = () => disk.opened.filter((each) => each === dirname(path)).length;
  await begin('a');
  expect(folders()).toBe(1);
  await begin('b');
  expect(folders()).toBe(1);
  rmSync(path);
  disk.unreadable = dirname(path);
  expect((await begin('c')).kind).toBe('begun');
});

test('a file that is too large and cannot be put aside is written to all the same', async () => {
  disk.renameFails = true;
  writeFileSync(path, `${history(1).join('')}${' '.repeat(11 * 1024 * 1024)}\n`);
  expect((await begin('new')).kind).toBe('begun');
  expect(readFileSync(path, 'utf8')).toMatch(/"digest":"0"[\s\S]*"digest":"new"/);
});

test('if another process rotates the file while a line is written, the line is written into the new one too', async () => {
  writeFileSync(path, history(1).join(''));
  disk.beforeSync = () => renameSync(path, `${path}.2026-11-20T12-00-00-000Z-01234567`);
  expect((await begin('new')).kind).toBe('begun');
  expect(readFileSync(path, 'utf8')).toContain('"digest":"new"');
  expect((await journal.list({})).map(({ digest }) => digest)).toEqual(['0', 'new']);
});

test('the same if the other process has begun the new one already', async () => {
  writeFileSync(path, history(1).join(''));
  disk.beforeSync = () => {
    renameSync(path, `${path}.2026-11-20T12-00-00-000Z-01234567`);
    writeFileSync(path, `${JSON.stringify({ intent: intentAt(noon, { digest: 'of the other' }) })}\n`);
  };
  expect((await begin('new')).kind).toBe('begun');
  expect(readFileSync(path, 'utf8')).toContain('"digest":"new"');
});

test('if another process rotates the file while the journal is read, nothing is read twice', async () => {
  const change = intentAt(noon, { digest: 'a', budget: 'b' });
  const ending = endingOf(noon, change.id, 'accepted');
  writeFileSync(path, `${JSON.stringify({ intent: change })}\n${JSON.stringify({ ending })}\n`);
  disk.beforeList = () => renameSync(path, `${path}.2026-11-20T12-00-00-000Z-01234567`);
  expect(await journal.budgetState('b', { mostChanges: 2, windowMs: longestWindowMs })).toEqual({ left: 1 });
});

test('if a rotated file is taken away while files are listed, the others are read', async () => {
  const rotated = [1, 2].map((second) => `${path}.2026-11-20T12-00-0${second}-000Z-01234567`);
  for (const [index, each] of rotated.entries())
    writeFileSync(each, `${JSON.stringify({ intent: intentAt(noon, { digest: `${index}` }) })}\n`);
  disk.afterList = () => rmSync(rotated[0] ?? '');
  expect(await journal.findDuplicate('1')).toMatchObject({ digest: '1' });
});

describe('a folder that is on another device than before, because its disk is not mounted any more', () => {
  const unmount = () => {
    disk.device = 99;
    renameSync(path, `${path}.on the disk`);
  };
  const mount = () => {
    rmSync(path, { force: true });
    renameSync(`${path}.on the disk`, path);
  };
  const refused = { kind: 'unwritable', reason: expect.stringContaining('another device') };

  test.each(['with', 'without'])(
    'takes nothing if it is unmounted while the file is opened, %s a file below',
    async (below) => {
      await journal.begin(intentAt(noon, { digest: 'a' }), { allowRepeat: false });
      const unmountOnOpen = () => {
        disk.beforeOpen = () => {
          unmount();
          if (below === 'with') writeFileSync(path, `${JSON.stringify({ intent: intentAt(noon, { digest: 'z' }) })}\n`);
        };
      };
      const entriesBelow = () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean).length : 0);
      const before = below === 'with' ? 1 : 0;
      unmountOnOpen();
      await expect(journal.findDuplicate('b')).rejects.toThrow('another device');
      expect(await begin('b')).toMatchObject(refused);
      expect(entriesBelow()).toBe(before);
      mount();
      disk.device = undefined;
      expect(await begin('c')).toEqual({ kind: 'begun' });
      unmountOnOpen();
      expect(await begin('b')).toMatchObject(refused);
      expect(await begin('b')).toMatchObject(refused);
      expect(entriesBelow()).toBe(before);
      mount();
      disk.device = undefined;
      expect(await begin('a')).toMatchObject({ kind: 'duplicate' });
    },
  );

  test.each(['with', 'without'])(
    'gets the change if it is mounted again right after the file was opened, %s a file below',
    async (below) => {
      await begin('a');
      disk.beforeOpen = () => {
        unmount();
        if (below === 'with') writeFileSync(path, `${JSON.stringify({ intent: intentAt(noon, { digest: 'z' }) })}\n`);
      };
      disk.afterOpen = () => {
        mount();
        disk.device = undefined;
      };
      expect(await begin('b')).toEqual({ kind: 'begun' });
      const begun = (await open().list({})).map(({ digest }) => digest);
      expect(begun).toEqual(['a', 'b']);
    },
  );

  test.each([
    ['the same number', undefined],
    ['another number', 100],
  ])('takes no change and no outcome until it is mounted again, with %s', async (_what, device) => {
    const [first] = [intentAt(noon, { digest: 'a' })];
    await journal.begin(first, { allowRepeat: false });
    unmount();
    expect(await begin('b')).toMatchObject(refused);
    await expect(journal.tryEnd(endingOf(noon, first.id, 'accepted'))).rejects.toThrow('device');
    await expect(journal.healthCheck()).rejects.toThrow('another device');
    expect(existsSync(path)).toBe(false);
    mount();
    disk.device = device;
    await journal.end(endingOf(noon, first.id, 'accepted'));
    expect(await begin('a')).toMatchObject({ kind: 'duplicate' });
    expect(await begin('b')).toEqual({ kind: 'begun' });
  });
});
