import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JournalFault } from '../../src/changes/sql.js';
import { createSqlite, loadSqlite, networkOf } from '../../src/changes/sqlite.js';
import { type Changes, createChanges } from '../../src/changes/store.js';
import { newChange, processOn, wallClock } from '../support/changes.js';

/** The rules of a store in a file; those of every store are in store.ts. */

let folder: string;
let path: string;
let opened: Changes[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-file-'));
  path = join(folder, 'state', 'journal.db');
});
afterEach(async () => {
  await Promise.all(opened.map((each) => each.close()));
  opened = [];
  rmSync(folder, { recursive: true, force: true });
});

const now = () => new Date();
const open = (at = path, options = {}): Changes => {
  const engine = createSqlite(at, { clock: wallClock(now), longestWaitMs: 60_000, ...options });
  const store = createChanges(engine, { process: processOn('here') });
  opened.push(store);
  return store;
};
const lifetimeMs = 60_000;
const off = { kind: 'approved', way: 'off' } as const;
/** A change that this store carries out, up to the moment at which it would be sent. */
const begin = async (store: Changes) => {
  const change = newChange({ requestKey: newChange().id });
  const added = await store.add(change, { lifetimeMs, approved: off });
  if (added.kind !== 'added') return { ...change, begun: added };
  return { ...change, begun: await store.begin(change.id, { ifUnknown: {} }) };
};
const kindOf = async (store: Changes) => (await begin(store)).begun.kind;
const stateOf = async (id: string, store = open()) => (await store.find(id))?.state;
const faultOf = async (store: Changes) => store.healthCheck().catch((error: JournalFault) => error.kind ?? `${error}`);
const filesOf = (at: string) => [at, `${at}-wal`, `${at}-shm`];

test('only the owner may read the files of a journal, also if others could before', async () => {
  const modes = () => filesOf(path).map((file) => (statSync(file).mode & 0o777).toString(8));
  const store = open();
  expect(await kindOf(store)).toBe('begun');
  expect(modes()).toEqual(['600', '600', '600']);
  for (const file of filesOf(path)) chmodSync(file, 0o644);
  expect(await kindOf(open())).toBe('begun');
  expect(modes()).toEqual(['600', '600', '600']);
});

test('reading makes no file, and finds the file that somebody else makes later', async () => {
  const reader = open(path, { createsTables: false });
  const server = open();
  for (const store of [reader, server]) {
    expect(await store.newest({ limit: 1 })).toEqual([]);
    expect(await store.recover()).toEqual([]);
    await store.erase();
  }
  expect(await faultOf(reader)).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
  const { id } = await begin(open());
  for (const store of [reader, server]) expect(await stateOf(id, store)).toBe('begun');
});

test('the null device keeps changes as long as the process runs', async () => {
  const store = open(devNull);
  const { id, begun } = await begin(store);
  expect(begun.kind).toBe('begun');
  expect(await stateOf(id, store)).toBe('begun');
  expect(await stateOf(id, open(devNull))).toBeUndefined();
});

describe('something else at the path is refused at once, and left as it is', () => {
  const sqlite = async (sql: string) => {
    const { DatabaseSync } = await loadSqlite();
    const db = new DatabaseSync(path);
    db.exec(sql);
    db.close();
  };
  test.each([
    ['a folder', () => mkdirSync(path), /folder/],
    ['a FIFO', () => execFileSync('mkfifo', [path]), /regular/],
    ['a text', () => writeFileSync(path, 'x'.repeat(5000)), /not a journal/],
    [
      'the database of another program',
      () => sqlite('create table other (a); insert into other values (1)'),
      /another program/,
    ],
  ])('%s', async (_what, make, reason) => {
    mkdirSync(join(path, '..'));
    await make();
    for (const store of [open(), open(path, { createsTables: false })]) {
      expect(await begin(store)).toMatchObject({ begun: { kind: 'unwritable' } });
      await expect(store.healthCheck()).rejects.toThrow(
        reason.source.includes('another') ? /not a journal|another program|no tables/ : reason,
      );
    }
    expect(readdirSync(join(path, '..')).filter((name) => !name.startsWith('journal.db'))).toEqual([]);
  });

  test.each([
    [3, 'newer', 'newer version'],
    [1, 'not a journal', 'earlier version'],
  ])('a store of version %i', async (version, kind, reason) => {
    const store = open();
    await kindOf(store);
    await sqlite(`update cloudops_store set schema_version = ${version}`);
    const other = open();
    expect(await faultOf(other)).toBe(kind);
    expect((await begin(other)).begun).toMatchObject({ kind: 'unwritable' });
    await expect(other.newest({ limit: 1 })).rejects.toThrow(reason);
  });

  test.each([
    [0x6969, 'NFS'],
    [-11317950, 'CIFS'],
    [0xff534d42, 'CIFS'],
    [0x01021997, '9p'],
    [0x65735546, 'FUSE'],
    [0xef53, undefined],
    [0x01021994, undefined],
    [0x9123683e, undefined],
  ])('a network: file system %i is %s', (type, name) => {
    expect(networkOf('/var/lib', type)).toBe(name);
    expect(networkOf('\\\\server\\share', type)).toBe('SMB');
  });
});

describe('a file that is deleted while servers have it open', () => {
  const remove = {
    'the file': () => rmSync(path),
    'the file and its logs': () => filesOf(path).map((file) => rmSync(file)),
    'its folder': () => rmSync(join(path, '..'), { recursive: true }),
  };

  test.each(Object.entries(remove))('%s: is written again with all changes, and all go on', async (_what, removeIt) => {
    const stores = [open(), open(), open()];
    const before = await Promise.all(stores.map((store) => begin(store)));
    removeIt();
    const after = await Promise.all([...stores, ...stores].map((store) => begin(store)));
    expect(after.map(({ begun }) => begun.kind)).toEqual(Array(6).fill('begun'));
    const fresh = open();
    for (const { id } of [...before, ...after]) expect(await stateOf(id, fresh)).toBe('begun');
    expect(readdirSync(join(path, '..')).sort()).toEqual(['journal.db', 'journal.db-shm', 'journal.db-wal']);
    expect(filesOf(path).map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
  });

  test('takes the ending of a change that was sent meanwhile', async () => {
    const store = open();
    const { id } = await begin(store);
    remove['the file and its logs']();
    await store.end(id, 'accepted', { status: 200 });
    expect(await stateOf(id)).toBe('accepted');
  });

  test('again and again', async () => {
    const stores = [open(), open()];
    const ids: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      for (const store of stores) ids.push((await begin(store)).id);
      remove['the file']();
    }
    for (const store of stores) ids.push((await begin(store)).id);
    for (const id of ids) expect(await stateOf(id)).toBe('begun');
  });

  test('that was moved away is an older copy, which nobody goes on with', async () => {
    const store = open();
    await begin(store);
    const [moved, found] = [join(folder, 'moved.db'), join(folder, 'found.db')];
    renameSync(path, moved);
    const { id } = await begin(store);
    expect(await stateOf(id)).toBe('begun');
    copyFileSync(moved, found);
    expect(await faultOf(open(found))).toBe('replaced');
  });
});

describe('a file that is replaced while a server has it open', () => {
  test.each([
    ['another journal', async (other: string) => kindOf(open(other))],
    ['a copy of itself', async (other: string) => copyFileSync(path, other)],
    ['an empty file', (other: string) => writeFileSync(other, '')],
    ['a text', (other: string) => writeFileSync(other, 'text')],
  ])('by %s takes no changes, until it is back', async (_what, make) => {
    const store = open();
    const { id } = await begin(store);
    const [other, kept] = [join(folder, 'other.db'), join(folder, 'kept.db')];
    await make(other);
    linkSync(path, kept);
    renameSync(other, path);
    const size = statSync(path).size;
    expect(await begin(store)).toMatchObject({ begun: { kind: 'unwritable' } });
    expect(await faultOf(store)).toBe('replaced');
    const ended = store.end(id, 'accepted', {});
    expect(statSync(path).size).toBe(size);
    expect(store.unwritten()).toBe(1);
    renameSync(kept, path);
    await ended;
    expect(await stateOf(id, store)).toBe('accepted');
    expect(await kindOf(store)).toBe('begun');
  });

  test('keeps the ending of a change in memory, and says so when it closes', async () => {
    const store = open();
    const { id } = await begin(store);
    copyFileSync(path, join(folder, 'other.db'));
    renameSync(join(folder, 'other.db'), path);
    const ended = expect(store.end(id, 'accepted', {})).rejects.toThrow('another file');
    await store.close();
    await ended;
  });
});

describe('a lock of another program', () => {
  const impatient = { longestWaitMs: 500 };
  const lock = async () => {
    const { DatabaseSync } = await loadSqlite();
    const db = new DatabaseSync(path);
    db.exec('begin immediate');
    return () => {
      db.exec('rollback');
      db.close();
    };
  };

  test('that is short is awaited, while other work of the process goes on', async () => {
    const store = open();
    await kindOf(store);
    const unlock = await lock();
    const begun = kindOf(store);
    let turns = 0;
    for (; turns < 20; turns += 1) await new Promise((resolve) => setTimeout(resolve, 5));
    unlock();
    expect(await begun).toBe('begun');
    expect(turns).toBe(20);
  });

  test('that is long lets nothing begin, with a reason; the ending of a change is written when it is gone', async () => {
    const store = open(path, impatient);
    const { id } = await begin(store);
    const approved = newChange({ requestKey: 'other' });
    await store.add(approved, { lifetimeMs, approved: off });
    const unlock = await lock();
    const ended = store.end(id, 'accepted', {});
    const reason = expect.stringMatching(/: another process has locked it$/);
    expect(await store.begin(approved.id, { ifUnknown: {} })).toMatchObject({ kind: 'unwritable', reason });
    expect(await begin(store)).toMatchObject({ begun: { kind: 'unwritable', reason } });
    expect(await stateOf(id, store)).toBe('begun');
    unlock();
    await ended;
    expect(await stateOf(id, store)).toBe('accepted');
    // It was told that nothing was sent, so nothing is sent any more.
    await expect.poll(() => stateOf(approved.id, store)).toBe('not sent');
    expect(await store.begin(approved.id, { ifUnknown: {} })).toEqual({ kind: 'notApproved' });
  });

  test('a decline binds this process at once, and counts, although it is not written yet', async () => {
    const store = open(path, impatient);
    const change = newChange();
    await store.add(change, { lifetimeMs });
    const unlock = await lock();
    const decision = { kind: 'declined', way: 'asked' } as const;
    expect(await store.decide(change.id, decision)).toMatchObject({
      kind: 'decided',
      isUnwritten: true,
      change: { state: 'declined', decision },
    });
    expect(store.unwritten()).toBe(1);
    expect(await store.refused({})).toMatchObject([{ id: change.id, state: 'declined' }]);
    expect(await store.refused({ caller: 'alice' })).toEqual([]);
    expect(await store.waiting({})).toEqual([]);
    expect(await store.decide(change.id, off)).toMatchObject({ kind: 'late', change: { state: 'declined' } });
    expect(await stateOf(change.id)).toBe('waiting');
    unlock();
    await expect.poll(() => stateOf(change.id)).toBe('declined');
    await expect.poll(() => store.unwritten()).toBe(0);
    expect(await store.refused({})).toHaveLength(1);
  });
});

describe.skipIf(process.getuid?.() !== 0)('a full disk', () => {
  const mounted = () => join(folder, 'disk');
  beforeEach(() => {
    mkdirSync(mounted());
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', mounted()]);
  });
  afterEach(() => execFileSync('umount', ['-l', mounted()]));

  test('lets nothing begin, with a reason, and the ending of a change is written when there is room', async () => {
    const at = join(mounted(), 'journal.db');
    const store = open(at);
    const { id } = await begin(store);
    const filling = join(mounted(), 'filling');
    expect(() => writeFileSync(filling, Buffer.alloc(2 * 1024 * 1024))).toThrow('ENOSPC');
    const large = newChange({ requestKey: 'large', args: { text: 'x'.repeat(100_000) } });
    expect(await store.add(large, { lifetimeMs, approved: off })).toMatchObject({
      kind: 'unwritable',
      reason: expect.stringMatching(/: the disk is full$/),
    });
    const outcome = {
      kind: 'succeeded',
      success: { summary: large.accept, warnings: [], requestIds: {}, answer: { text: 'x'.repeat(100_000) } },
    } as const;
    const ended = store.end(id, 'accepted', { outcome });
    await expect.poll(() => store.unwritten()).toBeGreaterThan(0);
    expect(await stateOf(id, store)).toBe('begun');
    rmSync(filling);
    await ended;
    expect(await stateOf(id, store)).toBe('accepted');
    expect(existsSync(at)).toBe(true);
  });

  test('whose disk is read-only lets nothing begin', async () => {
    const at = join(mounted(), 'journal.db');
    const store = open(at);
    const { id } = await begin(store);
    const readOnly = join(folder, 'read-only');
    mkdirSync(readOnly);
    execFileSync('mount', ['--bind', mounted(), readOnly]);
    execFileSync('mount', ['-o', 'remount,bind,ro', readOnly]);
    const other = open(join(readOnly, 'journal.db'));
    expect((await begin(other)).begun).toMatchObject({ kind: 'unwritable' });
    expect(await faultOf(other)).toBe('readOnly');
    expect(await stateOf(id, other)).toBe('begun');
    execFileSync('umount', ['-l', readOnly]);
  });
});
