import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Wait } from '../../src/calls/context.js';
import type { CallOutcome } from '../../src/calls/outcome.js';
import { Refusal } from '../../src/calls/refusal.js';
import type { ChangeContext, Guide, Visit } from '../../src/changes/change-context.js';
import type { Changes } from '../../src/changes/store.js';
import { memoryStore, never } from '../support/caller.js';
import { accepted, changeIdOf, changer, failed, start, successOf } from '../support/changer.js';
import { type Page, pageOf } from '../support/told.js';

/** A call that sends its user to the page of a plan, and calls that wait for what becomes of a change. */

/** The pauses between two looks at a change take no time, but are counted. `during` runs in the next pause. */
const pauses = vi.hoisted(() => ({ count: 0, during: async (): Promise<unknown> => undefined }));
vi.mock('node:timers/promises', async (importOriginal) => ({
  ...(await importOriginal<typeof import('node:timers/promises')>()),
  setTimeout: async () => {
    pauses.count += 1;
    const { during } = pauses;
    pauses.during = async () => undefined;
    await during();
  },
}));
beforeEach(() => {
  pauses.count = 0;
  pauses.during = async () => undefined;
});

const hour = 60 * 60_000;

interface Setup {
  readonly confirm?: 'human' | 'approval' | 'ask' | 'off';
  readonly page?: Page;
  readonly statusWaitMs?: number;
}

/** Servers with one store and one clock. Each server has its own settings. */
function setUp(setup: Setup = {}) {
  const clock = { time: start };
  // A test can replace a function by one that fails.
  const store: Changes = { ...memoryStore(() => new Date(clock.time)) };
  const serve = ({ confirm = 'human', page = 'signIn', statusWaitMs = 2000 }: Setup) => {
    const { given } = pageOf(page);
    const planLifetimeMs = 24 * hour;
    const server = changer({
      ...{ confirm, statusWaitMs, planLifetimeMs, store, clock },
      ...(given && { page: given }),
    });
    return { ...server, errors: () => server.logged.filter(({ level }) => level === 'error') };
  };
  const server = serve(setup);
  /** The only plan that waits. */
  const waiting = async () => {
    const [plan] = await store.waiting({});
    if (plan === undefined) throw new Error('no plan waits');
    return plan;
  };
  /** A person decides on the page. */
  const decide = async (decision: 'accept' | 'decline') => {
    const { id } = await waiting();
    const outcome = { kind: 'failed', failure: { changeId: id } } as Extract<CallOutcome, { kind: 'failed' }>;
    return server.click(outcome, { decision, where: 'page', person: 'bob' });
  };
  /** A client whose user responds after `afterMs`, and the addresses to which the user was sent. An `Error` is thrown by the client. */
  const userWho = (visit: Visit | 'later' | Error, afterMs = 3000) => {
    const sent: { message: string; address: string }[] = [];
    const guide: Guide = {
      send: async ({ text }, address) => {
        sent.push({ message: text, address });
        clock.time += afterMs;
        if (visit instanceof Error) throw visit;
        return visit;
      },
    };
    return { guide, sent };
  };
  return { ...server, serve, waiting, decide, userWho };
}

const waits = { kind: 'succeeded', success: { outcome: 'waiting' } };
const tooMany: Wait = () => Promise.reject(new Refusal('TooManyQuestions'));

describe('a user who is sent to the page', () => {
  test('reads the change, and that opening the page decides nothing', async () => {
    const { call, waiting, userWho } = setUp();
    const { guide, sent } = userWho('cancelled');
    await call({}, { guide });
    const [{ message = '', address = '' } = {}] = sent;
    expect(address).toBe(`https://cloudops.example.com/decisions/${(await waiting()).id}/`);
    const lines = message.split('\n');
    expect(lines[0]).toContain('"one"');
    expect(lines.at(-1)).toBe('You decide on a page, where you sign in. Opening it decides nothing.');
  });

  test.each<readonly [string, Visit | Error, number, object, object[]]>([
    ['opens it and decides nothing', 'opened', 3000, waits, []],
    ['closes the question', 'cancelled', 3000, waits, []],
    [
      'declines after a second',
      'declined',
      1000,
      failed('Declined', 'the user declined to open the page'),
      [{ state: 'declined', decision: { way: 'asked' } }],
    ],
    ['declines faster than a person reads', 'declined', 999, waits, []],
    ['is not reached, because the client fails', new TypeError('no window'), 3000, waits, []],
  ])('and %s', async (_what, visit, afterMs, told, recorded) => {
    const { call, journal, requests, userWho } = setUp();
    expect(await call({}, userWho(visit, afterMs))).toMatchObject(told);
    expect(await journal()).toMatchObject(recorded);
    expect(requests).toEqual([]);
  });

  test.each<readonly [Visit, number]>([
    ['opened', 4],
    ['cancelled', 0],
  ])('has %s the page, after which the call pauses %i times', async (visit, pauseCount) => {
    const { call, userWho } = setUp();
    await call({}, userWho(visit));
    expect(pauses.count).toBe(pauseCount);
  });

  test.each([
    ['accept', 'agreed', { success: { outcome: 'accepted', answer: { instance: { instanceId: 'one' } } } }],
    ['decline', 'declined', { failure: { code: 'Declined', outcome: 'declined' } }],
  ] as const)('decides there during the call, which gets the outcome: %s', async (decision, deed, told) => {
    const { call, decide, userWho } = setUp();
    pauses.during = () => decide(decision);
    const outcome = await call({}, userWho('opened'));
    expect(outcome).toMatchObject(told);
    expect(JSON.stringify(outcome)).toContain(`A person on the page ${deed}.`);
  });

  test('cannot decline after another decision, and learns of it', async () => {
    const { call, decide, userWho } = setUp();
    const { guide } = userWho('declined');
    const send: Guide['send'] = async (...given) => {
      await decide('accept');
      return guide.send(...given);
    };
    const outcome = await call({}, { guide: { send } });
    expect(outcome).toMatchObject(accepted);
    expect(JSON.stringify(outcome)).toContain('Too late: ');
  });
});

describe('the answer with the plan stays', () => {
  test('if the state of the change cannot be read', async () => {
    const { call, store, userWho } = setUp();
    store.find = () => Promise.reject(new Error('the disk is gone'));
    const success = successOf(await call({}, userWho('opened')));
    expect(success).toMatchObject({ outcome: 'waiting', changeId: expect.any(String), plan: expect.any(Object) });
  });

  test('but not if the plan has expired during the visit', async () => {
    const { call, userWho } = setUp();
    expect(await call({}, userWho('opened', 25 * hour))).toMatchObject(failed('PlanExpired'));
  });

  test('if the client fails, which is logged', async () => {
    const { call, errors, userWho } = setUp();
    await call({}, userWho(new TypeError('no window')));
    const fields = { tool: 'restore_instance', error: 'TypeError' };
    expect(errors()).toEqual([{ level: 'error', event: 'unexpected', fields }]);
  });

  test.each<readonly [string, Partial<ChangeContext>]>([
    ['if this server shuts down', { stop: AbortSignal.abort() }],
    ['if too many calls wait for people', { wait: tooMany }],
  ])('%s, which is no error', async (_what, context) => {
    const { call, errors, userWho } = setUp();
    const { guide, sent } = userWho('opened');
    expect(await call({}, { guide, ...context })).toMatchObject(waits);
    expect(sent).toEqual([]);
    expect(errors()).toEqual([]);
  });
});

test.each<readonly [string, Setup]>([
  ['somebody else decides', { confirm: 'approval' }],
  ['the address of the page is secret', { page: 'local' }],
])('nobody is sent to the page if %s', async (_what, setup) => {
  const { call, userWho } = setUp(setup);
  const { guide, sent } = userWho('opened');
  expect(await call({}, { guide })).toMatchObject(waits);
  expect(sent).toEqual([]);
});

describe('a second call with the response of the user', () => {
  /** The first call, and the second with the response. */
  async function asked() {
    const session = setUp();
    const first = await session.call({}, session.userWho('later', 0));
    if (first.kind !== 'inputRequired') throw new Error('the user is not sent to the page');
    const respond = (
      visit: Visit,
      context: Partial<ChangeContext> = {},
      { call }: Pick<typeof session, 'call'> = session,
    ) => {
      const responseTo = () => ({ kind: 'agreed' }) as const;
      const brought = { kind: 'answer', proof: first.state, responseTo, visit } as const;
      return call({}, { ...session.userWho('later'), brought, ...context });
    };
    return { ...session, first, respond };
  }

  test('follows a first call that got the address of the plan', async () => {
    const { first, waiting } = await asked();
    expect(first).toMatchObject({ answer: { address: expect.stringContaining((await waiting()).id) } });
  });

  test.each<readonly [string, Visit, number, object, number]>([
    ['has opened the page', 'opened', 3000, waits, 4],
    ['has closed the question', 'cancelled', 3000, waits, 0],
    ['declines after a second', 'declined', 1000, failed('Declined', 'declined to open the page'), 0],
    ['declines faster than a person reads', 'declined', 999, waits, 0],
  ])('of a user who %s, and makes no other plan', async (_what, visit, afterMs, told, pauseCount) => {
    const { respond, store, clock, requests } = await asked();
    clock.time += afterMs;
    expect(await respond(visit)).toMatchObject(told);
    expect(pauses.count).toBe(pauseCount);
    expect(await store.newest({ limit: 9 })).toHaveLength(1);
    expect(requests).toEqual([]);
  });

  test('waits for the decision', async () => {
    const { respond, decide, requests } = await asked();
    pauses.during = () => decide('accept');
    expect(await respond('opened')).toMatchObject(accepted);
    expect(requests).toHaveLength(1);
  });

  test('leaves the decision to the page, even if this server has no page any more and could ask', async () => {
    const { serve, respond, clock } = await asked();
    const server = serve({ page: 'none' });
    clock.time += 3000;
    const { elicitor, asked: questions } = server.personOf('agreed');
    expect(await respond('cancelled', { elicitor }, server)).toMatchObject(waits);
    expect([questions, server.requests]).toEqual([[], []]);
  });
});

describe('a server that is suspended after it has stored a decision', () => {
  const minute = 60_000;
  test.each([
    ['while the journal finds the repetition', 10 * minute - 1, 'Repeated'],
    ['when the journal takes it for another change', 10 * minute, 'PlanExpired'],
  ])('does not send a change that another server has sent on a new plan: %s', async (_what, passedMs, code) => {
    const { call, serve, store, clock, decide, requests, get } = setUp();
    const { decide: storeDecision } = store;
    const id = changeIdOf(await call());
    const other = serve({ confirm: 'off' });
    store.decide = async (...given) => {
      const decided = await storeDecision(...given);
      clock.time += minute;
      expect(await other.call()).toMatchObject(accepted);
      clock.time += passedMs;
      return decided;
    };
    const told = { failure: { code, outcome: 'not sent', mayHaveHappened: false } };
    expect(await decide('accept')).toMatchObject({ outcome: told });
    expect([requests.length, other.requests.length]).toEqual([0, 1]);
    expect((await store.find(id))?.state).toBe('not sent');
    expect(await get(id)).toMatchObject({ failure: { outcome: 'not sent', mayHaveHappened: false } });
  });

  test('sends the change up to ten minutes later', async () => {
    const { call, store, clock, decide, requests } = setUp();
    const { decide: storeDecision } = store;
    await call();
    store.decide = async (...given) => {
      const decided = await storeDecision(...given);
      clock.time += 10 * minute;
      return decided;
    };
    expect(await decide('accept')).toMatchObject({ outcome: accepted });
    expect(requests).toHaveLength(1);
  });
});

describe('get_change', () => {
  /** A plan that waits on the page. */
  async function planned(setup: Setup = {}) {
    const session = setUp(setup);
    const id = changeIdOf(await session.call());
    /** The change is approved by a server that goes on with it. */
    const approve = () => session.store.decide(id, { kind: 'approved', way: 'page', person: 'bob' });
    return { ...session, id, approve };
  }

  test.each<readonly [string, Partial<ChangeContext>, number]>([
    ['waits for the decision', {}, 4],
    ['does not wait if its client has gone', { signal: AbortSignal.abort() }, 0],
    ['does not wait while this server shuts down', { stop: AbortSignal.abort() }, 0],
    ['does not wait while too many calls wait for people', { wait: tooMany }, 0],
  ])('%s, and tells the state', async (_what, context, pauseCount) => {
    const { get, id, requests } = await planned();
    expect(await get(id, context)).toMatchObject(waits);
    expect(pauses.count).toBe(pauseCount);
    expect(requests).toEqual([]);
  });

  test('waits outside the limit of calls, but only before the change has ended', async () => {
    const { get, id, decide } = await planned();
    const waited: string[] = [];
    const wait: Wait = (work) => {
      waited.push('waited');
      return work();
    };
    await get(id, { wait });
    expect(waited).toHaveLength(1);
    await decide('decline');
    await get(id, { wait });
    expect(waited).toHaveLength(1);
  });

  test('looks again after a look that failed', async () => {
    const { get, id, store, decide } = await planned();
    const { find } = store;
    pauses.during = async () => {
      store.find = () => Promise.reject(new Error('the disk is busy'));
      pauses.during = async () => {
        store.find = find;
        await decide('decline');
      };
    };
    expect(await get(id)).toMatchObject({ failure: { code: 'Declined' } });
    expect(pauses.count).toBe(2);
  });

  test.each([
    ['learns at once that the plan waits', false, 0],
    ['waits for the outcome after the decision', true, 4],
  ])('a view or a page %s', async (_what, isApproved, pauseCount) => {
    const { changes, store, id, approve } = await planned();
    if (isApproved) await approve();
    const change = await store.find(id);
    if (change === undefined) throw new Error('there is no change');
    expect(await changes.state(change, { signal: never, client: 'test 1' })).toMatchObject(waits);
    expect(pauses.count).toBe(pauseCount);
  });
});
