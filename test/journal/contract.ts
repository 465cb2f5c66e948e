import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { abandonedMs, duplicateWindowMs } from '../../src/journal/conflict.js';
import type { Journal } from '../../src/journal/journal.js';
import { recoverInterrupted } from '../../src/journal/recovery.js';
import { endingOf, intentAt } from '../support/journal.js';

/** Where journals of a test are kept. */
export interface Store {
  /** Another process's view of the journal of that name. */
  open(name: string, now: () => Date): Journal;
  remove(): void;
}

/** What every journal does, wherever it is kept. Each opened journal stands for a process. */
export function describeJournal(prepare: () => Promise<Store> | Store): void {
  let store: Store;
  let time: number;
  let journal: Journal;
  let opened: Journal[] = [];
  let number = 0;
  beforeAll(async () => {
    store = await prepare();
  }, 120_000);
  afterAll(() => store.remove());
  beforeEach(() => {
    number += 1;
    time = Date.parse('2026-11-20T12:00:00Z');
    journal = open();
  });
  afterEach(async () => {
    await Promise.all(opened.map((each) => each.close()));
    opened = [];
  });

  const now = () => new Date(time);
  /** Another process's view of the same journal. */
  const open = () => {
    const another = store.open(`journal_${number}`, now);
    opened.push(another);
    return another;
  };
  const intent = (changes: Parameters<typeof intentAt>[1] = {}) => intentAt(time, changes);
  const begin = (changes: Parameters<typeof intentAt>[1] = {}, allowRepeat = false) =>
    journal.begin(intent(changes), { allowRepeat });
  const ending = (id: string, outcome: Parameters<typeof endingOf>[2]) => endingOf(time, id, outcome);

  test('gives back what was written down, oldest first, to any process', async () => {
    const first = intent({ nonce: 'n', client: 'x\u0000 "\ud800 日誌' });
    const second = intent({ digest: 'other' });
    expect(await journal.begin(first, { allowRepeat: false })).toEqual({ kind: 'begun' });
    expect(await journal.begin(second, { allowRepeat: false })).toEqual({ kind: 'begun' });
    const end = { ...ending(first.id, 'accepted'), status: 200, code: 'c', requestIds: { 'x-request-id': 'r' } };
    await journal.end(end);
    expect(await open().list({})).toEqual([{ ...first, ending: end }, second]);
  });

  describe('the same mutation again', () => {
    test.each([
      ['accepted', 'duplicate'],
      ['unknown', 'duplicate'],
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
      expect((await begin()).kind).toBe('duplicate');
      expect((await begin({}, true)).kind).toBe('begun');
    });

    test.each([
      [duplicateWindowMs - 1000, 'duplicate'],
      [duplicateWindowMs + 1000, 'begun'],
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
      time += duplicateWindowMs;
      await journal.end(ending(first.id, 'unknown'));
      time += 60_000;
      expect((await begin()).kind).toBe('duplicate');
    });

    test("one that was stopped stands in nobody's way", async () => {
      await begin({ digest: 'a' });
      expect((await begin({ digest: 'a', nonce: 'n' })).kind).toBe('duplicate');
      expect((await begin({ digest: 'a', nonce: 'n' }, true)).kind).toBe('begun');
    });
  });

  test('consent is used once, whatever came of it, also by another process and after a restart', async () => {
    const first = intent({ nonce: 'n' });
    await journal.begin(first, { allowRepeat: false });
    await journal.end(ending(first.id, 'rejected'));
    const other = open();
    expect(await other.begin(intent({ nonce: 'n', digest: 'other' }), { allowRepeat: true })).toEqual({
      kind: 'consentUsed',
    });
  });

  test('of many at once, one may go ahead', async () => {
    const journals = Array.from({ length: 8 }, open);
    const begun = await Promise.all(journals.map((each) => each.begin(intent(), { allowRepeat: false })));
    expect(begun.filter(({ kind }) => kind === 'begun')).toHaveLength(1);
  });

  test('consent that was not used up, because nothing was sent, may be used again', async () => {
    const first = intent({ nonce: 'n' });
    await journal.begin(first, { allowRepeat: false });
    await journal.end(ending(first.id, 'not sent'));
    expect((await begin({ nonce: 'n' })).kind).toBe('begun');
  });

  test('of many at once with one consent, one may go ahead', async () => {
    const journals = Array.from({ length: 8 }, open);
    const begun = await Promise.all(
      journals.map((each, index) => each.begin(intent({ nonce: 'n', digest: `d${index % 2}` }), { allowRepeat: true })),
    );
    expect(begun.map(({ kind }) => kind).sort()).toEqual(['begun', ...Array(7).fill('consentUsed')]);
  });

  test('one that may be a repetition counts as one itself, and does not make others forget the first', async () => {
    const first = intent();
    await journal.begin(first, { allowRepeat: false });
    const second = intent();
    expect((await journal.begin(second, { allowRepeat: true })).kind).toBe('begun');
    await journal.end(ending(second.id, 'rejected'));
    expect((await begin()).kind).toBe('duplicate');
    await journal.end(ending(first.id, 'rejected'));
    expect((await begin()).kind).toBe('begun');
  });

  test('an intent that is still under way blocks for as long as a call can take, and no longer', async () => {
    await begin();
    time += abandonedMs - 1000;
    expect((await begin()).kind).toBe('duplicate');
    time += 2000;
    expect((await begin()).kind).toBe('begun');
  });

  test('what is still open is read, however old it is', async () => {
    await begin();
    time += 3 * 24 * 60 * 60 * 1000;
    expect(await journal.listOpen()).toHaveLength(1);
  });

  test('an intent without an outcome is an orphan when its process is gone; a later outcome of its own is what counts', async () => {
    const done = intent({ digest: 'done' });
    await journal.begin(done, { allowRepeat: false });
    await journal.end(ending(done.id, 'accepted'));
    const gone = intent({ digest: 'gone', process: { pid: 2, host: 'here' } });
    await journal.begin(gone, { allowRepeat: false });
    await begin({ digest: 'running' });
    const isGone = ({ process: { pid } }: { process: { pid: number } }) => pid === 2;
    expect((await journal.listOpen()).filter(isGone).map(({ digest }) => digest)).toEqual(['gone']);
    await journal.end(ending(gone.id, 'unknown'));
    await journal.end(ending(gone.id, 'accepted'));
    expect((await journal.list({})).find(({ id }) => id === gone.id)?.ending?.outcome).toBe('accepted');
  });

  test('two servers that settle what a third left open do not disturb each other; a pid says nothing of another host', async () => {
    await begin({ process: { pid: process.pid, host: 'gone' } });
    const settle = (host: string) =>
      recoverInterrupted({
        journal: open(),
        process: { pid: process.pid, host },
        started: now(),
        now,
        timeoutMs: 60_000,
        log: () => undefined,
      });
    time += 119_000;
    expect(await settle('here')).toEqual([]);
    time += 2_000;
    const told = await Promise.all([settle('here'), settle('there')]);
    expect(told.flat().length).toBeGreaterThan(0);
    expect(await journal.list({})).toMatchObject([{ ending: { outcome: 'unknown', code: 'ProcessEnded' } }]);
    expect(await settle('here')).toEqual([]);
  });
}
