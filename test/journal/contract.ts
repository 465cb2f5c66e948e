import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { abandonedMs, duplicateWindowMs } from '../../src/journal/conflict.js';
import type { Journal, ListChangesOptions } from '../../src/journal/journal.js';
import { recoverInterrupted } from '../../src/journal/recovery.js';
import { endingOf, intentAt } from '../support/journal.js';

/** The place for the journals of a test. */
export interface Store {
  /** Another process's view of the journal of that name. */
  open(name: string, now: () => Date): Journal;
  /** What operators are told of every journal here. */
  readonly warnings: readonly unknown[];
  remove(): void;
}

/** The rules of every journal, in a file or a database. Each opened journal stands for a process. */
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
  const begin = (changes: Parameters<typeof intentAt>[1] = {}, allowRepeat: string | boolean = false) =>
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

  test('can be checked before the first change, which leaves no entry', async () => {
    expect(await journal.healthCheck()).toEqual(store.warnings);
    expect(await journal.list({})).toEqual([]);
  });

  describe('the same change again', () => {
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
      await begin({ id: 'first' });
      expect((await begin()).kind).toBe('duplicate');
      expect((await begin({}, 'first')).kind).toBe('begun');
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
      await begin({ digest: 'a', id: 'first' });
      expect((await begin({ digest: 'a', nonce: 'n' })).kind).toBe('duplicate');
      expect((await begin({ digest: 'a', nonce: 'n' }, 'first')).kind).toBe('begun');
    });

    test('one that may repeat a certain change may repeat no later one', async () => {
      await begin({ digest: 'a', id: 'first' });
      expect((await begin({ digest: 'a', id: 'second' }, 'first')).kind).toBe('begun');
      expect(await begin({ digest: 'a' }, 'first')).toMatchObject({ kind: 'duplicate', earlier: { id: 'second' } });
    });
  });

  test('consent is used once, whatever came of it, also by another process and after a restart', async () => {
    const first = intent({ nonce: 'n' });
    await journal.begin(first, { allowRepeat: false });
    await journal.end(ending(first.id, 'rejected'));
    const other = open();
    expect(await other.begin(intent({ nonce: 'n', digest: 'other' }), { allowRepeat: 'other' })).toEqual({
      kind: 'consentUsed',
    });
  });

  test('the change that consent was used for, or refused with, is found by its nonce', async () => {
    const unsent = intent({ nonce: 'unsent', digest: 'unsent' });
    for (const each of [unsent, intent({ nonce: 'agreed', digest: 'agreed' })])
      await journal.begin(each, { allowRepeat: false });
    await journal.end(ending(unsent.id, 'not sent'));
    await journal.decline(intent({ nonce: 'refused', digest: 'refused' }));
    const found = async (nonce: string) => (await open().findByNonce(nonce))?.digest;
    expect(await Promise.all(['agreed', 'refused', 'unsent', 'another'].map(found))).toEqual([
      'agreed',
      'refused',
      undefined,
      undefined,
    ]);
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
      journals.map((each, index) =>
        each.begin(intent({ nonce: 'n', digest: `d${index % 2}` }), { allowRepeat: 'other' }),
      ),
    );
    expect(begun.map(({ kind }) => kind).sort()).toEqual(['begun', ...Array(7).fill('consentUsed')]);
  });

  test('one that may be a repetition counts as one itself, and does not make others forget the first', async () => {
    const first = intent();
    await journal.begin(first, { allowRepeat: false });
    const second = intent();
    expect((await journal.begin(second, { allowRepeat: first.id })).kind).toBe('begun');
    await journal.end(ending(second.id, 'rejected'));
    expect((await begin()).kind).toBe('duplicate');
    await journal.end(ending(first.id, 'rejected'));
    expect((await begin()).kind).toBe('begun');
  });

  describe('a change that a person declined', () => {
    const decline = (changes: Parameters<typeof intentAt>[1] = {}) => journal.decline(intent(changes));

    test('is in the journal, and in the way of nothing but its own consent', async () => {
      expect(await decline({ nonce: 'n', consent: 'clicked', answeredAfterMs: 900 })).toBe(true);
      expect(await open().list({})).toMatchObject([
        { nonce: 'n', consent: 'clicked', answeredAfterMs: 900, ending: { outcome: 'declined' } },
      ]);
      expect(await journal.listUnfinished()).toEqual([]);
      expect(await journal.findDuplicate('same')).toBeUndefined();
      expect((await begin({ nonce: 'other' })).kind).toBe('begun');
    });

    test('spends its consent, for any process', async () => {
      await decline({ nonce: 'n' });
      expect(await open().begin(intent({ nonce: 'n' }), { allowRepeat: 'other' })).toEqual({ kind: 'consentUsed' });
      expect(await open().decline(intent({ nonce: 'n' }))).toBe(false);
      expect(await journal.listDeclined(0, undefined)).toEqual(['same']);
      const endings = (await journal.list({})).map(({ ending: each }) => [each?.outcome, each?.code]);
      expect(endings).toEqual([['declined', undefined], ...Array(2).fill(['not sent', 'consentUsed'])]);
    });

    test('cannot be declined after it was agreed to', async () => {
      const agreed = intent({ nonce: 'n' });
      await journal.begin(agreed, { allowRepeat: false });
      expect(await open().decline(intent({ nonce: 'n' }))).toBe(false);
      expect(await journal.listDeclined(0, undefined)).toEqual([]);
      expect((await journal.listUnfinished()).map(({ id }) => id)).toEqual([agreed.id]);
    });

    test('and agreed to at the same time is one or the other', async () => {
      const journals = Array.from({ length: 6 }, open);
      const results = await Promise.all(
        journals.map(async (each, index) =>
          index % 2 === 0
            ? each.decline(intent({ nonce: 'n' }))
            : (await each.begin(intent({ nonce: 'n' }), { allowRepeat: 'other' })).kind === 'begun',
        ),
      );
      expect(results.filter(Boolean)).toHaveLength(1);
    });

    test('counts for its caller since a time', async () => {
      for (const caller of ['alice', 'alice', 'bob', undefined]) await decline({ caller });
      time += 60_000;
      await decline({ caller: 'alice' });
      await journal.begin(intent({ caller: 'alice', digest: 'other' }), { allowRepeat: false });
      const counted = async (since: number, ...callers: readonly (string | undefined)[]) =>
        Promise.all(callers.map(async (caller) => (await open().listDeclined(since, caller)).length));
      expect(await counted(time - 60_000, 'alice', 'bob', undefined, 'carol')).toEqual([3, 1, 1, 0]);
      expect(await counted(time, 'alice', 'bob', undefined)).toEqual([1, 0, 0]);
    });

    test('does not count if its caller withdrew it or a program answered', async () => {
      await decline({ consent: 'withdrawn', digest: 'withdrawn' });
      await decline({ consent: 'program', digest: 'program' });
      await decline({ digest: 'declined' });
      expect(await journal.listDeclined(0, undefined)).toEqual(['declined']);
    });

    test('counts for its client where callers have no names, and only there', async () => {
      const long = 'long '.repeat(1000);
      for (const client of ['agent', 'agent', long]) await decline({ client });
      await decline({ client: 'agent', caller: 'alice' });
      const counted = async (caller: string | undefined, client?: string) =>
        (await open().listDeclined(time - 60_000, caller, client)).length;
      expect([await counted(undefined, 'agent'), await counted(undefined, long)]).toEqual([2, 1]);
      expect([await counted(undefined, 'another'), await counted(undefined)]).toEqual([0, 3]);
      expect(await counted('alice', 'another')).toBe(1);
    });
  });

  describe('a budget', () => {
    const budget = { mostChanges: 2, windowMs: 3_600_000 };
    const spend = (changes: Parameters<typeof intentAt>[1] = {}, by = journal) =>
      by.begin(intent({ digest: `${Math.random()}`, budget: 'b', ...changes }), { allowRepeat: false, budget });

    test('of two changes lets a third one begin when one was rejected', async () => {
      const first = intent({ digest: 'first', budget: 'b' });
      await journal.begin(first, { allowRepeat: false, budget });
      expect((await spend()).kind).toBe('begun');
      expect(await spend()).toMatchObject({ kind: 'budgetSpent', left: 0, nextAt: expect.any(Number) });
      expect(await open().budgetState('b', budget)).toMatchObject({ left: 0 });
      await journal.end(ending(first.id, 'rejected'));
      expect(await open().budgetState('b', budget)).toEqual({ left: 1 });
      expect((await spend({}, open())).kind).toBe('begun');
    });

    test('is another one with another key, and counts what was begun without a limit', async () => {
      await begin({ digest: 'one', budget: 'b' });
      await begin({ digest: 'two', budget: 'b' });
      expect((await spend()).kind).toBe('budgetSpent');
      expect((await spend({ budget: 'other' })).kind).toBe('begun');
    });

    test('that is not spent lets no change begin that is in conflict with another', async () => {
      await spend({ digest: 'same', nonce: 'n' });
      expect((await spend({ digest: 'same' })).kind).toBe('duplicate');
      expect((await spend({ nonce: 'n' })).kind).toBe('consentUsed');
    });

    test('that is spent leaves consent unspent', async () => {
      await spend();
      await spend();
      expect((await spend({ nonce: 'n' })).kind).toBe('budgetSpent');
      expect((await begin({ digest: 'later', nonce: 'n' })).kind).toBe('begun');
    });

    test('lets no more begin of many at once, in several processes', async () => {
      const journals = [journal, open(), open()];
      const all = journals.flatMap((each) => Array.from({ length: 4 }, () => spend({}, each)));
      const kinds = (await Promise.all(all)).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === 'begun')).toHaveLength(2);
      expect(kinds.filter((kind) => kind !== 'begun')).toEqual(Array(kinds.length - 2).fill('budgetSpent'));
    });
  });

  describe('the list', () => {
    test('gives the newest 50, or as many as it is asked for, oldest first', async () => {
      const digests = Array.from({ length: 53 }, (_, index) => `${index}`);
      for (const digest of digests) await begin({ digest });
      const listed = async (options: ListChangesOptions) => (await journal.list(options)).map(({ digest }) => digest);
      expect(await listed({})).toEqual(digests.slice(3));
      expect(await listed({ limit: 2 })).toEqual(['51', '52']);
      expect(await listed({ limit: 100 })).toEqual(digests);
    });

    test('of a caller has nothing of others, however alike their names are', async () => {
      const long = 'x'.repeat(5000);
      const callers = ['alice', 'alice2', 'ALICE', 'a\u0000lice', '"alice"', `${long}1`, `${long}2`, '', undefined];
      for (const [index, caller] of callers.entries()) await begin({ caller, digest: `${index}` });
      for (const [index, caller] of callers.entries())
        if (caller !== undefined)
          expect((await journal.list({ caller })).map(({ digest }) => digest)).toEqual([`${index}`]);
      expect(await journal.list({})).toHaveLength(callers.length);
    });
  });

  test('an intent that is still under way blocks however old it seems, until it ends', async () => {
    const first = intent();
    await journal.begin(first, { allowRepeat: false });
    time += 10 * abandonedMs;
    expect((await begin()).kind).toBe('duplicate');
    await journal.end(ending(first.id, 'rejected'));
    expect((await begin()).kind).toBe('begun');
  });

  test('what is still open is read, however old it is', async () => {
    await begin();
    time += 3 * 24 * 60 * 60 * 1000;
    expect(await journal.listUnfinished()).toHaveLength(1);
  });

  test('an intent without an outcome is an orphan when its process is gone; a later outcome of its own is what counts', async () => {
    const done = intent({ digest: 'done' });
    await journal.begin(done, { allowRepeat: false });
    await journal.end(ending(done.id, 'accepted'));
    const gone = intent({ digest: 'gone', process: { pid: 2, host: 'here' } });
    await journal.begin(gone, { allowRepeat: false });
    await begin({ digest: 'running' });
    const isGone = ({ process: { pid } }: { process: { pid: number } }) => pid === 2;
    expect((await journal.listUnfinished()).filter(isGone).map(({ digest }) => digest)).toEqual(['gone']);
    await journal.end(ending(gone.id, 'unknown'));
    await journal.end(ending(gone.id, 'accepted'));
    expect((await journal.list({})).find(({ id }) => id === gone.id)?.ending?.outcome).toBe('accepted');
  });

  test('of two processes that end an unfinished change, the first is told that it did; none replaces an outcome', async () => {
    const [gone, done] = [intent({ digest: 'gone' }), intent({ digest: 'done' })];
    for (const each of [gone, done]) await journal.begin(each, { allowRepeat: false });
    const others = [open(), open()];
    expect(await others[0]?.tryEnd(ending(gone.id, 'unknown'))).toBe(true);
    expect(await others[1]?.tryEnd({ ...ending(gone.id, 'unknown'), code: 'later' })).toBe(false);
    await journal.end(ending(done.id, 'accepted'));
    expect(await others[1]?.tryEnd(ending(done.id, 'unknown'))).toBe(false);
    const [first, second] = await journal.list({});
    expect([first?.ending, second?.ending?.outcome]).toEqual([ending(gone.id, 'unknown'), 'accepted']);
  });

  test('two servers that recover what a third left open do not disturb each other; a pid says nothing of another host', async () => {
    await begin({ process: { pid: process.pid, host: 'gone' } });
    const recover = (host: string) =>
      recoverInterrupted({
        journal: open(),
        process: { pid: process.pid, host },
        started: now(),
        uptimeMs: () => 0,
        now,
        timeoutMs: 60_000,
        log: () => undefined,
        errorLevel: 'warn',
      });
    time += 119_000;
    expect(await recover('here')).toEqual([]);
    time += 2_000;
    const told = await Promise.all([recover('here'), recover('there')]);
    expect(told.flat().length).toBeGreaterThan(0);
    expect(await journal.list({})).toMatchObject([{ ending: { outcome: 'unknown', code: 'ProcessEnded' } }]);
    expect(await recover('here')).toEqual([]);
  });
}
