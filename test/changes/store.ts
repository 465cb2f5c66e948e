import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Change, Decision, EndState, NewChange, OfCaller } from '../../src/changes/change.js';
import { duplicateWindowMs, keptMs } from '../../src/changes/change-table.js';
import type { Changes } from '../../src/changes/store.js';
import { leaseMs, type Process } from '../../src/changes/system.js';
import { say } from '../../src/util/safe-text.js';
import { asking, newChange, processOn } from '../support/changes.js';

/** The place for the stores of a test. */
export interface Place {
  /** Another process's view of the store of that name. */
  open(name: string, now: () => Date, process: Process): Changes;
  remove(): Promise<void> | void;
}

const minute = 60_000;
const lifetimeMs = 30 * minute;
const yes: Decision = { kind: 'approved', way: 'confirmed' };
const no: Decision = { kind: 'declined', way: 'asked', answeredAfterMs: 900 };

/** The rules of every store, in a file or a database. Each opened store stands for a process on a host of its own. */
export function describeStore(prepare: () => Promise<Place> | Place): void {
  let place: Place;
  let time: number;
  let store: Changes;
  let opened: Changes[] = [];
  let number = 0;
  beforeAll(async () => {
    place = await prepare();
  });
  afterAll(() => place.remove());
  beforeEach(() => {
    number += 1;
    time = Date.parse('2026-11-20T12:00:00Z');
    store = open();
  });
  afterEach(async () => {
    await Promise.all(opened.map((each) => each.close()));
    opened = [];
  });

  const now = () => new Date(time);
  /** Another process's view of the same store. */
  const open = (process = processOn(`host-${opened.length}`)) => {
    const another = place.open(`store_${number}`, now, process);
    opened.push(another);
    return another;
  };
  const add = async (changes: Partial<NewChange> = {}, by = store, options = {}) => {
    const change = newChange(changes);
    const added = await by.add(change, { lifetimeMs, ...options });
    if (added.kind !== 'added') throw new Error(added.kind);
    return change.id;
  };
  const approve = async (changes: Partial<NewChange> = {}, by = store) => {
    const id = await add(changes, by);
    await by.decide(id, yes);
    return id;
  };
  const begin = async (changes: Partial<NewChange> = {}, by = store) => {
    const id = await approve(changes, by);
    return { id, begun: await by.begin(id, { ifUnknown: {} }) };
  };
  /** A change that was sent, with its end. */
  const carryOut = async (state: EndState, changes: Partial<NewChange> = {}, by = store) => {
    const { id } = await begin(changes, by);
    await by.end(id, state, {});
    return id;
  };
  const kindOf = async (changes: Partial<NewChange> = {}, by = store) => (await begin(changes, by)).begun.kind;
  const decline = async (changes: Partial<NewChange> = {}, decision = no, by = store) => {
    const id = await add(changes, by);
    await by.decide(id, decision);
    return id;
  };
  const stateOf = async (id: string, by = store) => (await by.find(id))?.state;
  const ids = (changes: readonly Pick<Change, 'id'>[]) => changes.map(({ id }) => id);

  describe('a change', () => {
    test('is read as it was written, by any process, with texts that databases refuse or cut', async () => {
      const odd = 'x\u0000 "\ud800 日誌\n\u202e';
      const change = newChange({
        ...asking,
        caller: odd,
        client: odd,
        account: odd,
        scopes: [odd],
        agent: { clientId: odd, actors: [odd] },
        args: { [odd]: [odd, null, 1.5, { nested: false }] },
        subject: { digest: 'd', name: odd },
        what: odd,
        target: odd,
        proof: 'p',
        typedName: odd,
        accept: say`Create ${odd}`,
        plan: { ...newChange().plan, body: { [odd]: odd }, warnings: [say`a ${odd}`] },
      });
      await store.add(change, { lifetimeMs });
      const waiting = { ...change, state: 'waiting', madeAt: time, expiresAt: time + lifetimeMs, ageMs: 0 };
      expect(await open().find(change.id)).toMatchObject({ ...waiting, isExpired: false });
      time += 1000;
      const decision: Decision = { ...yes, person: odd, reason: odd, answeredAfterMs: 12, isDismissed: false };
      await store.decide(change.id, decision);
      time += 1000;
      await store.begin(change.id, { ifUnknown: {} });
      time += 1000;
      const ending = {
        status: 200,
        code: odd,
        keyId: odd,
        requestIds: { [odd]: odd },
        failed: { count: 2, codes: [odd] },
        outcome: {
          kind: 'succeeded',
          success: { summary: say`It ${odd}.`, warnings: [], requestIds: { [odd]: odd }, answer: { [odd]: odd } },
        },
      } as const;
      await store.end(change.id, 'partly', ending);
      time += 1000;
      expect(await open().find(change.id)).toMatchObject({
        ...waiting,
        state: 'partly',
        decision,
        decidedAt: time - 3000,
        begunAt: time - 2000,
        ending,
        endedAt: time - 1000,
        ageMs: 4000,
        decidedAgoMs: 3000,
      });
    });

    test.each(['', 'other', 'a\u0000b', 'x'.repeat(5000), '\ud800', "' or true --"])(
      'is not found by %j',
      async (id) => {
        await add({ id: 'a' });
        expect(await store.find(id)).toBeUndefined();
        expect(await store.decide(id, yes)).toEqual({ kind: 'gone' });
        expect(await store.begin(id, { ifUnknown: {} })).toEqual({ kind: 'notApproved' });
      },
    );

    test('that is too long for a row is refused', async () => {
      const long = newChange({ args: { script: 'x'.repeat(1024 * 1024) } });
      expect(await store.add(long, { lifetimeMs })).toEqual({ kind: 'tooLong' });
      expect(await store.find(long.id)).toBeUndefined();
    });
  });

  describe('a decision', () => {
    test.each([
      [yes, 'approved'],
      [no, 'declined'],
      [{ kind: 'withdrawn', way: 'withdrawn' }, 'withdrawn'],
    ] as const)('%j is the first one, and stands', async (decision, state) => {
      const id = await add();
      expect(await open().decide(id, decision)).toMatchObject({ kind: 'decided', change: { state, decision } });
      for (const other of [yes, no])
        expect(await store.decide(id, other)).toMatchObject({ kind: 'late', change: { state } });
      expect(await stateOf(id)).toBe(state);
    });

    test('of many at once counts once', async () => {
      const id = await add();
      const stores = Array.from({ length: 6 }, () => open());
      const decided = await Promise.all(stores.map((each, index) => each.decide(id, index % 2 === 0 ? yes : no)));
      expect(decided.filter(({ kind }) => kind === 'decided')).toHaveLength(1);
      expect(decided.filter(({ kind }) => kind === 'late')).toHaveLength(5);
    });

    test('is carried out by the process that took it, once', async () => {
      const id = await add();
      const other = open();
      await other.decide(id, yes);
      expect(await store.begin(id, { ifUnknown: {} })).toEqual({ kind: 'notApproved' });
      expect(await stateOf(id)).toBe('approved');
      const begun = await Promise.all([other.begin(id, { ifUnknown: {} }), other.begin(id, { ifUnknown: {} })]);
      expect(begun.map(({ kind }) => kind).sort()).toEqual(['begun', 'notApproved']);
    });

    test.each(['waiting', 'declined', 'withdrawn'])('is needed to begin: not a change that is %s', async (state) => {
      const id = await add();
      if (state === 'declined') await store.decide(id, no);
      if (state === 'withdrawn') await store.decide(id, { kind: 'withdrawn', way: 'withdrawn' });
      expect(await store.begin(id, { ifUnknown: {} })).toEqual({ kind: 'notApproved' });
      expect(await stateOf(id)).toBe(state);
    });

    test('is too late for an expired plan, which is erased an hour later', async () => {
      const id = await add();
      time += lifetimeMs;
      expect(await store.decide(id, yes)).toMatchObject({
        kind: 'late',
        change: { state: 'waiting', isExpired: true },
      });
      expect(await store.waiting({})).toEqual([]);
      expect((await store.waiting({})).length).toBe(0);
      await store.erase();
      expect(await store.find(id)).toMatchObject({ isExpired: true });
      time += keptMs + 1;
      await store.erase();
      expect(await store.find(id)).toBeUndefined();
    });
  });

  describe('a replaced plan', () => {
    test('is withdrawn with the new one', async () => {
      const first = await add(asking);
      const second = newChange(asking);
      expect(await store.add(second, { lifetimeMs, replaces: first })).toMatchObject({ kind: 'added', replaced: true });
      expect(await store.find(first)).toMatchObject({ state: 'withdrawn', decision: { way: 'withdrawn' } });
    });
  });

  describe('waiting plans', () => {
    test('for a person are at most twenty for each caller, and one may replace another', async () => {
      for (let index = 0; index < 20; index += 1) await add({ ...asking, caller: 'alice' });
      const [oldest] = await store.waiting({});
      const another = newChange({ ...asking, caller: 'alice' });
      expect(await store.add(another, { lifetimeMs })).toEqual({ kind: 'tooMany' });
      expect(await store.find(another.id)).toBeUndefined();
      expect(await store.add(another, { lifetimeMs, replaces: oldest?.id })).toMatchObject({ kind: 'added' });
      await add({ ...asking, caller: 'bob' });
      await add({ caller: 'alice' });
      expect(await store.waiting({ caller: 'alice' })).toHaveLength(21);
      time += lifetimeMs;
      await add({ ...asking, caller: 'alice' });
    });

    test('that no person is asked about are at most a hundred for each caller: the oldest make room', async () => {
      const all: string[] = [];
      for (let index = 0; index < 103; index += 1) {
        time += 1;
        all.push(await add({ caller: 'alice' }));
      }
      time += 1;
      const asked = await add({ ...asking, caller: 'alice' });
      expect(ids(await store.waiting({ caller: 'alice' }))).toEqual([...all.slice(3), asked]);
    });

    test('of many processes at once keep the limit', async () => {
      const stores = Array.from({ length: 4 }, () => open());
      const added = await Promise.all(
        stores.flatMap((each) => Array.from({ length: 8 }, () => each.add(newChange(asking), { lifetimeMs }))),
      );
      expect(added.filter(({ kind }) => kind === 'added')).toHaveLength(20);
      expect((await store.waiting({})).length).toBe(20);
    });

    test('are listed oldest first, for a caller or a client', async () => {
      const long = 'x'.repeat(5000);
      const callers = ['alice', 'alice2', 'ALICE', 'a\u0000lice', '"alice"', `${long}1`, `${long}2`, '', 'null'];
      const all: string[] = [];
      for (const caller of callers) {
        time += 1;
        all.push(await add({ caller }));
      }
      for (const [index, caller] of callers.entries())
        expect(ids(await store.waiting({ caller }))).toEqual([all[index]]);
      time += 1;
      const unnamed = await add({ client: 'one' });
      expect(ids(await store.waiting({}))).toEqual([...all, unnamed]);
      const of = async (caller: OfCaller) => ids(await store.waiting(caller));
      expect(await of({ caller: null })).toEqual([unnamed]);
      expect(await of({ caller: null, client: 'one' })).toEqual([unnamed]);
      expect(await of({ caller: null, client: 'two' })).toEqual([]);
      expect(await of({ caller: 'alice', client: 'two' })).toEqual([all[0]]);
    });
  });

  describe('the same change again', () => {
    test.each([
      ['accepted', 'duplicate'],
      ['partly', 'duplicate'],
      ['unknown', 'duplicate'],
      ['rejected', 'begun'],
      ['not sent', 'begun'],
    ] as const)('after one that was %s: %s', async (state, kind) => {
      const first = await carryOut(state);
      const found = await open().duplicateOf('same');
      expect(found?.id).toBe(kind === 'duplicate' ? first : undefined);
      expect(await kindOf({}, open())).toBe(kind);
      expect(await kindOf({ requestKey: 'other' })).toBe('begun');
    });

    test('while one is under way repeats it, at any age', async () => {
      const { id } = await begin();
      expect(await begin()).toMatchObject({ begun: { kind: 'duplicate', earlier: { id } } });
      time += 300 * minute;
      expect(await kindOf()).toBe('duplicate');
      await store.end(id, 'rejected', {});
      expect(await kindOf()).toBe('begun');
    });

    test.each([
      [duplicateWindowMs - 1000, 'duplicate'],
      [duplicateWindowMs + 1000, 'begun'],
    ])('%i ms after the end: %s', async (later, kind) => {
      const { id } = await begin();
      time += duplicateWindowMs;
      await store.end(id, 'unknown', {});
      time += later;
      expect(await kindOf()).toBe(kind);
    });

    test('may repeat the change that its plan named, or any, but no later one', async () => {
      const first = await carryOut('accepted');
      time += 1;
      const { id: second, begun } = await begin({ repeats: first });
      expect(begun.kind).toBe('begun');
      expect(await begin({ repeats: first })).toMatchObject({ begun: { kind: 'duplicate', earlier: { id: second } } });
      expect(await kindOf({ repeats: '' })).toBe('duplicate');
      time += 1;
      expect(await kindOf({ repeats: second })).toBe('begun');
      expect(await kindOf({ repeats: true })).toBe('begun');
    });

    test('of many at once in several processes, one begins', async () => {
      const stores = Array.from({ length: 8 }, () => open());
      const all = await Promise.all(stores.map(async (each) => ({ each, id: await approve({}, each) })));
      const kinds = await Promise.all(all.map(async ({ each, id }) => (await each.begin(id, { ifUnknown: {} })).kind));
      expect(kinds.sort()).toEqual(['begun', ...Array(7).fill('duplicate')]);
    });
  });

  describe('a budget', () => {
    const budget = { mostChanges: 2, windowMs: 60 * minute };
    const spend = async (changes: Partial<NewChange> = {}, by = store) => {
      const id = await approve({ requestKey: newChange().id, ...changes }, by);
      return { id, begun: await by.begin(id, { budget, ifUnknown: {} }) };
    };

    test('of two changes lets a third begin when one was rejected, or when one left the window', async () => {
      const { id } = await spend();
      time += minute;
      await spend();
      expect(await open().budgetState('b', budget)).toEqual({ left: 0, nextAt: time + 59 * minute });
      const smaller = { ...budget, mostChanges: 1 };
      expect(await store.budgetState('b', smaller)).toEqual({ left: 0, nextAt: time + 60 * minute });
      const third = await spend();
      expect(third.begun).toEqual({ kind: 'budgetSpent', budget, left: 0, nextAt: time + 59 * minute });
      expect(await store.find(third.id)).toMatchObject({ state: 'not sent', ending: { code: 'budgetSpent' } });
      await store.end(id, 'rejected', {});
      expect(await store.budgetState('b', budget)).toMatchObject({ left: 1 });
      expect((await spend({}, open())).begun.kind).toBe('begun');
      time += 60 * minute;
      expect((await spend()).begun.kind).toBe('begun');
    });

    test('is another one with another key, counts what began without a limit, and may allow nothing', async () => {
      await begin({ requestKey: 'one' });
      await begin({ requestKey: 'two' });
      expect((await spend()).begun.kind).toBe('budgetSpent');
      expect((await spend({ budget: 'other' })).begun.kind).toBe('begun');
      const nothing = { mostChanges: 0, windowMs: minute };
      expect(await store.budgetState('new', nothing)).toEqual({ left: 0, nextAt: undefined });
    });

    test('lets no more begin of many at once, in several processes', async () => {
      const stores = [store, open(), open()];
      const all = stores.flatMap((each) => Array.from({ length: 4 }, () => spend({}, each)));
      const kinds = (await Promise.all(all)).map(({ begun }) => begun.kind);
      expect(kinds.filter((kind) => kind === 'begun')).toHaveLength(2);
    });
  });

  describe('an ending', () => {
    const every: readonly EndState[] = ['accepted', 'partly', 'rejected', 'not sent', 'unknown'];
    const arrows: Readonly<Record<string, readonly EndState[]>> = {
      waiting: [],
      approved: ['not sent'],
      begun: every,
      accepted: [],
      partly: [],
      rejected: [],
      'not sent': [],
      unknown: ['accepted', 'partly', 'rejected'],
      declined: [],
      withdrawn: [],
    };
    const reach = async (state: string): Promise<string> => {
      if (state === 'waiting') return add();
      if (state === 'approved') return approve();
      if (state === 'declined') return decline();
      if (state === 'withdrawn') return decline({}, { kind: 'withdrawn', way: 'withdrawn' });
      const end = every.find((each) => each === state);
      const requestKey = newChange().id;
      return end === undefined ? (await begin({ requestKey })).id : carryOut(end, { requestKey });
    };

    test.each(Object.entries(arrows))('of a change that is %s follows the arrows: %j', async (state, allowed) => {
      for (const end of every) {
        const id = await reach(state);
        const { state: from } = (await store.find(id)) ?? {};
        await open().end(id, end, {});
        expect(await stateOf(id), `${from} to ${end}`).toBe(allowed.includes(end) ? end : from);
        await store.end(id, 'rejected', {});
      }
    });

    test('of a change that is not there is an error, and is not retried', async () => {
      await expect(store.end('other', 'accepted', {})).rejects.toThrow();
      expect(store.unwritten()).toBe(0);
    });
  });

  test('what was declined or withdrawn is named for a day, to its caller or client', async () => {
    const alice = await decline({ caller: 'alice' });
    time += minute;
    const unnamed = await decline({ client: 'one' }, { kind: 'withdrawn', way: 'program' });
    const other = open();
    expect(ids(await other.refused({}))).toEqual([alice, unnamed]);
    expect(ids(await other.refused({ caller: 'alice', client: 'any' }))).toEqual([alice]);
    expect(ids(await other.refused({ caller: null }))).toEqual([unnamed]);
    expect(await other.refused({ caller: null, client: 'two' })).toEqual([]);
    time += 24 * 60 * minute - minute;
    expect(ids(await other.refused({}))).toEqual([unnamed]);
    expect(await store.duplicateOf('same')).toBeUndefined();
  });

  test('what is open is named: what waits, is under way, ended unknown or was just declined, of a thing or an operation', async () => {
    const subject = { digest: 's', name: 's' };
    const states = {
      waiting: () => add({ subject }),
      begun: async () => (await begin({ subject, requestKey: 'b' })).id,
      unknown: () => carryOut('unknown', { subject, requestKey: 'u' }),
      declined: () => decline({ subject }),
    };
    const open: string[] = [];
    for (const make of Object.values(states)) {
      open.unshift(await make());
      time += 1;
    }
    for (const end of ['accepted', 'rejected'] as const) await carryOut(end, { subject, requestKey: end });
    await decline({ subject }, { kind: 'withdrawn', way: 'withdrawn' });
    await add({ subject, caller: 'alice' });
    const other = await add({ tool: 'other', subject: { digest: 'other', name: 'o' } });
    const named = async (digest: string | undefined, tool: string, of: OfCaller = { caller: null }) =>
      ids(await store.open({ ...of, subject: digest, tool }));
    expect(await named('s', 'none')).toEqual(open);
    expect(await named(undefined, 'restore_instance')).toEqual(open);
    expect(await named('other', 'none')).toEqual([other]);
    expect(await named('none', 'none')).toEqual([]);
    expect(await named('s', 'none', { caller: 'alice' })).toHaveLength(1);
    time += duplicateWindowMs;
    expect(await named('s', 'none')).toEqual(open.slice(1));
    expect(await named(undefined, 'restore_instance')).toEqual([]);
  });

  describe('the journal', () => {
    const read = async (options: Parameters<Changes['read']>[0] = {}, by = store) => {
      const entries: [string, string][] = [];
      for await (const { id, state } of by.read(options)) entries.push([id, state]);
      return entries;
    };

    test('has every change that was decided, in the order of their last writes, and of a time', async () => {
      expect(await read()).toEqual([]);
      await add();
      const first = await begin({ requestKey: '1' });
      time += minute;
      const second = await decline({ caller: 'alice' });
      time += minute;
      await store.end(first.id, 'accepted', {});
      const all = [
        [second, 'declined'],
        [first.id, 'accepted'],
      ];
      expect(await read({}, open())).toEqual(all);
      expect(await read({ since: time - minute })).toEqual([all[0]]);
      expect(await read({ until: time - minute })).toEqual([all[1]]);
      expect(await read({ caller: 'alice' })).toEqual([all[0]]);
    });

    test('is read in pages', async () => {
      for (let five = 0; five < 240; five += 1) {
        if (five % 20 === 0) time += 1;
        await Promise.all(Array.from({ length: 5 }, () => decline()));
      }
      for (let index = 0; index < 3; index += 1) await decline();
      const entries = await read();
      expect(new Set(entries.map(([id]) => id)).size).toBe(1203);
      expect(entries).toHaveLength(1203);
    });

    test('can be followed: a change comes again when its state changes, and never twice with one state', async () => {
      const entries: [string, string][] = [];
      const first = await begin({ requestKey: '1' });
      const steps = [
        () => store.end(first.id, 'unknown', {}),
        () => undefined,
        async () => {
          time += 10 * minute;
        },
        () => decline({ id: 'second' }),
        () => store.end(first.id, 'accepted', {}),
        () => undefined,
      ];
      const follow = async () => {
        const step = steps.shift();
        await step?.();
        return step !== undefined;
      };
      for await (const { id, state } of open().read({ follow })) entries.push([id, state]);
      expect(entries).toEqual([
        [first.id, 'begun'],
        [first.id, 'unknown'],
        ['second', 'declined'],
        [first.id, 'accepted'],
      ]);
    });

    test('lists the newest changes of all states, for a caller', async () => {
      const all: string[] = [];
      for (const caller of ['alice', 'bob', 'alice', 'alice']) {
        time += 1;
        all.unshift(await add({ caller }));
      }
      expect(ids(await store.newest({ limit: 2 }))).toEqual(all.slice(0, 2));
      expect(ids(await store.newest({ limit: 9, caller: 'alice' }))).toEqual([all[0], all[1], all[3]]);
    });

    test('is pruned of changes that ended before a time, and of nothing that waits or is under way', async () => {
      const old = [await carryOut('accepted'), await decline()];
      const kept = [await add(), (await begin({ requestKey: 'b' })).id];
      time += minute;
      kept.push(await carryOut('unknown', { requestKey: 'u' }));
      expect(await store.prune(time)).toBe(2);
      for (const id of old) expect(await store.find(id)).toBeUndefined();
      for (const id of kept) expect(await store.find(id)).toBeDefined();
    });
  });

  describe('the follow of an accepted change', () => {
    const seen = { text: say`State was RUNNING.`, value: 'a\u0000b' };
    const minuteOf = { pauseMs: 60_000, isPrivate: true };

    test('is written by one of many processes that read it at the same time', async () => {
      const id = await carryOut('accepted');
      const processes = [store, open(), open(), open()];
      const keepAll = async (next: object, pauseMs: number) => {
        const known = await Promise.all(processes.map((process) => process.followed(id)));
        const keep = { pauseMs, isPrivate: undefined };
        const kept = await Promise.all(
          processes.map((process, index) => process.keepFollow(id, { ...(known[index] ?? first), ...next }, keep)),
        );
        return kept.filter((stored) => stored !== undefined);
      };
      const first = await store.followed(id);
      expect(first).toMatchObject({ state: 'going', reads: 0, ageMs: 0, isDue: true });
      expect(await keepAll({}, 5_000)).toHaveLength(1);
      expect(await store.followed(id)).toMatchObject({ state: 'going', reads: 0, isDue: false });
      time += 5_000;
      expect(await keepAll({ reads: 1 }, 30_000)).toHaveLength(1);
      const slow = await store.followed(id);
      expect(slow).toMatchObject({ state: 'going', reads: 1, ageMs: 5_000, isDue: false });
      time += 30_000;
      expect(await keepAll({ reads: 2 }, 30_000)).toHaveLength(1);
      expect(await store.keepFollow(id, { ...slow, state: 'done' }, minuteOf)).toBeUndefined();
      const last = await store.followed(id);
      expect(last).toMatchObject({ state: 'going', reads: 2, ageMs: 35_000 });
      expect(await store.keepFollow(id, { ...last, state: 'failed', seen }, minuteOf)).toBeDefined();
      time += 60_000;
      expect(await store.followed(id)).toMatchObject({ state: 'failed', seen, isDue: false });
    });

    test('is erased with its change', async () => {
      const id = await carryOut('accepted');
      await store.keepFollow(id, { ...(await store.followed(id)), state: 'blind' }, minuteOf);
      expect(await store.followed(id)).toMatchObject({ state: 'blind', isDue: false });
      time += minute;
      await store.prune(time);
      expect(await store.followed(id)).toMatchObject({ isDue: true });
    });
  });

  describe('recovery', () => {
    test('ends the changes of a process without a lease: begun ones as unknown, approved ones as not sent', async () => {
      const gone = open(processOn('gone'));
      const begun = await begin({ requestKey: 'b' }, gone);
      const approved = await approve({ requestKey: 'a' }, gone);
      const waiting = await add({}, gone);
      expect(await store.recover()).toEqual([]);
      time += leaseMs + 1;
      const recovered = await Promise.all([store.recover(), open().recover()]);
      expect(ids(recovered.flat()).sort()).toEqual([begun.id, approved].sort());
      expect(await store.find(begun.id)).toMatchObject({ state: 'unknown', ending: { code: 'ProcessEnded' } });
      expect(await store.find(approved)).toMatchObject({ state: 'not sent', ending: { code: 'ProcessEnded' } });
      expect(await stateOf(waiting)).toBe('waiting');
      expect(await store.recover()).toEqual([]);
      // The process had only seemed to be gone.
      expect(await gone.begin(approved, { ifUnknown: {} })).toEqual({ kind: 'notApproved' });
      await gone.end(begun.id, 'accepted', {});
      expect(await stateOf(begun.id)).toBe('accepted');
    });

    test('takes over a begun change of several things with its parts, in one process, and ends none of them', async () => {
      const gone = open(processOn('gone'));
      const { id } = await begin({ list: [{ name: 'one' }, { name: 'two' }] }, gone);
      const parts = [1, 2].map((part) => newChange({ id: `${id}-${part}`, requestKey: `part ${part}`, repeats: true }));
      expect(ids(await gone.addParts(parts, yes))).toEqual(ids(parts));
      await gone.begin(`${id}-1`, { ifUnknown: {} });
      await gone.end(`${id}-1`, 'accepted', {});
      expect(await store.recover()).toEqual([]);
      time += leaseMs + 1;
      const other = open();
      const taken = await Promise.all([store.recover(), other.recover()]);
      expect(ids(taken.flat())).toEqual([id]);
      expect(await store.recover()).toEqual([]);
      // Added again, they stay as they are.
      const owner = taken[0].length > 0 ? store : other;
      expect((await owner.addParts(parts, yes)).map(({ state }) => state)).toEqual(['accepted', 'approved']);
      expect(await gone.begin(`${id}-2`, { ifUnknown: {} })).toEqual({ kind: 'notApproved' });
      expect(await owner.begin(`${id}-2`, { ifUnknown: {} })).toMatchObject({ kind: 'begun' });
      expect(await stateOf(id)).toBe('begun');
    });

    test('ends the parts of a change that has ended', async () => {
      const gone = open(processOn('gone'));
      const { id } = await begin({ list: [{ name: 'one' }] }, gone);
      await gone.addParts([newChange({ id: `${id}-1`, repeats: true })], yes);
      await gone.end(id, 'unknown', {});
      time += leaseMs + 1;
      expect(ids(await store.recover())).toEqual([`${id}-1`]);
      expect(await stateOf(`${id}-1`)).toBe('not sent');
    });

    test('knows processes of this system by their ID and start, whatever their lease says', async () => {
      const here = { host: 'here', space: 'here' };
      const self = { ...processOn('here'), ...here, pid: process.pid };
      const earlier = open({ ...self, id: 'earlier', started: 'another time' });
      const { id } = await begin({}, earlier);
      expect(ids(await open(self).recover())).toEqual([id]);
    });
  });

  test('can be checked before the first change, which leaves no entry', async () => {
    await store.healthCheck();
    expect(await store.newest({ limit: 10 })).toEqual([]);
  });
}
